//! What the macro refuses and how it says so, and what it must not warn about.

#[test]
fn says_what_is_wrong_on_the_token_that_is() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
}

#[test]
fn accepts_without_a_warning() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
}

//! The consumer's command line, run as a user runs it.

use std::process::{Command, Output};

fn consumer(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_example-consumer")).args(arguments).output().expect("the consumer can be run")
}

#[test]
fn the_demo_shows_every_scene_and_ends_well() {
    let output = consumer(&["demo"]);
    let (shown, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{shown}{error}");
    assert_eq!(error, "");
    for line in [
        "    registry = \"memory:demo\"",
        "    provider-1     1000",
        "    provider-2     1000",
        "    provider-3     1000",
        "    get_user(404)       Err(Unknown { id: 404 })",
        "    get_user(7)                   User { id: 0, name: \"\" }",
        "    get_user(7), with a fallback  User { id: 7, name: \"user-7\" }",
        "Everything was as expected.",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "`{line}` is missing in\n{shown}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_demo_that_nobody_can_read_ends_with_1_and_says_so() {
    use std::fs::File;
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let demo = |stdout: Stdio| {
        let mut demo = Command::new(env!("CARGO_BIN_EXE_example-consumer"));
        demo.arg("demo").stdout(stdout).stderr(Stdio::piped()).spawn().expect("the consumer can be run")
    };
    let full = demo(File::create("/dev/full").expect("Linux has it").into());
    let mut head = demo(Stdio::piped());
    let mut line = String::new();
    let mut stdout = BufReader::new(head.stdout.take().expect("it is piped"));
    stdout.read_line(&mut line).expect("there is a line");
    drop(stdout);
    for demo in [full, head] {
        let output = demo.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.starts_with("error: ") && said.contains(": cannot print: ") && said.lines().count() == 1,
            "{said}"
        );
    }
}

#[test]
fn anything_but_a_command_gets_the_usage() {
    for arguments in [&[][..], &["demonstrate"], &["demo", "twice"]] {
        let output = consumer(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("Usage: example-consumer "));
    }
}

//! The values offered to a type. The first suits almost all; the others are for types that check what they hold.

const INTEGERS: &[i64] = &[
    0,
    1,
    2,
    3,
    -1,
    7,
    10,
    12,
    16,
    42,
    100,
    200,
    255,
    404,
    1_000,
    1_970,
    2_000,
    8_080,
    65_535,
    1_000_000,
    1_700_000_000,
    1_700_000_000_000,
    i64::MAX,
    i64::MIN,
];

const FLOATS: &[f64] = &[0.0, 1.0, 0.5, -1.0, 2.0, 10.0, 100.0, 1e6];

const CHARS: &[char] = &['a', 'A', '0', ' ', '-', '\0'];

const TEXTS: &[&str] = &[
    "",
    "a",
    "0",
    "1",
    "127.0.0.1",
    "127.0.0.1:80",
    "::1",
    "1970-01-01",
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00",
    "00:00:00",
    "00000000-0000-0000-0000-000000000000",
    "http://localhost/",
    "a@example.com",
    "1.0.0",
    "en",
    "EUR",
    "UTC",
    "true",
    "1s",
    "/",
    "abcdefgh",
    "00000000000000000000000000000000",
    "*",
];

const LENGTHS: &[usize] = &[0, 1, 2, 4, 16, 32, 8, 3, 5, 6, 12, 20, 24, 28, 48, 64];

const ZEROS: &[u8] = &[0; 64];

pub(super) fn integer(probe: usize) -> i64 {
    nth(INTEGERS, probe)
}

pub(super) fn float(probe: usize) -> f64 {
    nth(FLOATS, probe)
}

pub(super) fn boolean(probe: usize) -> bool {
    probe % 2 == 1
}

pub(super) fn character(probe: usize) -> char {
    nth(CHARS, probe)
}

pub(super) fn text(probe: usize) -> &'static str {
    nth(TEXTS, probe)
}

pub(super) fn bytes(probe: usize) -> &'static [u8] {
    &ZEROS[..length(probe)]
}

/// How many elements a sequence has.
pub(super) fn length(probe: usize) -> usize {
    nth(LENGTHS, probe)
}

fn nth<T: Copy>(values: &[T], probe: usize) -> T {
    values[probe % values.len()]
}

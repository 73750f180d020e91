//! The key that was probably meant.

/// The first of `keys` that is nearest to `asked`, ignoring case, and near enough to be a slip of the pen.
pub(crate) fn nearest(asked: &str, keys: &[&'static str]) -> Option<&'static str> {
    let asked = asked.to_lowercase();
    // Every third letter may be wrong: one in `random`, three in `roundRobin`. More is another word.
    let limit = asked.chars().count().max(3) / 3;
    keys.iter()
        .map(|key| (strsim::osa_distance(&asked, &key.to_lowercase()), *key))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 4] = ["consistentHash", "leastActive", "random", "roundRobin"];

    #[test]
    fn finds_the_key_behind_a_slip() {
        for (asked, meant) in [
            ("roundrobin", "roundRobin"),
            ("round_robin", "roundRobin"),
            ("ROUND-ROBIN", "roundRobin"),
            ("randon", "random"),
            ("radnom", "random"),
            ("consistent-hash", "consistentHash"),
        ] {
            assert_eq!(nearest(asked, &KEYS), Some(meant), "{asked}");
        }
    }

    #[test]
    fn suggests_nothing_for_another_word() {
        for asked in ["", "x", "weighted", "p2c", "ränder"] {
            assert_eq!(nearest(asked, &KEYS), None, "{asked}");
        }
    }
}

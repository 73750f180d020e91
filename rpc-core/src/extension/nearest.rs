//! The key that was probably meant.

/// The first of `keys` that is nearest to `asked`, ignoring case, and near enough to be a slip of the pen.
pub(crate) fn nearest(asked: &str, keys: &[&'static str]) -> Option<&'static str> {
    let asked = letters(asked);
    // Every third letter may be wrong: one in `random`, three in `roundRobin`. More is another word.
    let limit = asked.len().max(3) / 3;
    keys.iter()
        .map(|key| (distance(&asked, &letters(key)), *key))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, key)| key)
}

fn letters(text: &str) -> Vec<char> {
    text.to_lowercase().chars().collect()
}

/// How many letters must be inserted, removed or replaced to turn `a` into `b`.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 4] = ["consistentHash", "leastActive", "random", "roundRobin"];

    #[test]
    fn counts_insertions_removals_and_replacements() {
        for (a, b, expected) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2)] {
            assert_eq!(distance(&letters(a), &letters(b)), expected, "{a} {b}");
            assert_eq!(distance(&letters(b), &letters(a)), expected, "{b} {a}");
        }
    }

    #[test]
    fn finds_the_key_behind_a_slip() {
        for (asked, meant) in [
            ("roundrobin", "roundRobin"),
            ("round_robin", "roundRobin"),
            ("ROUND-ROBIN", "roundRobin"),
            ("randon", "random"),
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

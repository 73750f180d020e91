//! What the samples come to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cell::Cell;
use crate::load::Measured;
use crate::run::Sample;
use crate::stack::Stack;

/// By name and cell: how many times as many calls one stack answers as another.
pub(crate) type Ratios = BTreeMap<&'static str, BTreeMap<String, f64>>;

const RATIOS: [(&str, Stack, Stack); 3] = [
    ("oursVsTarpc", Stack::Ours, Stack::Tarpc),
    ("oursVsRaw", Stack::Ours, Stack::Raw),
    ("fullVsFixed", Stack::OursFull, Stack::Ours),
];

const HEAD: &str = "\
| cell | stack | calls/s | min..max | p50 us | p99 us | p99.9 us | CPU us client | server | switches client | server | peak MiB client | server |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// A row for each stack of a cell, in Markdown: medians of the rounds. Context switches are voluntary + involuntary ones, for a call.
pub(crate) fn table(samples: &[Sample]) -> String {
    let mut table = HEAD.to_owned();
    let mut done: Vec<(Cell, Stack)> = Vec::new();
    for Sample { cell, stack, .. } in samples {
        if !done.contains(&(*cell, *stack)) {
            done.push((*cell, *stack));
            let rounds: Vec<_> = samples.iter().filter(|it| (it.cell, it.stack) == (*cell, *stack)).collect();
            row(&mut table, *cell, *stack, &rounds);
        }
    }
    table
}

fn row(table: &mut String, cell: Cell, stack: Stack, rounds: &[&Sample]) {
    let all = |value: fn(&Sample) -> f64| rounds.iter().map(|sample| value(sample)).collect::<Vec<_>>();
    let of = |value| median(all(value));
    let rates = all(|it| it.client.per_second);
    let (min, max) = range(&rates);
    let cells = [
        cell.to_string(),
        stack.to_string(),
        format!("{:.0}", median(rates)),
        format!("{min:.0}..{max:.0}"),
        format!("{:.1}", of(|it| it.client.latency.p50_us)),
        format!("{:.1}", of(|it| it.client.latency.p99_us)),
        format!("{:.1}", of(|it| it.client.latency.p999_us)),
        format!("{:.2}", of(|it| of_client(it, it.client.usage.cpu_us))),
        format!("{:.2}", of(|it| of_server(it, it.server.cpu_us))),
        format!(
            "{:.2}+{:.2}",
            of(|it| of_client(it, it.client.usage.voluntary)),
            of(|it| of_client(it, it.client.usage.involuntary))
        ),
        format!(
            "{:.2}+{:.2}",
            of(|it| of_server(it, it.server.voluntary)),
            of(|it| of_server(it, it.server.involuntary))
        ),
        format!("{:.1}", of(|it| it.client.usage.peak_kib as f64 / 1024.0)),
        format!("{:.1}", of(|it| it.server.peak_kib as f64 / 1024.0)),
    ];
    push(table, &cells);
}

/// For a call that counts: the client's usage begins with them.
fn of_client(sample: &Sample, amount: u64) -> f64 {
    amount as f64 / sample.client.latency.calls.max(1) as f64
}

/// For a call of any kind: the server's usage begins with its start.
fn of_server(sample: &Sample, amount: u64) -> f64 {
    amount as f64 / sample.client.latency.all_calls.max(1) as f64
}

/// The ratios of all cells that have both stacks: medians of those within a round.
pub(crate) fn ratios(samples: &[Sample]) -> Ratios {
    let mut ratios = Ratios::new();
    for (name, one, other) in RATIOS {
        let mut by_cell: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for sample in samples.iter().filter(|it| it.stack == one) {
            let peer = samples
                .iter()
                .find(|it| (it.stack, it.cell, it.round) == (other, sample.cell, sample.round))
                .map(|peer| sample.client.per_second / peer.client.per_second);
            by_cell.entry(sample.cell.to_string()).or_default().extend(peer);
        }
        by_cell.retain(|_, ratios| !ratios.is_empty());
        ratios.insert(name, by_cell.into_iter().map(|(cell, ratios)| (cell, rounded(median(ratios)))).collect());
    }
    ratios
}

const OPEN_HEAD: &str = "\
| stack | calls/s | unanswered | p50 us | p99 us | p99.9 us | p99.9 min..max | max us | CPU us client |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// A row for each stack that was called at this rate, in Markdown: medians of the rounds, between what the p99.9 were, the largest maximum
/// and all that were not answered.
pub(crate) fn open(rate: u32, stacks: &[Stack], measured: &[(Stack, Measured)]) -> String {
    let mut table = OPEN_HEAD.to_owned();
    for stack in stacks {
        let rounds: Vec<_> = measured.iter().filter(|(it, _)| it == stack).map(|(_, measured)| measured).collect();
        let all = |value: fn(&Measured) -> f64| rounds.iter().map(|it| value(it)).collect::<Vec<_>>();
        let tails = all(|it| it.latency.p999_us);
        let (min, max) = range(&tails);
        let cells = [
            stack.to_string(),
            rate.to_string(),
            rounds.iter().map(|it| it.unanswered).sum::<u64>().to_string(),
            format!("{:.1}", median(all(|it| it.latency.p50_us))),
            format!("{:.1}", median(all(|it| it.latency.p99_us))),
            format!("{:.1}", median(tails)),
            format!("{min:.0}..{max:.0}"),
            format!("{:.1}", range(&all(|it| it.latency.max_us)).1),
            format!("{:.2}", median(all(|it| it.usage.cpu_us as f64 / it.latency.calls as f64))),
        ];
        push(&mut table, &cells);
    }
    table
}

fn push(table: &mut String, cells: &[String]) {
    writeln!(table, "| {} |", cells.join(" | ")).expect("a string can be written to");
}

fn rounded(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, 0.0), |(min, max), value| (min.min(*value), max.max(*value)))
}

/// The middle one, or what lies between the middle two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { values[middle - 1].midpoint(values[middle]) } else { values[middle] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Summary;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn the_maximum_of_an_open_loop_is_that_of_all_rounds() {
        let rounds = [(10.0, 90.0), (30.0, 40.0), (20.0, 50.0)].map(|(p999_us, max_us)| {
            let latency = Summary { calls: 1, p999_us, max_us, ..Summary::default() };
            (Stack::Ours, Measured { unanswered: 1, latency, ..Measured::default() })
        });
        let table = open(7, &[Stack::Ours], &rounds);
        assert!(table.ends_with("\n| ours | 7 | 3 | 0.0 | 0.0 | 20.0 | 10..30 | 90.0 | 0.00 |\n"), "{table}");
    }
}

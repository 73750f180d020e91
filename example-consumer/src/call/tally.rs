//! What became of the calls, in numbers.

use std::collections::BTreeMap;

use example_api::UserError;
use hdrhistogram::Histogram;
use rpc::{Code, Executed};
use serde::Serialize;

use super::calls::Outcome;

/// Digits of a latency that count. Each caller has a tally: with more they take much memory where there are many.
const DIGITS: u8 = 2;

/// What became of so many calls.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) ok: u64,
    /// Calls whose caller went on without an answer.
    pub(super) degraded: u64,
    /// Failed calls by kind, with the first error of each.
    pub(super) failed: BTreeMap<Kind, (u64, UserError)>,
    /// Answers by instance; an error of the service's own is one.
    pub(super) by_instance: BTreeMap<String, u64>,
    /// Requests that were sent.
    pub(super) attempts: u64,
    /// In microseconds, rounded up.
    latency: Histogram<u32>,
    /// The longest latency, in microseconds.
    pub(super) longest: u64,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    Unavailable,
    Timeout,
    Overloaded,
    ConnectionLost,
    /// The two sides do not know the same types.
    Schema,
    /// The handler said that it failed.
    Remote,
    /// The service's own error, as it may happen when all is well.
    Application,
    /// Anything else.
    Internal,
}

impl Kind {
    pub(super) const ALL: [Self; 8] = [
        Self::Unavailable,
        Self::Timeout,
        Self::Overloaded,
        Self::ConnectionLost,
        Self::Schema,
        Self::Remote,
        Self::Application,
        Self::Internal,
    ];

    fn of(error: &UserError) -> Self {
        let UserError::Rpc(error) = error else {
            return Self::Application;
        };
        match error.code() {
            Code::NoInstance | Code::Unavailable => Self::Unavailable,
            Code::DeadlineExceeded => Self::Timeout,
            Code::Overloaded => Self::Overloaded,
            Code::ConnectionLost => Self::ConnectionLost,
            Code::ServiceNotFound | Code::MethodNotFound | Code::SchemaMismatch | Code::Codec => Self::Schema,
            Code::Remote => Self::Remote,
            _ => Self::Internal,
        }
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            ok: 0,
            degraded: 0,
            failed: BTreeMap::new(),
            by_instance: BTreeMap::new(),
            attempts: 0,
            latency: Histogram::new(DIGITS).expect("so many digits can be had"),
            longest: 0,
        }
    }
}

impl Tally {
    /// Adds one call.
    pub(super) fn add(&mut self, outcome: Outcome) {
        let latency = outcome.latency.as_micros() as u64;
        self.latency += latency;
        self.longest = self.longest.max(latency);
        let report = outcome.report.get();
        if let Some(report) = report {
            self.attempts += report.steps.iter().filter(|step| step.executed != Executed::No).count() as u64;
        }
        if let Some(answered) = report.filter(|report| report.error.is_none()).and_then(|report| report.steps.last()) {
            *self.by_instance.entry(answered.instance.clone()).or_default() += 1;
        }
        match outcome.result {
            Err(error) => self.failed.entry(Kind::of(&error)).or_insert((0, error)).0 += 1,
            Ok(()) if report.is_some_and(|report| report.degraded) => self.degraded += 1,
            Ok(()) => self.ok += 1,
        }
    }

    /// The calls of both.
    pub(super) fn merged(mut self, other: Self) -> Self {
        self.ok += other.ok;
        self.degraded += other.degraded;
        self.attempts += other.attempts;
        for (kind, (calls, error)) in other.failed {
            self.failed.entry(kind).or_insert((0, error)).0 += calls;
        }
        for (instance, answers) in other.by_instance {
            *self.by_instance.entry(instance).or_default() += answers;
        }
        self.latency += other.latency;
        self.longest = self.longest.max(other.longest);
        self
    }

    /// The latency that this share of the calls does not exceed, in microseconds.
    pub(super) fn latency_of(&self, share: f64) -> u64 {
        self.latency.value_at_quantile(share).min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rpc::RpcError;

    use super::*;

    #[test]
    fn no_latency_is_longer_than_the_longest_call() {
        let of = |latency| {
            let mut tally = Tally::default();
            tally.add(Outcome { result: Ok(()), report: Default::default(), latency: Duration::from_micros(latency) });
            tally
        };
        // Rounded to two digits, the first would be 12,351.
        for tally in [of(12_345).merged(of(7)), of(7).merged(of(12_345))] {
            assert_eq!((tally.latency_of(0.5), tally.latency_of(0.99), tally.longest), (7, 12_345, 12_345));
        }
    }

    #[test]
    fn every_failure_has_its_kind() {
        let of = |code| Kind::of(&RpcError::with_code(code, Executed::No, "").into());
        for (kind, codes) in [
            (Kind::Unavailable, &[Code::NoInstance, Code::Unavailable][..]),
            (Kind::Timeout, &[Code::DeadlineExceeded]),
            (Kind::Overloaded, &[Code::Overloaded]),
            (Kind::ConnectionLost, &[Code::ConnectionLost]),
            (Kind::Schema, &[Code::SchemaMismatch, Code::MethodNotFound, Code::ServiceNotFound, Code::Codec]),
            (Kind::Remote, &[Code::Remote]),
            (Kind::Internal, &[Code::Internal, Code::BadRequest, Code::TooLarge]),
        ] {
            assert!(codes.iter().all(|code| of(*code) == kind), "{kind:?}");
        }
        assert_eq!(Kind::of(&UserError::Unknown { id: 7 }), Kind::Application);
    }
}

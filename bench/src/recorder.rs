//! Latencies of many callers, recorded so that none waits for another.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Latencies that a caller keeps before it hands them over.
const KEPT: usize = 256;

/// The time in which calls count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// Calls that end before do not count; they warm up.
    pub(crate) start: Instant,
    /// No call begins after it.
    pub(crate) end: Instant,
}

impl Window {
    /// Begins after `warm_up` and lasts for `seconds`.
    pub(crate) fn after(warm_up: Duration, seconds: f64) -> Self {
        let start = Instant::now() + warm_up;
        Self { start, end: start + Duration::from_secs_f64(seconds) }
    }
}

/// The latencies of all callers.
#[derive(Debug)]
pub(crate) struct Latencies {
    window: Window,
    histogram: Mutex<Histogram<u64>>,
    /// Calls, with those before and after the window.
    all: AtomicU64,
}

impl Latencies {
    /// None yet.
    pub(crate) fn new(window: Window) -> Arc<Self> {
        // A nanosecond to a minute, to three digits.
        let histogram = Histogram::new_with_bounds(1, 60_000_000_000, 3).expect("the bounds are in order");
        Arc::new(Self { window, histogram: Mutex::new(histogram), all: AtomicU64::new(0) })
    }

    /// Adds what a caller has kept.
    pub(crate) fn add(&self, latencies: &[Duration], all: u64) {
        self.all.fetch_add(all, Ordering::Relaxed);
        let mut histogram = self.histogram.lock().unwrap_or_else(PoisonError::into_inner);
        for latency in latencies {
            histogram.saturating_record(latency.as_nanos() as u64);
        }
    }

    /// What there is by now.
    pub(crate) fn summary(&self) -> Summary {
        let histogram = self.histogram.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
        Summary {
            calls: histogram.len(),
            all_calls: self.all.load(Ordering::Relaxed),
            p50_us: at(0.5),
            p99_us: at(0.99),
            p999_us: at(0.999),
            max_us: histogram.max() as f64 / 1e3,
        }
    }
}

/// How many calls there were, and how long they took.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// Calls that count.
    pub(crate) calls: u64,
    /// The same, with those that warmed up.
    pub(crate) all_calls: u64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
    pub(crate) max_us: f64,
}

/// The latencies of one caller.
#[derive(Debug)]
pub(crate) struct Recorder {
    latencies: Arc<Latencies>,
    window: Window,
    kept: Vec<Duration>,
    all: u64,
}

impl Recorder {
    /// Of a caller that adds to `latencies`.
    pub(crate) fn new(latencies: &Arc<Latencies>) -> Self {
        Self { latencies: Arc::clone(latencies), window: latencies.window, kept: Vec::with_capacity(KEPT), all: 0 }
    }

    /// Whether it is time to end.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        now >= self.window.end
    }

    /// Records a call.
    pub(crate) fn record(&mut self, begun: Instant, ended: Instant) {
        self.all += 1;
        if self.window.start <= ended && ended < self.window.end {
            self.kept.push(ended - begun);
            if self.kept.len() == KEPT {
                self.hand_over();
            }
        }
    }

    fn hand_over(&mut self) {
        self.latencies.add(&self.kept, self.all);
        self.kept.clear();
        self.all = 0;
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.hand_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_end_in_the_window_count() {
        let window = Window::after(Duration::from_secs(10), 10.0);
        let latencies = Latencies::new(window);
        let mut recorder = Recorder::new(&latencies);
        let ms = Duration::from_millis(1);
        for ended in [window.start - ms, window.start, window.end - ms, window.end] {
            recorder.record(ended - ms, ended);
        }
        drop(recorder);
        let summary = latencies.summary();
        assert_eq!((summary.calls, summary.all_calls), (2, 4));
        assert!((990.0..1010.0).contains(&summary.p50_us), "{summary:?}");
    }
}

//! What is logged: warnings, and what else people see.

use std::fmt::{self, Write};
use std::sync::{Mutex, MutexGuard, OnceLock};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

static LINES: OnceLock<Mutex<Vec<String>>> = OnceLock::new();

/// Begins to keep what is logged in this process.
pub(crate) fn keep() {
    LINES.get_or_init(|| {
        tracing::subscriber::set_global_default(Keeper).unwrap();
        Mutex::default()
    });
}

/// How many lines there are.
pub(crate) fn mark() -> usize {
    kept().len()
}

/// The warnings and errors since `mark` that hold `part`. A line is the level, then all fields.
pub(crate) fn since(mark: usize, part: &str) -> Vec<String> {
    let mut lines = lines(mark, part);
    lines.retain(|line| !line.starts_with("INFO"));
    lines
}

/// The same, with what is said at the level of info.
pub(crate) fn lines(mark: usize, part: &str) -> Vec<String> {
    kept()[mark..].iter().filter(|line| line.contains(part)).cloned().collect()
}

fn kept() -> MutexGuard<'static, Vec<String>> {
    LINES.get().expect("`keep` was called").lock().unwrap()
}

struct Keeper;

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        LINES.get_or_init(Mutex::default).lock().unwrap().push(line.0);
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        write!(self.0, " {field}={value}").unwrap();
    }
}

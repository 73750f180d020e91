//! Where the system does not tell of a process that ends: looking, again and again.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Change;
use crate::file::error::Failure;

/// How often to look.
const PERIOD: Duration = Duration::from_secs(1);

/// Supposes a change now and then.
#[derive(Debug)]
pub(in crate::file) struct Changes {
    due: Instant,
}

impl Changes {
    /// # Errors
    ///
    /// None: whether the directory is there shows when it is read.
    pub(in crate::file) fn of(_dir: &Path) -> Result<Self, Failure> {
        Ok(Self { due: Instant::now() + PERIOD })
    }

    /// Waits until it is time to look. Cancel safe.
    ///
    /// # Errors
    ///
    /// None.
    pub(in crate::file) async fn next(&mut self) -> io::Result<Change> {
        sleep_until(self.due).await;
        self.due = Instant::now() + PERIOD;
        Ok(Change::Value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_is_supposed_every_second() {
        let started = Instant::now();
        let mut changes = Changes::of(Path::new("/")).unwrap();
        for seconds in 1..4 {
            assert_eq!(changes.next().await.unwrap(), Change::Value);
            assert_eq!(started.elapsed().as_secs(), seconds);
        }
    }
}

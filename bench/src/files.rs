//! How many files a process may have open, of which every connection is one.

use anyhow::{Context as _, ensure};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// What else a process has open: standard streams, those of a runtime, pipes.
const OTHERS: u64 = 64;

/// Allows so many connections to this process, and to those that it starts from now on: they inherit the limit.
pub(crate) fn allow(connections: u32) -> anyhow::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).context("cannot tell how many files may be open")?;
    let limit = enough(connections, soft, hard)?;
    setrlimit(Resource::RLIMIT_NOFILE, limit, hard).with_context(|| format!("cannot allow {limit} open files"))
}

/// The soft limit where it is enough, otherwise the hard one.
fn enough(connections: u32, soft: u64, hard: u64) -> anyhow::Result<u64> {
    let needed = u64::from(connections) + OTHERS;
    ensure!(
        needed <= hard,
        "{connections} connections need {needed} open files in either process, and {hard} are allowed; \
         ask for fewer connections, or raise the hard limit (`ulimit -Hn`)"
    );
    Ok(if needed <= soft { soft } else { hard })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_only_when_it_is_too_low() {
        assert_eq!(enough(900, 1_024, 20_000).unwrap(), 1_024);
        assert_eq!(enough(1_000, 1_024, 20_000).unwrap(), 20_000);
    }

    #[test]
    fn more_connections_than_the_hard_limit_allows_are_refused() {
        let error = enough(5_000, 1_024, 4_096).unwrap_err().to_string();
        assert!(error.starts_with("5000 connections need 5064 open files in either process, and 4096 are"), "{error}");
    }
}

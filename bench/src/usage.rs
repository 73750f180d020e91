//! What a process has used, as Linux tells it.

use anyhow::Context as _;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::{Deserialize, Serialize};

/// What this process has used, all threads together.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Usage {
    /// CPU time in microseconds, the kernel's included.
    pub(crate) cpu_us: u64,
    /// Context switches because a thread had to wait.
    pub(crate) voluntary: u64,
    /// Context switches because another thread had its turn.
    pub(crate) involuntary: u64,
    /// The most memory that was resident at a time, in KiB.
    pub(crate) peak_kib: u64,
}

impl Usage {
    /// Until now.
    pub(crate) fn now() -> anyhow::Result<Self> {
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        let cpu = usage.user_time() + usage.system_time();
        Ok(Self {
            cpu_us: cpu.num_microseconds().unsigned_abs(),
            voluntary: usage.voluntary_context_switches().unsigned_abs(),
            involuntary: usage.involuntary_context_switches().unsigned_abs(),
            peak_kib: peak_kib()?,
        })
    }

    /// What was used since then; the peak is that of the whole life.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            cpu_us: self.cpu_us - before.cpu_us,
            voluntary: self.voluntary - before.voluntary,
            involuntary: self.involuntary - before.involuntary,
            peak_kib: self.peak_kib,
        }
    }
}

/// `getrusage` has a peak too, but one that begins with that of the process that started this one.
fn peak_kib() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    Ok(peak.context("/proc/self/status has no `VmHWM` in kB")?.trim().parse()?)
}

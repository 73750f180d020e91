//! What a process has used, as Linux tells it.

use anyhow::Context as _;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde::{Deserialize, Serialize};

/// What this process has used, all threads together.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
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
    /// The memory that is resident now, in KiB.
    pub(crate) resident_kib: u64,
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
            peak_kib: memory("VmHWM")?,
            resident_kib: memory("VmRSS")?,
        })
    }

    /// What was used since then; the memory is as it is now.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            cpu_us: self.cpu_us - before.cpu_us,
            voluntary: self.voluntary - before.voluntary,
            involuntary: self.involuntary - before.involuntary,
            peak_kib: self.peak_kib,
            resident_kib: self.resident_kib,
        }
    }
}

/// `getrusage` has a peak too, but one that begins with that of the process that started this one.
fn memory(name: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().strip_suffix(" kB"));
    Ok(line.with_context(|| format!("/proc/self/status has no `{name}` in kB"))?.trim().parse()?)
}

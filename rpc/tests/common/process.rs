//! What the system knows of a process.

use std::fs;

/// Bytes in a page, as on every platform that the tests run on.
const PAGE: usize = 4_096;

/// Resident memory of this process, in bytes.
pub(crate) fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages = statm.split_whitespace().nth(1).unwrap();
    pages.parse::<usize>().unwrap() * PAGE
}

/// What resident memory grew by since `before`, in bytes.
pub(crate) fn growth(before: usize) -> usize {
    resident().saturating_sub(before)
}

/// Processor time that a process has used, in hundredths of a second.
pub(crate) fn cpu_ticks(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name, in brackets, may hold anything.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let field = |position: usize| fields.split(' ').nth(position).unwrap().parse::<u64>().unwrap();
    field(11) + field(12)
}

/// Open descriptors of a process.
pub(crate) fn descriptors(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).unwrap().count()
}

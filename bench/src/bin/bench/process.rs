//! The resources that a process has used, according to the kernel.

use anyhow::{Context, Result};

/// The CPU time of all living threads, in nanoseconds. Agents are separate processes and do not count.
pub(crate) fn cpu_nanos(pid: u32) -> Result<u64> {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may have ended meanwhile.
        if let Ok(stat) = std::fs::read_to_string(thread?.path().join("schedstat")) {
            let on_cpu = stat.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            nanos += on_cpu.context("/proc says nothing of CPU time")?;
        }
    }
    Ok(nanos)
}

/// The resident memory, in bytes.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.context("/proc says nothing of memory")? * 1024)
}

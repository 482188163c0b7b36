//! What a process has used, as the kernel counts it.

use anyhow::{Context, Result};

/// Time on a CPU of all threads that live, in nanoseconds. Agents are processes of their own and do not count.
pub(crate) fn cpu_nanos(pid: u32) -> Result<u64> {
    let mut nanos = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread that has just ended is no fault.
        if let Ok(stat) = std::fs::read_to_string(thread?.path().join("schedstat")) {
            let on_cpu = stat.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            nanos += on_cpu.context("/proc says nothing of CPU time")?;
        }
    }
    Ok(nanos)
}

/// Memory that it holds, in bytes.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kib.context("/proc says nothing of memory")? * 1024)
}

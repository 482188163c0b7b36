//! Measures CPU time.

use rustix::time::{ClockId, clock_gettime};

/// A stopwatch for CPU time.
pub(crate) struct Cpu {
    clock: ClockId,
    began: f64,
}

impl Cpu {
    /// Measures this thread.
    pub(crate) fn of_thread() -> Self {
        Self::of(ClockId::ThreadCPUTime)
    }

    /// Measures all threads of the process.
    pub(crate) fn of_process() -> Self {
        Self::of(ClockId::ProcessCPUTime)
    }

    fn of(clock: ClockId) -> Self {
        Self { clock, began: seconds(clock) }
    }

    pub(crate) fn seconds(&self) -> f64 {
        seconds(self.clock) - self.began
    }
}

fn seconds(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

//! Bytes that the hub holds for its clients, counted by device.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use longshore_model::id::DeviceId;

/// The most bytes in one direction at once.
pub const HELD: usize = 160 << 20;
/// The most of these bytes for all devices together.
pub const HELD_OF_DEVICES: usize = 112 << 20;
/// The most of these bytes for one device. The rest is the owner's.
pub const HELD_OF_ONE: usize = 64 << 20;

/// The bytes of one direction, by device; the owner is none.
#[derive(Debug, Default)]
pub(crate) struct ByteLedger {
    held: Mutex<HashMap<Option<DeviceId>, usize>>,
}

impl ByteLedger {
    /// Counts more bytes for a device; returns false if there is no room for them.
    pub(crate) fn take(&self, of: Option<DeviceId>, more: usize) -> bool {
        let mut held = self.held();
        let all: usize = held.values().sum();
        let owners = held.get(&None).copied().unwrap_or_default();
        let own = held.get(&of).copied().unwrap_or_default();
        let fits = match of {
            None => all + more <= HELD,
            Some(_) => {
                own + more <= HELD_OF_ONE && all - owners + more <= HELD_OF_DEVICES && all + more <= HELD
            }
        };
        if fits {
            *held.entry(of).or_default() += more;
        }
        fits
    }

    /// Counts bytes of a device no more.
    pub(crate) fn give_back(&self, of: Option<DeviceId>, bytes: usize) {
        let mut held = self.held();
        if let Some(own) = held.get_mut(&of) {
            *own = own.saturating_sub(bytes);
            if *own == 0 {
                held.remove(&of);
            }
        }
    }

    /// The bytes of all devices and of the owner.
    pub(crate) fn sum(&self) -> usize {
        self.held().values().sum()
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.held().is_empty()
    }

    fn held(&self) -> MutexGuard<'_, HashMap<Option<DeviceId>, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

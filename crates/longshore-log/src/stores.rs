//! The three stores of a hub, each behind its trait.

use std::sync::Arc;

use crate::{Catalog, Journal, Keyring};

/// The stores in which a hub keeps what it must not lose. One backend may be all three.
#[derive(Clone)]
pub struct Stores {
    /// The events.
    pub journal: Arc<dyn Journal>,
    /// What is known about sessions.
    pub catalog: Arc<dyn Catalog>,
    /// Devices and other small values.
    pub keyring: Arc<dyn Keyring>,
}

impl<B: Journal + Catalog + Keyring> From<Arc<B>> for Stores {
    fn from(backend: Arc<B>) -> Self {
        Self { journal: backend.clone(), catalog: backend.clone(), keyring: backend }
    }
}

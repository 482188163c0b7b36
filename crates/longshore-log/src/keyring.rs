//! The keyring: small values under names. Each value has a revision, so when several writers change one key,
//! exactly one succeeds.

use std::time::Duration;

use tokio::sync::broadcast;

use crate::LogFuture;

/// The number of changes that a watch may lag behind before it misses some.
const CHANGES: usize = 256;

/// Counts the changes of a key. Two values of a key never have the same revision, even if the key was deleted
/// in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(u64);

impl Revision {
    /// The revision of a key that does not exist.
    pub const NONE: Self = Self(0);

    /// Makes a revision from the backend's own number, which counts from 1.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The backend's own number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// The name: letters, digits, `-`, `_` and `/`.
    pub key: String,
    /// The value.
    pub value: String,
    /// The revision of this value.
    pub revision: Revision,
}

/// A store of small values under names. The same story tests every implementation.
pub trait Keyring: Send + Sync + 'static {
    /// The value of a key, unless it has expired.
    fn get(&self, key: String) -> LogFuture<'_, Option<KeyEntry>>;

    /// All keys with this prefix, in the order of their names.
    fn list(&self, prefix: String) -> LogFuture<'_, Vec<KeyEntry>>;

    /// Changes a key if it has that revision; [`Revision::NONE`] means that the key must not exist. When the
    /// future resolves, the change is durable. Returns `None` if another writer was first. A key with a `ttl`
    /// expires after that time.
    fn put_if(
        &self,
        key: String,
        value: String,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> LogFuture<'_, Option<Revision>>;

    /// Deletes a key. If a revision is given, the key must have that revision. Returns whether this call
    /// deleted the key.
    fn delete(&self, key: String, expected: Option<Revision>) -> LogFuture<'_, bool>;

    /// Every change by any writer of the keys with this prefix, from now on. A backend need not report that a
    /// key has expired.
    fn watch(&self, prefix: String) -> KeyWatch;
}

/// A change of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyUpdate {
    /// The key has a new value.
    Put(KeyEntry),
    /// The key is gone.
    Deleted(String),
    /// The watch missed changes: list the keys again.
    Missed,
}

/// The changes of the keys with one prefix.
#[derive(Debug)]
pub struct KeyWatch {
    prefix: String,
    updates: broadcast::Receiver<KeyUpdate>,
}

impl KeyWatch {
    /// Makes a watch from a backend's channel of all keys.
    pub fn new(prefix: String, updates: broadcast::Receiver<KeyUpdate>) -> Self {
        Self { prefix, updates }
    }

    /// The next change; `None` when the keyring is closed.
    pub async fn next(&mut self) -> Option<KeyUpdate> {
        loop {
            let update = match self.updates.recv().await {
                Ok(update) => update,
                Err(broadcast::error::RecvError::Lagged(_)) => KeyUpdate::Missed,
                Err(broadcast::error::RecvError::Closed) => return None,
            };
            let is_ours = match &update {
                KeyUpdate::Put(entry) => entry.key.starts_with(&self.prefix),
                KeyUpdate::Deleted(key) => key.starts_with(&self.prefix),
                KeyUpdate::Missed => true,
            };
            if is_ours {
                return Some(update);
            }
        }
    }
}

/// Sends changes of keys to everybody who watches them, for backends in this process.
#[derive(Clone, Debug)]
pub struct KeyHints(broadcast::Sender<KeyUpdate>);

impl Default for KeyHints {
    fn default() -> Self {
        Self(broadcast::Sender::new(CHANGES))
    }
}

impl KeyHints {
    /// Sends a change, once it is durable.
    pub fn tell(&self, update: KeyUpdate) {
        // It is fine if nobody watches.
        let _ = self.0.send(update);
    }

    /// Makes a watch of the keys with one prefix.
    pub fn watch(&self, prefix: String) -> KeyWatch {
        KeyWatch::new(prefix, self.0.subscribe())
    }
}

//! The keyring without a file.

use std::time::Duration;

use super::{MemoryKey, MemoryLog, MemoryState};
use crate::clock::now;
use crate::{KeyEntry, KeyUpdate, KeyWatch, Keyring, LogFuture, Revision};

impl Keyring for MemoryLog {
    fn get(&self, key: String) -> LogFuture<'_, Option<KeyEntry>> {
        Box::pin(async move {
            let mut state = self.state();
            state.drop_old_keys();
            Ok(state.keys.get(&key).map(|held| held.entry(&key)))
        })
    }

    fn list(&self, prefix: String) -> LogFuture<'_, Vec<KeyEntry>> {
        Box::pin(async move {
            let mut state = self.state();
            state.drop_old_keys();
            let from = state.keys.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix));
            Ok(from.map(|(key, held)| held.entry(key)).collect())
        })
    }

    fn put_if(
        &self,
        key: String,
        value: String,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> LogFuture<'_, Option<Revision>> {
        Box::pin(async move {
            let entry = {
                let mut state = self.state();
                if state.revision_of(&key) != expected {
                    return Ok(None);
                }
                state.revision += 1;
                let until =
                    ttl.map(|ttl| now().plus_millis(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)));
                let held = MemoryKey { value, revision: state.revision, until };
                let entry = held.entry(&key);
                state.keys.insert(key, held);
                entry
            };
            let revision = entry.revision;
            self.keys.tell(KeyUpdate::Put(entry));
            Ok(Some(revision))
        })
    }

    fn delete(&self, key: String, expected: Option<Revision>) -> LogFuture<'_, bool> {
        Box::pin(async move {
            let deleted = {
                let mut state = self.state();
                let revision = state.revision_of(&key);
                let is_meant = expected.is_none_or(|expected| expected == revision);
                is_meant && state.keys.remove(&key).is_some()
            };
            if deleted {
                self.keys.tell(KeyUpdate::Deleted(key));
            }
            Ok(deleted)
        })
    }

    fn watch(&self, prefix: String) -> KeyWatch {
        self.keys.watch(prefix)
    }
}

impl MemoryKey {
    fn entry(&self, key: &str) -> KeyEntry {
        KeyEntry { key: key.to_owned(), value: self.value.clone(), revision: Revision::new(self.revision) }
    }
}

impl MemoryState {
    fn drop_old_keys(&mut self) {
        let now = now();
        self.keys.retain(|_, held| held.until.is_none_or(|until| until > now));
    }

    fn revision_of(&mut self, key: &str) -> Revision {
        self.drop_old_keys();
        self.keys.get(key).map(|held| Revision::new(held.revision)).unwrap_or_default()
    }
}

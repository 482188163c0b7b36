//! A bounded memory: the newest entries of what is over. Without it, a session would grow for as long as it
//! lives.

use std::borrow::Borrow;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A map with a limit, which drops its oldest entries.
///
/// The map depends only on what was inserted, and in which order. So a session that is rebuilt from its log
/// remembers the same entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Recent<K: Eq + Hash, V> {
    entries: HashMap<K, Weighed<V>>,
    /// The keys, the oldest first.
    order: VecDeque<K>,
    bytes: usize,
    most: usize,
    most_bytes: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct Weighed<V> {
    value: V,
    bytes: usize,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    /// A map with at most this many entries.
    pub fn of(most: usize) -> Self {
        Self { entries: HashMap::new(), order: VecDeque::new(), bytes: 0, most, most_bytes: usize::MAX }
    }

    /// Also limits the bytes of all entries together. The newest entry alone may be larger.
    #[must_use]
    pub fn within(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// Inserts an entry as the newest.
    pub fn insert(&mut self, key: K, value: V) {
        self.insert_sized(key, value, 0);
    }

    /// Inserts an entry with this size as the newest.
    pub fn insert_sized(&mut self, key: K, value: V, bytes: usize) {
        if let Some(before) = self.entries.insert(key.clone(), Weighed { value, bytes }) {
            self.bytes -= before.bytes;
            self.order.retain(|known| *known != key);
        }
        self.bytes += bytes;
        self.order.push_back(key);
        while self.order.len() > self.most || (self.bytes > self.most_bytes && self.order.len() > 1) {
            let oldest = self.order.pop_front().and_then(|oldest| self.entries.remove(&oldest));
            self.bytes -= oldest.map_or(0, |oldest| oldest.bytes);
        }
    }

    /// The value of a key, if the map still has the key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// Whether the map still has the key.
    pub fn contains<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.entries.contains_key(key)
    }

    /// All keys with their values, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.value))
    }

    /// All values, in no order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.values_mut().map(|entry| &mut entry.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(recent: &Recent<u32, &str>) -> Vec<u32> {
        let mut keys: Vec<u32> = recent.iter().map(|(key, _)| *key).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut recent = Recent::of(3);
        (1..=5).for_each(|key| recent.insert(key, "x"));
        assert_eq!(keys(&recent), [3, 4, 5]);
        recent.insert(3, "again");
        recent.insert(6, "x");
        assert_eq!(keys(&recent), [3, 5, 6], "what is put in again is the newest");
        assert_eq!(recent.get(&3), Some(&"again"));
        assert!(!recent.contains(&4));
    }

    #[test]
    fn what_is_large_takes_the_place_of_many_and_is_there_itself() {
        let mut recent = Recent::of(100).within(10);
        (1..=5).for_each(|key| recent.insert_sized(key, "x", 2));
        assert_eq!(keys(&recent), [1, 2, 3, 4, 5]);
        recent.insert_sized(5, "less", 1);
        recent.insert_sized(6, "x", 3);
        assert_eq!(keys(&recent), [2, 3, 4, 5, 6]);
        recent.insert_sized(7, "x", 50);
        assert_eq!(keys(&recent), [7]);
        recent.insert_sized(8, "x", 1);
        assert_eq!(keys(&recent), [8]);
    }
}

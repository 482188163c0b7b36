//! The conversations that served agents have reported.

use std::collections::{HashMap, HashSet};

use longshore_model::anchor::{NativeSession, Past};
use longshore_model::capability::Capabilities;
use longshore_model::event::AgentName;
use longshore_model::time::Timestamp;

use super::RECORDS;
use super::index::Key;

/// A conversation that an agent reported.
#[derive(Debug)]
struct Remembered {
    cwd: String,
    title: Option<String>,
    created_at: Timestamp,
    parent: Option<String>,
    /// When the conversation last changed.
    updated_at: Timestamp,
    /// The time of the last change that the hub knows.
    told: Option<Timestamp>,
    /// Whether the anchor waits for an unfinished message of the conversation.
    waits: bool,
}

/// All reported conversations.
#[derive(Debug, Default)]
pub(super) struct ServedIndex {
    known: HashMap<Key, Remembered>,
    /// The agents that have reported all of their conversations once.
    whole: HashSet<usize>,
}

/// The result of taking in a page of conversations.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServedPage {
    /// The conversations that have changed since the hub was last told of them.
    pub(super) changed: Vec<Key>,
    /// Whether all later pages are known, or too old.
    pub(super) is_last: bool,
}

impl ServedIndex {
    /// Takes in a page of an agent's conversations. The latest conversation comes first.
    pub(super) fn take_in(
        &mut self,
        agent: usize,
        page: Vec<NativeSession>,
        since: Option<Timestamp>,
    ) -> ServedPage {
        let (mut changed, mut is_last, mut any_news) = (Vec::new(), false, false);
        for session in page {
            let NativeSession { native, title, cwd, created_at, updated_at, parent } = session;
            let (Some(cwd), Some(updated_at)) = (cwd, updated_at.or(created_at)) else { continue };
            if since.is_some_and(|since| updated_at < since) {
                is_last = true;
                break;
            }
            let key = Key { agent, native };
            let before = self.known.get(&key);
            if before.is_none() && self.known.len() >= RECORDS {
                tracing::warn!("too many past conversations; the oldest are left out");
                is_last = true;
                break;
            }
            any_news |= before.is_none_or(|before| before.updated_at != updated_at);
            let (told, waits) = before.map_or((None, false), |before| (before.told, before.waits));
            if told != Some(updated_at) {
                changed.push(key.clone());
            }
            let title = Some(title).filter(|title| !title.is_empty());
            let created_at = created_at.unwrap_or(updated_at);
            self.known.insert(key, Remembered { cwd, title, created_at, parent, updated_at, told, waits });
        }
        // An agent that has reported everything once need not do so again, because new conversations come
        // first.
        let is_known = !any_news && changed.is_empty() && self.whole.contains(&agent);
        ServedPage { changed, is_last: is_last || is_known }
    }

    /// Notes that the agent has reported all of its conversations.
    pub(super) fn is_whole(&mut self, agent: usize) {
        self.whole.insert(agent);
    }

    /// A conversation as the hub learns of it.
    pub(super) fn past(&self, key: &Key, agent: AgentName, capabilities: Capabilities) -> Option<Past> {
        let known = self.known.get(key)?;
        Some(Past {
            agent,
            native: key.native.clone(),
            cwd: known.cwd.clone(),
            title: known.title.clone(),
            created_at: known.created_at,
            parent: known.parent.clone(),
            capabilities,
            size: millis(known.updated_at),
            written: known.updated_at,
        })
    }

    /// When a conversation began, and when it last changed.
    pub(super) fn times(&self, key: &Key) -> Option<(Timestamp, Timestamp)> {
        self.known.get(key).map(|known| (known.created_at, known.updated_at))
    }

    /// Notes that the hub knows these conversations in their current state.
    pub(super) fn told<'a>(&mut self, keys: impl IntoIterator<Item = &'a Key>) {
        for key in keys {
            if let Some(known) = self.known.get_mut(key) {
                (known.told, known.waits) = (Some(known.updated_at), false);
            }
        }
    }

    /// The anchor could not read all of a conversation. The next look reports it to the hub again.
    pub(super) fn tell_again(&mut self, key: &Key, waits: bool) {
        if let Some(known) = self.known.get_mut(key) {
            (known.told, known.waits) = (None, waits);
        }
    }

    /// Whether an unfinished message will not come any more, because its conversation has not changed since
    /// then.
    pub(super) fn has_waited(&self, agent: usize, since: Timestamp) -> bool {
        let waited =
            |(key, known): (&Key, &Remembered)| key.agent == agent && known.waits && known.updated_at < since;
        self.known.iter().any(waited)
    }

    /// How many conversations are known.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }
}

/// A point in time, in milliseconds since 1970.
pub(super) fn millis(at: Timestamp) -> u64 {
    u64::try_from(at.micros() / 1_000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(native: &str, updated: i64) -> NativeSession {
        NativeSession {
            native: native.to_owned(),
            title: String::new(),
            cwd: Some("/w".to_owned()),
            created_at: Some(Timestamp::default()),
            updated_at: Some(Timestamp::from_micros(updated * 1_000)),
            parent: None,
        }
    }

    fn key(native: &str) -> Key {
        Key { agent: 0, native: native.to_owned() }
    }

    #[test]
    fn all_pages_are_wanted_once_and_then_those_that_have_news() {
        let mut served_index = ServedIndex::default();
        let first = served_index.take_in(0, vec![session("b", 2), session("a", 1)], None);
        assert_eq!(first, ServedPage { changed: vec![key("b"), key("a")], is_last: false });
        served_index.told(&[key("a"), key("b")]);
        let again = served_index.take_in(0, vec![session("b", 2), session("a", 1)], None);
        assert_eq!(again, ServedPage { changed: Vec::new(), is_last: false }, "there may be older ones");
        served_index.is_whole(0);
        assert!(served_index.take_in(0, vec![session("b", 2)], None).is_last);
        let news = served_index.take_in(0, vec![session("b", 3)], None);
        assert_eq!(news, ServedPage { changed: vec![key("b")], is_last: false });
        assert_eq!(served_index.count(), 2);
    }

    #[test]
    fn what_is_too_old_or_incomplete_is_left_alone() {
        let mut served_index = ServedIndex::default();
        let since = Some(Timestamp::from_micros(5_000));
        let nowhere = NativeSession { cwd: None, ..session("c", 9) };
        let page = served_index.take_in(0, vec![nowhere, session("b", 6), session("a", 4)], since);
        assert_eq!(page, ServedPage { changed: vec![key("b")], is_last: true });
    }

    #[test]
    fn what_was_waited_for_is_told_again() {
        let mut served_index = ServedIndex::default();
        served_index.take_in(0, vec![session("a", 1)], None);
        served_index.told([&key("a")]);
        served_index.tell_again(&key("a"), true);
        assert!(!served_index.has_waited(0, Timestamp::from_micros(500)));
        assert!(served_index.has_waited(0, Timestamp::from_micros(5_000)));
        assert_eq!(served_index.take_in(0, vec![session("a", 1)], None).changed, [key("a")]);
        served_index.told([&key("a")]);
        assert!(!served_index.has_waited(0, Timestamp::from_micros(5_000)));
    }
}

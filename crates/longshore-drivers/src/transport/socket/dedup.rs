//! Cuts messages into lines, and leaves out repeated lines.
//!
//! When some programs reconnect, they repeat everything that they remember, because they cannot know what
//! arrived. Their lines have ids (`uuid`), so an identical line is a repetition. The driver already has the
//! first one.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use longshore_model::event::Raw;

/// How many lines are remembered: more than programs remember (1000).
const REMEMBERED: usize = 4096;

/// Cuts messages into lines.
#[derive(Debug, Default)]
pub(super) struct Dedup {
    /// Whether the program reconnected, and may repeat lines.
    came_back: bool,
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Dedup {
    /// Notes that the program has a new connection.
    pub(super) fn came_back(&mut self) {
        self.came_back = true;
    }

    /// The lines of a message. The end of a message also ends its last line.
    pub(super) fn lines(&mut self, message: &str) -> Vec<Raw> {
        let lines = message.split('\n').filter(|line| !line.trim_ascii().is_empty());
        lines.filter(|line| self.is_new(line)).map(Raw::from).collect()
    }

    fn is_new(&mut self, line: &str) -> bool {
        if !line.contains("\"uuid\"") {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        line.hash(&mut hasher);
        let name = hasher.finish();
        if !self.known.insert(name) {
            return !self.came_back;
        }
        self.order.push_back(name);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_may_hold_several_lines_or_none() {
        let mut heard = Dedup::default();
        assert_eq!(heard.lines("a\nb\r\n\n  \nc"), [Raw::from("a"), "b\r".into(), "c".into()]);
        assert_eq!(heard.lines("\n"), Vec::<Raw>::new());
    }

    #[test]
    fn only_whoever_came_back_repeats_itself_and_only_lines_with_a_name() {
        let mut heard = Dedup::default();
        let (named, other) = (r#"{"uuid":"1"}"#, r#"{"uuid":"2"}"#);
        assert_eq!(heard.lines(&format!("{named}\nkeep\n{named}\n")).len(), 3);
        heard.came_back();
        assert_eq!(heard.lines(&format!("{named}\nkeep\n{other}\n")), [Raw::from("keep"), other.into()]);
        assert_eq!(heard.lines(other), Vec::<Raw>::new());
    }

    #[test]
    fn no_more_is_remembered_than_may_be() {
        let mut heard = Dedup::default();
        heard.came_back();
        for n in 0..2 * REMEMBERED {
            assert_eq!(heard.lines(&format!(r#"{{"uuid":"{n}"}}"#)).len(), 1);
        }
        assert_eq!((heard.known.len(), heard.order.len()), (REMEMBERED, REMEMBERED));
    }
}

//! The rule of compaction: which deltas say nothing that the log does not say again.

use std::collections::HashMap;

use longshore_model::id::{ItemId, Seq, TurnId};
use longshore_model::time::Timestamp;

/// What the rule must know of a session.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    finals: HashMap<ItemId, (Seq, Timestamp)>,
    turns: HashMap<TurnId, Timestamp>,
    head: Seq,
}

impl Finished {
    /// Of a session that ends at `head`.
    pub(crate) fn new(head: Seq) -> Self {
        Self { head, ..Self::default() }
    }

    /// A final event of an item; they come in the order of their seq, so the last one stands.
    pub(crate) fn note_final(&mut self, item: ItemId, seq: Seq, at: Timestamp) {
        self.finals.insert(item, (seq, at));
    }

    /// The end of a turn.
    pub(crate) fn note_turn(&mut self, turn: TurnId, at: Timestamp) {
        self.turns.insert(turn, at);
    }

    /// Whether a delta may go. Only a *later* final event repeats it; a plan, for one, has several finals and can
    /// grow again after each. The last event of a session stays, since it tells where the session goes on.
    pub(crate) fn supersedes(
        &self,
        seq: Seq,
        item: Option<ItemId>,
        turn: Option<TurnId>,
        ended_before: Timestamp,
    ) -> bool {
        let Some((final_seq, final_at)) = item.and_then(|item| self.finals.get(&item)) else { return false };
        let ended = match turn {
            Some(turn) => self.turns.get(&turn),
            None => Some(final_at),
        };
        *final_seq > seq && seq != self.head && ended.is_some_and(|ended| *ended < ended_before)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_what_is_said_again_in_an_ended_turn_goes() {
        let (item, other) = (ItemId(Uuid::from_u128(1)), ItemId(Uuid::from_u128(2)));
        let (turn, open) = (TurnId(Uuid::from_u128(3)), TurnId(Uuid::from_u128(4)));
        let at = Timestamp::from_micros;
        let mut finished = Finished::new(Seq(9));
        finished.note_final(item, Seq(5), at(50));
        finished.note_turn(turn, at(70));
        let goes = |seq, item, turn, moment| finished.supersedes(Seq(seq), item, turn, at(moment));

        assert!(goes(4, Some(item), Some(turn), 71));
        assert!(!goes(4, Some(item), Some(turn), 70), "the turn had not ended then");
        assert!(!goes(6, Some(item), Some(turn), 71), "the final does not repeat what came later");
        assert!(!goes(4, Some(other), Some(turn), 71), "the item has no final");
        assert!(!goes(4, Some(item), Some(open), 71), "the turn goes on");
        assert!(!goes(4, None, Some(turn), 71), "of no item");
        assert!(goes(4, Some(item), None, 51), "outside of a turn the final counts");

        let mut finished = Finished::new(Seq(4));
        finished.note_final(item, Seq(5), at(50));
        assert!(!finished.supersedes(Seq(4), Some(item), None, at(60)), "the head stays");
    }
}

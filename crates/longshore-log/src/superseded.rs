//! The rule of compaction: which deltas repeat what the log says elsewhere.

use std::collections::HashMap;

use longshore_model::id::{ItemId, Seq, TurnId};
use longshore_model::time::Timestamp;

/// The facts about a session that the rule needs.
#[derive(Debug, Default)]
pub struct EndedTurns {
    finals: HashMap<ItemId, (Seq, Timestamp)>,
    turns: HashMap<TurnId, Timestamp>,
    head: Seq,
}

impl EndedTurns {
    /// The facts of a session that ends at `head`.
    pub fn new(head: Seq) -> Self {
        Self { head, ..Self::default() }
    }

    /// Notes a final event of an item. Final events come in the order of their seq, so the last one counts.
    pub fn note_final(&mut self, item: ItemId, seq: Seq, at: Timestamp) {
        self.finals.insert(item, (seq, at));
    }

    /// Notes the end of a turn.
    pub fn note_turn(&mut self, turn: TurnId, at: Timestamp) {
        self.turns.insert(turn, at);
    }

    /// Whether compaction may drop a delta. Only a *later* final event repeats it: a plan has several final
    /// events and can grow again after each. The last event of a session stays, because it marks the
    /// session's end.
    pub fn supersedes(
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
        let mut finished = EndedTurns::new(Seq(9));
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

        let mut finished = EndedTurns::new(Seq(4));
        finished.note_final(item, Seq(5), at(50));
        assert!(!finished.supersedes(Seq(4), Some(item), None, at(60)), "the head stays");
    }
}

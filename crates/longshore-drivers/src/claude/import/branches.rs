//! Branches of a conversation. Every line of a transcript names its previous line. If two terminals continue
//! one conversation at the same time, both continue from the same line.

use std::collections::HashMap;

/// The notice that two turns ran at the same time.
pub(super) const AT_THE_SAME_TIME: &str = "Two terminals went on with this conversation at the same time, which made \
     two branches of it. The next prompt goes on with the branch that was written last; Claude Code no longer \
     remembers the other.";

/// A turn, by its number in the transcript. Zero means no turn.
pub(super) type TurnPlace = usize;

/// The turn of each line, and the turn before each turn.
#[derive(Debug, Default)]
pub(super) struct Branches {
    turns: Vec<BranchTurn>,
    lines: HashMap<Box<str>, TurnPlace>,
    /// The last turn that a prompt began.
    last_prompt: TurnPlace,
    prompts: u32,
}

#[derive(Debug)]
struct BranchTurn {
    /// The turn before this one.
    before: TurnPlace,
    /// How many prompts led to this turn, with its own.
    prompts: u32,
}

impl Branches {
    /// Notes a line of a turn.
    pub(super) fn line(&mut self, uuid: &str, turn: TurnPlace) {
        self.lines.insert(uuid.into(), turn);
    }

    /// The turn of a line. None if the line is unknown, as in a compacted conversation.
    pub(super) fn turn_of(&self, uuid: Option<&str>) -> Option<TurnPlace> {
        uuid.and_then(|uuid| self.lines.get(uuid)).copied()
    }

    /// Begins a turn after another one, and returns its number.
    pub(super) fn begin(&mut self, before: TurnPlace) -> TurnPlace {
        let prompts = self.known(before).map_or(0, |known| known.prompts);
        self.turns.push(BranchTurn { before, prompts });
        self.turns.len()
    }

    /// Notes that the latest turn begins with a prompt. Returns how many earlier prompts are on another
    /// branch. None if the turn follows the last prompt.
    pub(super) fn prompt(&mut self) -> Option<u32> {
        let turn = self.turns.len();
        let before = self.turns.last()?.before;
        let led_to = self.known(before).map_or(0, |known| known.prompts);
        let left_out = self.prompts.saturating_sub(led_to);
        let follows = self.leads_to(self.last_prompt, before);
        self.prompts += 1;
        self.last_prompt = turn;
        if let Some(known) = self.turns.last_mut() {
            known.prompts = led_to + 1;
        }
        (!follows && left_out > 0).then_some(left_out)
    }

    /// The last turn that a prompt began.
    pub(super) fn last_prompt(&self) -> TurnPlace {
        self.last_prompt
    }

    /// Whether the last turn that a prompt began is this turn, or comes before it.
    pub(super) fn has_all_before(&self, turn: TurnPlace) -> bool {
        self.leads_to(self.last_prompt, turn)
    }

    fn leads_to(&self, first: TurnPlace, mut turn: TurnPlace) -> bool {
        while turn > first {
            turn = self.known(turn).map_or(0, |known| known.before);
        }
        turn == first
    }

    fn known(&self, turn: TurnPlace) -> Option<&BranchTurn> {
        self.turns.get(turn.checked_sub(1)?)
    }
}

/// The notice that a prompt began another branch.
pub(super) fn branched(left_out: u32) -> String {
    let prompts = match left_out {
        1 => "The prompt before it is".to_owned(),
        more => format!("{more} prompts before it are"),
    };
    format!(
        "This prompt went on from an earlier point. {prompts} on another branch, which Claude Code no longer \
         remembers here. The next prompt goes on with the branch that was written last."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_follows_on_an_earlier_line_is_a_branch() {
        let mut branches = Branches::default();
        let mut said = |after: Option<&str>, lines: &[&str]| {
            let before = branches.turn_of(after).unwrap_or(branches.turns.len());
            let turn = branches.begin(before);
            let left_out = branches.prompt();
            for line in lines {
                branches.line(line, turn);
            }
            left_out
        };
        assert_eq!(said(None, &["first", "answer"]), None, "the first one follows on nothing");
        assert_eq!(said(Some("answer"), &["second"]), None);
        assert_eq!(said(Some("first"), &["third"]), Some(1), "whatever line of the first it follows on");
        assert_eq!(said(Some("third"), &["fourth"]), None, "it goes on with the branch");
        assert_eq!(said(Some("answer"), &["fifth"]), Some(3));
        assert_eq!(said(Some("never seen"), &[]), None, "a conversation that was made shorter");
    }

    #[test]
    fn a_turn_that_goes_on_after_another_one_began_does_not_have_it_before_it() {
        let mut branches = Branches::default();
        let first = branches.begin(0);
        branches.prompt();
        assert!(branches.has_all_before(first));
        let second = branches.begin(first);
        assert_eq!(branches.prompt(), None, "it follows on the prompt of the first");
        assert!(branches.has_all_before(second) && !branches.has_all_before(first));
    }
}

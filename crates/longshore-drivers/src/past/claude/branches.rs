//! Branches of a conversation: every line of a transcript names the line before it, and two terminals that go on with one
//! conversation at the same time go on from the same line.

use std::collections::HashMap;

/// Which prompts the lines so far have before them.
#[derive(Debug, Default)]
pub(super) struct Branches {
    prompts: u32,
    /// How many prompts there were when the line was written.
    lines: HashMap<Box<str>, u32>,
}

impl Branches {
    /// A line was written.
    pub(super) fn line(&mut self, uuid: &str) {
        self.lines.insert(uuid.into(), self.prompts);
    }

    /// A prompt follows on a line: how many prompts before it are on another branch. None when it follows on all of them.
    pub(super) fn prompt(&mut self, parent: Option<&str>) -> Option<u32> {
        let known = parent.and_then(|parent| self.lines.get(parent)).copied();
        let left_out = known.map(|before| self.prompts.saturating_sub(before));
        self.prompts += 1;
        left_out.filter(|left_out| *left_out > 0)
    }
}

/// What people are told of a branch.
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
        assert_eq!(branches.prompt(None), None, "the first one follows on nothing");
        branches.line("first");
        branches.line("answer");
        assert_eq!(branches.prompt(Some("answer")), None);
        branches.line("second");
        assert_eq!(
            branches.prompt(Some("first")),
            Some(1),
            "the second one is left out, whatever line it follows on"
        );
        branches.line("third");
        assert_eq!(branches.prompt(Some("third")), None, "it goes on with the branch");
        branches.line("fourth");
        assert_eq!(branches.prompt(Some("answer")), Some(3));
        assert_eq!(branches.prompt(Some("never seen")), None, "a conversation that was made shorter");
    }
}

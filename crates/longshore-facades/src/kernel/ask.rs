//! Approvals and questions under foreign ids.
//!
//! A foreign request id is the id of our approval or question with a prefix. So a facade holds no table: whichever client
//! answers, over whichever connection, also after a restart of the hub, the id leads back.

use longshore_model::approval::Decision;
use longshore_model::id::{ApprovalId, QuestionId};

/// What a foreign request id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Approval(ApprovalId),
    Question(QuestionId),
}

const APPROVAL: &str = "approval-";
const QUESTION: &str = "question-";

impl Ask {
    /// The foreign id.
    pub(crate) fn foreign(self) -> String {
        match self {
            Ask::Approval(approval) => format!("{APPROVAL}{approval}"),
            Ask::Question(question) => format!("{QUESTION}{question}"),
        }
    }

    /// The approval or question with this foreign id.
    pub(crate) fn of_foreign(id: &str) -> Option<Self> {
        match id.strip_prefix(APPROVAL) {
            Some(id) => id.parse().ok().map(Ask::Approval),
            None => id.strip_prefix(QUESTION)?.parse().ok().map(Ask::Question),
        }
    }
}

/// The first of these decisions that the agent can carry out. A protocol has fewer words than agents have decisions, so
/// one word stands for several: the nearest comes first.
pub(crate) fn nearest(options: &[Decision], wanted: &[Decision]) -> Option<Decision> {
    wanted.iter().copied().find(|decision| options.contains(decision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_id_leads_back_to_what_was_asked() {
        let asks = [Ask::Approval(ApprovalId::of_words(&["a"])), Ask::Question(QuestionId::of_words(&["b"]))];
        for ask in asks {
            assert_eq!(Ask::of_foreign(&ask.foreign()), Some(ask));
        }
        for other in ["", "approval-", "approval-1", "question-x", "7", "Approval-"] {
            assert_eq!(Ask::of_foreign(other), None, "{other}");
        }
    }

    #[test]
    fn a_word_means_the_nearest_decision_that_the_agent_knows() {
        use Decision::{AllowAlways, AllowOnce, AllowSession, Cancel, Deny};
        assert_eq!(nearest(&[AllowOnce, Deny], &[AllowSession, AllowAlways, AllowOnce]), Some(AllowOnce));
        assert_eq!(nearest(&[AllowOnce, AllowSession, Cancel], &[Deny, Cancel]), Some(Cancel));
        assert_eq!(nearest(&[AllowOnce], &[Deny, Cancel]), None);
    }
}

//! How much an agent may ask at once. A person cannot answer thousands, nor read megabytes, and each is held, listed and sent
//! around.

use super::{Effect, Outcome, Session, brief};
use crate::approval::{AnswerAction, ApprovalDecision, Decision, QuestionAnswer};
use crate::command::AgentCommand;
use crate::event::{BY_HUB, Body, Draft, NoticeLevel};
use crate::id::Context;

/// How many approvals and questions of one session may wait together. A further one is refused.
pub const ASKS_LIMIT: usize = 100;
/// How many bytes they may have together. What would make more is refused.
pub const ASKS_BYTES: usize = 16 << 20;

impl Session {
    /// Refuses what is one too many: the agent hears a no, and what it said is kept as it came. None when the draft may
    /// go its way.
    pub(super) fn refuse_surplus(
        &mut self,
        draft: &Draft,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Option<Draft> {
        let wanted = brief::bytes_of_ask(draft)?;
        let bytes: usize = self.approvals.values().map(|ask| ask.bytes).sum::<usize>()
            + self.questions.values().map(|ask| ask.bytes).sum::<usize>();
        let why = if self.approvals.len() + self.questions.len() >= ASKS_LIMIT {
            format!("{ASKS_LIMIT} approvals and questions wait already; ask again when some are answered")
        } else if wanted > ASKS_BYTES {
            format!("it has more than {} MiB; ask for less at once", ASKS_BYTES >> 20)
        } else if bytes + wanted > ASKS_BYTES {
            let most = ASKS_BYTES >> 20;
            format!("what waits would have more than {most} MiB; ask again when some of it is answered")
        } else {
            self.refusing = false;
            return None;
        };
        let (kind, tell) = if let Body::ApprovalRequested(request) = &draft.body {
            let decision = ApprovalDecision {
                decision: Decision::Deny,
                message: Some(why.clone()),
                input: None,
                by: BY_HUB.to_owned(),
            };
            ("refused:approval", AgentCommand::Decide { approval: request.approval, decision })
        } else if let Body::QuestionAsked(request) = &draft.body {
            let answer = QuestionAnswer {
                action: AnswerAction::Decline,
                answers: Default::default(),
                by: BY_HUB.to_owned(),
            };
            ("refused:question", AgentCommand::Answer { question: request.question, answer })
        } else {
            return None;
        };
        out.effects.push(Effect::Tell(tell));
        if !self.refusing {
            self.refusing = true;
            let text =
                format!("The agent asks more than anybody can answer, and further asks are refused: {why}.");
            let notice = Body::Notice { level: NoticeLevel::Warning };
            self.record(Draft::new(notice).turn(draft.turn).text(text), cx, out);
        }
        Some(Draft {
            turn: draft.turn,
            item: draft.item,
            text: None,
            body: Body::Raw { kind: kind.to_owned(), fault: None },
            raw: draft.raw.clone(),
        })
    }
}

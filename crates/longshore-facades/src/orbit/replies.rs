//! What a person answers to a request of the server: a decision, or the fields of a question.

use std::collections::BTreeMap;

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::command::{Command, Refusal};
use longshore_model::id::{ApprovalId, QuestionId, SessionId};
use longshore_session::HubError;
use serde_json::Value;

use super::asks::{decisions, value_of};
use super::dialect::closing;
use super::faults::{OrbitFault, orbit_error};
use super::items::decision_line;
use crate::gate::{Gate, GateError};
use crate::kernel::Steps;
use crate::kernel::ask::{Ask, nearest};

/// The answer of a client.
#[derive(Debug)]
pub(super) enum ClientReply {
    /// A decision in the client's word; none dismisses the request.
    Decision(Option<String>),
    /// The texts of the fields.
    Fields(BTreeMap<String, Vec<String>>),
}

impl ClientReply {
    /// The answer in the result of a response; an error, or anything else, dismisses the request.
    pub(super) fn of_result(result: Option<&Value>) -> Self {
        let answers = result.and_then(|result| result.get("answers")).and_then(Value::as_object);
        let Some(answers) = answers else {
            let word = result.and_then(|result| result.get("decision")).and_then(Value::as_str);
            return ClientReply::Decision(word.map(str::to_owned));
        };
        let texts = |answer: &Value| {
            let list = answer.get("answers").unwrap_or(answer);
            let all = list.as_array().map(Vec::as_slice).unwrap_or_else(|| std::slice::from_ref(list));
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        ClientReply::Fields(answers.iter().map(|(field, answer)| (field.clone(), texts(answer))).collect())
    }
}

/// Gives the answer to the session. There is no response to a response, so the client hears only what it does not know:
/// that somebody else was first, that nobody waits any more, or why the hub refuses the answer.
pub(super) async fn give(gate: Gate, ask: Ask, reply: ClientReply, thread: Option<SessionId>) -> Steps {
    let (given, card) = match ask {
        Ask::Approval(approval) => (decide(&gate, approval, reply).await, format!("approval-{approval}")),
        Ask::Question(question) => (answer(&gate, question, reply).await, format!("user-input-{question}")),
    };
    let mut steps = Steps::default();
    let Err(error) = given else { return steps };
    let line = if let GateError::Hub(HubError::Refused(refusal)) = &error { over(refusal) } else { None };
    match (line, thread) {
        (Some(line), Some(thread)) => steps.send(closing(thread, card, line)),
        (Some(line), None) => steps.send(orbit_error(&line, Some(&ask.foreign()))),
        (None, _) => {
            let fault = OrbitFault::of_gate(error, "an approval or a question");
            steps.send(orbit_error(&fault.message, Some(&ask.foreign())));
        }
    }
    steps
}

/// Why nobody waits for an answer, if that is why the session refused it.
fn over(refusal: &Refusal) -> Option<String> {
    if let Refusal::AlreadyDecided(first) = refusal {
        Some(decision_line(first))
    } else if let Refusal::AlreadyAnswered(first) = refusal {
        Some(format!("Answered by {}", first.by))
    } else if let Refusal::Expired(reason) = refusal {
        Some(format!("No longer asked: {reason}"))
    } else {
        None
    }
}

async fn decide(gate: &Gate, approval: ApprovalId, reply: ClientReply) -> Result<(), GateError> {
    let word = match &reply {
        ClientReply::Decision(Some(word)) => word.as_str(),
        ClientReply::Decision(None) | ClientReply::Fields(_) => "cancel",
    };
    let unknown = || HubError::Invalid(format!("`{word}` is no decision"));
    let wanted = decisions(word).ok_or_else(unknown)?;
    let inbox = gate.inbox().await?;
    let open = inbox.approvals.into_iter().find(|open| open.request.approval == approval);
    let options = open.as_ref().map(|open| open.request.options.as_slice()).unwrap_or_default();
    // A session accepts a denial whatever the agent offers.
    let decision = match wanted[0] {
        Decision::Deny => Decision::Deny,
        Decision::Cancel | Decision::AllowOnce | Decision::AllowSession | Decision::AllowAlways => {
            let last = if wanted[0].allows() { wanted[0] } else { Decision::Deny };
            nearest(options, wanted).unwrap_or(last)
        }
    };
    gate.decide(approval, decision, None, None).await?;
    let stops = wanted[0] == Decision::Cancel && decision != Decision::Cancel;
    if let Some(open) = open.filter(|_| stops) {
        match gate.command(open.session, Command::Interrupt).await {
            // The turn ended by itself, or the caller may deny and no more.
            Ok(_) | Err(GateError::Denied(_) | GateError::Hub(HubError::Refused(_))) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn answer(gate: &Gate, question: QuestionId, reply: ClientReply) -> Result<(), GateError> {
    let texts = match reply {
        ClientReply::Fields(texts) => texts,
        ClientReply::Decision(_) => {
            gate.answer(question, AnswerAction::Cancel, BTreeMap::new()).await?;
            return Ok(());
        }
    };
    let inbox = gate.inbox().await?;
    let open = inbox.questions.into_iter().find(|open| open.request.question == question);
    let fields = open.map(|open| open.request.fields).unwrap_or_default();
    let given = texts.into_iter().filter_map(|(id, texts)| {
        let field = fields.iter().find(|field| field.id == id);
        // An empty text leaves out what may be left out.
        let left_out =
            field.is_some_and(|field| field.optional) && texts.iter().all(|text| text.trim().is_empty());
        let value = field.map_or_else(|| Value::from(texts.clone()), |field| value_of(field.kind, &texts));
        (!left_out).then_some((id, value))
    });
    gate.answer(question, AnswerAction::Accept, given.collect()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_response_is_a_decision_or_the_fields_of_a_question() {
        let read = |result: Value| match ClientReply::of_result(Some(&result)) {
            ClientReply::Decision(word) => json!(word),
            ClientReply::Fields(fields) => json!(fields),
        };
        assert_eq!(read(json!({ "decision": "accept", "collaborationMode": {} })), json!("accept"));
        assert_eq!(
            read(json!({ "answers": { "a": { "answers": ["x", "y"] } } })),
            json!({ "a": ["x", "y"] })
        );
        assert_eq!(read(json!({ "answers": { "a": "x" } })), json!({ "a": ["x"] }));
        assert_eq!(read(json!(["accept"])), json!(null), "what nobody understands allows nothing");
        assert!(matches!(ClientReply::of_result(None), ClientReply::Decision(None)));
    }
}

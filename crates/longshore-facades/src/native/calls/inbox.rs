//! What waits for a person: approvals and questions.

use longshore_model::command::Reply;

use crate::gate::Gate;
use crate::native::answers::{AnsweredQuestion, DecidedApproval, WaitingRequests};
use crate::native::check;
use crate::native::params::{AnswerParams, DecideParams, NoParams};
use crate::problem::Problem;

pub(super) async fn approvals(gate: Gate, NoParams {}: NoParams) -> Result<WaitingRequests, Problem> {
    let inbox = gate.inbox().await?;
    Ok(WaitingRequests {
        approvals: inbox.approvals,
        questions: inbox.questions,
        interrupted: inbox.interrupted,
        held: inbox.held,
    })
}

pub(super) async fn decide(gate: Gate, params: DecideParams) -> Result<DecidedApproval, Problem> {
    let DecideParams { approval, decision, message, input } = params;
    check::depth("input", input.as_ref())?;
    match gate.decide(approval, decision, message, input).await? {
        Reply::Decided(decision) => Ok(DecidedApproval { approval, decision }),
        Reply::Done | Reply::Prompted { .. } | Reply::Answered(_) => Err(Problem::our_fault()),
    }
}

pub(super) async fn answer(gate: Gate, params: AnswerParams) -> Result<AnsweredQuestion, Problem> {
    let AnswerParams { question, answers, action } = params;
    check::depth("answers", answers.values())?;
    match gate.answer(question, action, answers).await? {
        Reply::Answered(answer) => Ok(AnsweredQuestion { question, answer }),
        Reply::Done | Reply::Prompted { .. } | Reply::Decided(_) => Err(Problem::our_fault()),
    }
}

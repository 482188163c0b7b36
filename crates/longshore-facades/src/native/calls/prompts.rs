//! Prompts, and prompts that wait.

use longshore_model::command::{Command, Reply};
use longshore_model::info::SessionInfo;

use super::sessions::command;
use crate::gate::Gate;
use crate::native::answers::PromptReceipt;
use crate::native::check;
use crate::native::params::{
    CancelPromptParams, EditPromptParams, PromptParams, SendQueuedParams, SessionParams,
};
use crate::problem::Problem;

pub(super) async fn prompt(gate: Gate, params: PromptParams) -> Result<PromptReceipt, Problem> {
    let PromptParams { session, content, key, when } = params;
    check::name("key", key.as_deref())?;
    let prompt = content.into_prompt(key, when);
    check::attachments(&prompt.attachments)?;
    match gate.command(session, Command::Prompt(prompt)).await? {
        Reply::Prompted { prompt, turn, seq } => Ok(PromptReceipt { prompt, turn, seq }),
        Reply::Done | Reply::Decided(_) | Reply::Answered(_) => Err(Problem::our_fault()),
    }
}

pub(super) async fn edit(gate: Gate, params: EditPromptParams) -> Result<SessionInfo, Problem> {
    let EditPromptParams { session, prompt, text } = params;
    command(&gate, session, Command::EditPrompt { prompt, text }).await
}

pub(super) async fn cancel(gate: Gate, params: CancelPromptParams) -> Result<SessionInfo, Problem> {
    command(&gate, params.session, Command::CancelPrompt { prompt: params.prompt }).await
}

pub(super) async fn send_queued(gate: Gate, params: SendQueuedParams) -> Result<SessionInfo, Problem> {
    command(&gate, params.session, Command::SendQueued { all: params.all }).await
}

pub(super) async fn discard_queue(gate: Gate, params: SessionParams) -> Result<SessionInfo, Problem> {
    command(&gate, params.session, Command::DiscardQueue).await
}

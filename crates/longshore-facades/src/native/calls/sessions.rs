//! Sessions: opening, changing and ending them.

use std::collections::BTreeSet;

use longshore_model::command::Command;
use longshore_model::id::SessionId;
use longshore_model::info::{SessionInfo, Status};
use longshore_session::{OpenRequest, SessionFilter};

use super::bounded;
use crate::gate::Gate;
use crate::native::answers::{DeletedSession, ResumedSessions, SessionRows};
use crate::native::check;
use crate::native::params::{
    ForkParams, ListParams, NoParams, OpenParams, ReviveParams, SessionParams, UpdateParams,
};
use crate::problem::Problem;

const SESSIONS: (usize, usize) = (50, 200);

pub(super) async fn sessions(gate: Gate, params: ListParams) -> Result<SessionRows, Problem> {
    let ListParams { status, agent, q, archived, limit, cursor } = params;
    // A client that asks for closed sessions also means closed sessions in the archive.
    let archived = archived.or_else(|| (status != Some(Status::Completed)).then_some(false));
    let filter = SessionFilter { status, agent, q, archived, limit: bounded(limit, SESSIONS), cursor };
    let page = gate.sessions(filter).await?;
    Ok(SessionRows { sessions: page.sessions, next: page.next })
}

pub(super) async fn open(gate: Gate, params: OpenParams) -> Result<SessionInfo, Problem> {
    let OpenParams { agent, cwd, prompt, title, model, effort, mode, mcp_servers, key } = params;
    check::name("title", title.as_deref())?;
    check::name("model", model.as_deref())?;
    check::name("effort", effort.as_deref())?;
    check::name("key", key.as_deref())?;
    // The same request again sends its prompt only once.
    let prompt = prompt.map(|content| content.into_prompt(key.clone(), Default::default()));
    if let Some(prompt) = &prompt {
        check::attachments(&prompt.attachments)?;
        // The check comes before the session exists, so that a refused prompt leaves no empty session behind.
        check::first_prompt(&gate, &agent, prompt).await?;
    }
    let request = OpenRequest { agent, cwd, title, model, effort, mode, mcp_servers, key, session: None };
    let opened = gate.open(request).await?;
    match prompt {
        Some(prompt) => command(&gate, opened.session_id, Command::Prompt(prompt)).await,
        None => Ok(opened),
    }
}

pub(super) async fn session(gate: Gate, params: SessionParams) -> Result<SessionInfo, Problem> {
    Ok(gate.session(params.session).await?)
}

/// Makes the changes one after the other; the first refused change ends the call. The changes that a session
/// most likely refuses come first.
pub(super) async fn update(gate: Gate, params: UpdateParams) -> Result<SessionInfo, Problem> {
    let UpdateParams { session, title, archived, mode, model, effort, queue } = params;
    check::name("title", title.as_deref())?;
    check::name("model", model.as_deref())?;
    check::name("effort", effort.as_deref())?;
    if queue.as_ref().is_some_and(|order| order.iter().collect::<BTreeSet<_>>().len() < order.len()) {
        return Err(Problem::invalid("`queue` names a prompt twice"));
    }
    let commands = [
        queue.map(|order| Command::Reorder { order }),
        mode.map(Command::SetMode),
        model.map(Command::SetModel),
        effort.map(Command::SetEffort),
        title.map(Command::Rename),
        archived.map(Command::Archive),
    ];
    for command in commands.into_iter().flatten() {
        gate.command(session, command).await?;
    }
    Ok(gate.session(session).await?)
}

pub(super) async fn close(gate: Gate, params: SessionParams) -> Result<SessionInfo, Problem> {
    command(&gate, params.session, Command::Close).await
}

pub(super) async fn interrupt(gate: Gate, params: SessionParams) -> Result<SessionInfo, Problem> {
    command(&gate, params.session, Command::Interrupt).await
}

pub(super) async fn resume(gate: Gate, params: SessionParams) -> Result<SessionInfo, Problem> {
    command(&gate, params.session, Command::Resume).await
}

pub(super) async fn revive(gate: Gate, params: ReviveParams) -> Result<SessionInfo, Problem> {
    command(&gate, params.session, Command::Revive { from_log: params.from_log }).await
}

/// A command whose answer is the changed session.
pub(super) async fn command(
    gate: &Gate,
    session: SessionId,
    command: Command,
) -> Result<SessionInfo, Problem> {
    gate.command(session, command).await?;
    Ok(gate.session(session).await?)
}

pub(super) async fn fork(gate: Gate, params: ForkParams) -> Result<SessionInfo, Problem> {
    Ok(gate.fork(params.session, params.before).await?)
}

pub(super) async fn resume_all(gate: Gate, NoParams {}: NoParams) -> Result<ResumedSessions, Problem> {
    let all = gate.resume_all().await?;
    Ok(ResumedSessions { resumed: all.resumed, resuming: all.resuming })
}

pub(super) async fn delete_history(gate: Gate, params: SessionParams) -> Result<DeletedSession, Problem> {
    gate.erase(params.session).await?;
    Ok(DeletedSession { deleted: params.session })
}

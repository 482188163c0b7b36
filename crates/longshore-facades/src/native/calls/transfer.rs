//! Sessions that come from elsewhere, and sessions that continue elsewhere.

use longshore_model::info::SessionInfo;
use longshore_session::ImportRequest;

use crate::gate::Gate;
use crate::native::answers::{PastConversations, Release, TerminalCommand};
use crate::native::params::{ImportParams, NoParams, RawEventMember, SessionParams};
use crate::problem::Problem;

/// Imports events as `export` writes them: their public JSON, with the agent's own frame in `rawEvent`.
pub(super) async fn import(gate: Gate, params: ImportParams) -> Result<SessionInfo, Problem> {
    let mut events = Vec::with_capacity(params.events.len());
    for json in params.events {
        let unreadable = |error| Problem::invalid(format!("cannot read an event: {error}"));
        let event = serde_json::from_str(json.get()).map_err(unreadable)?;
        let RawEventMember { raw_event } = serde_json::from_str(json.get()).map_err(unreadable)?;
        let raw = raw_event.map(|raw| match serde_json::from_str::<String>(raw.get()) {
            Ok(text) => text.into(),
            Err(_) => raw.get().into(),
        });
        events.push((event, raw));
    }
    Ok(gate.import(ImportRequest { events, cwd: params.cwd, done: params.done }).await?)
}

/// Looks for conversations from elsewhere.
pub(super) async fn import_past(gate: Gate, NoParams {}: NoParams) -> Result<PastConversations, Problem> {
    let past = gate.import_past().await?;
    Ok(PastConversations { found: past.found, new: past.new, unread: past.unread })
}

/// How a session continues in the agent's own terminal.
pub(super) async fn hand_back(gate: Gate, params: SessionParams) -> Result<Option<TerminalCommand>, Problem> {
    Ok(gate.hand_back(params.session).await?.map(TerminalCommand::from))
}

/// Releases a session, and says how it continues in the agent's own terminal.
pub(super) async fn release(gate: Gate, params: SessionParams) -> Result<Release, Problem> {
    Ok(Release { hand_back: gate.release(params.session).await?.map(TerminalCommand::from) })
}

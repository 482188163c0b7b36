//! What requests do: open a conversation, send a message, follow a turn, stop it.

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use longshore_model::capability::AgentInfo;
use longshore_model::command::{Command, Prompt, Refusal, Reply, When};
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::info::{QueuedPrompt, SessionInfo};
use longshore_model::session::PromptName;
use longshore_model::timeline::{Content, Timeline};
use longshore_session::{HubError, OpenRequest, WithRaw};
use serde_json::json;

use super::form::MessageBody;
use super::framing::Framing;
use super::history;
use super::stream::TurnStream;
use super::turn::TurnReader;
use super::wire::{ActiveSession, CreateConversation, MessageQuery, MessageResponse};
use crate::gate::{Gate, GateError};
use crate::outgo::OutgoSubscription;
use crate::problem::Problem;

/// The longest name that a client may give to a message.
const NAME_BYTES: usize = 512;
/// The name of a turn for which no client has one.
const TURN: &str = "turn:";
/// The title of a conversation that the front end has not named yet.
const UNTITLED: &str = "untitled";

/// The conversation with this id.
pub(super) fn conversation(id: &str) -> Result<SessionId, Problem> {
    id.parse().map_err(|_| HubError::UnknownSession.into())
}

/// Where a person can answer what the protocol cannot ask.
fn place_of(gate: &Gate, session: SessionId) -> String {
    format!("{}/sessions/{session}", gate.base())
}

/// Opens a conversation with the agent and in the folder that the client names, as far as it names any.
pub(super) async fn create(gate: &Gate, request: CreateConversation) -> Result<SessionInfo, Problem> {
    let agents = gate.agents().await?;
    let agent = request.agent_ids.iter().find_map(|id| named(&agents, id)).or_else(|| usual(&agents));
    let agent = agent.ok_or_else(|| Problem::invalid("No agent is installed here"))?.name.to_string();
    let cwd = folder(gate, &request.project_ids).await?;
    let title = request.title.filter(|title| {
        let title = title.trim();
        !title.is_empty() && !title.eq_ignore_ascii_case(UNTITLED)
    });
    Ok(gate.open(OpenRequest { agent, cwd, title, ..OpenRequest::default() }).await?)
}

fn named<'a>(agents: &'a [AgentInfo], id: &str) -> Option<&'a AgentInfo> {
    agents.iter().find(|agent| agent.name.eq_ignore_ascii_case(id.trim()))
}

/// The agent for a client that names none of ours: one that can start right away.
fn usual(agents: &[AgentInfo]) -> Option<&AgentInfo> {
    let mut installed = agents.iter().filter(|agent| agent.path.is_some());
    let ready = installed.clone().find(|agent| agent.logged_in != Some(false));
    ready.or_else(|| installed.next())
}

/// The folder with this path or name; for a client that names none, the one that was used last.
async fn folder(gate: &Gate, projects: &[String]) -> Result<String, Problem> {
    if let Some(path) = projects.iter().find(|project| project.starts_with('/')) {
        return Ok(path.clone());
    }
    let recent = gate.recent_folders().await?;
    let last = |path: &String| path.trim_end_matches('/').rsplit('/').next().map(str::to_owned);
    let known =
        projects.iter().find_map(|project| recent.iter().find(|path| last(path).as_ref() == Some(project)));
    match (known.or(recent.first()), projects.is_empty() || recent.is_empty()) {
        (Some(path), _) => Ok(path.clone()),
        (None, _) => Ok(gate.folders(None).await?.path),
    }
}

/// Where a turn begins in the log.
pub(super) struct TurnStart {
    turn: TurnId,
    /// The event before the first one of the turn.
    before: Seq,
}

/// Sends a message. The same name again is the same message.
pub(super) async fn send(
    gate: &Gate,
    session: SessionId,
    body: MessageBody,
    name: Option<&str>,
) -> Result<TurnStart, Problem> {
    if name.is_some_and(|name| name.len() > NAME_BYTES) {
        return Err(Problem::invalid(format!("session_id is longer than {NAME_BYTES} bytes")));
    }
    // A turn that runs, or ran, under a name of ours.
    if let Some(start) = match name.filter(|name| name.starts_with(TURN)) {
        Some(name) => find(gate, session, name).await?,
        None => None,
    } {
        return Ok(start);
    }
    if body.request.content.trim().is_empty() && body.attachments.is_empty() {
        return Err(Problem::invalid("Message content cannot be empty"));
    }
    if body.request.attachment_ids.as_ref().is_some_and(|ids| ids.iter().any(|id| !id.is_empty())) {
        return Err(Problem::invalid("This hub keeps no uploads: send the files as images with the message"));
    }
    let text = body.text();
    let key = name.filter(|name| !name.is_empty()).map(str::to_owned);
    prompt(gate, session, Prompt { text, attachments: body.attachments, key, when: When::Queue }).await
}

/// Sends the last message once more. While a turn runs, that turn is the answer: the client has tried before.
pub(super) async fn regenerate(gate: &Gate, session: SessionId) -> Result<TurnStart, Problem> {
    let info = gate.session(session).await?;
    let timeline = gate.timeline(session).await?;
    if let Some(turn) = active_turn(&info) {
        gate.check(crate::auth::Access::Act)?;
        return Ok(start_of(&info, &timeline, turn));
    }
    let last = timeline.items.iter().rev().find_map(|item| {
        if let Content::UserMessage { attachments, .. } = &item.content {
            Some((item.text.clone(), attachments.clone()))
        } else {
            None
        }
    });
    let (text, attachments) = last.ok_or_else(|| Problem::invalid("No message to regenerate"))?;
    prompt(gate, session, Prompt { text, attachments, key: None, when: When::Queue }).await
}

async fn prompt(gate: &Gate, session: SessionId, prompt: Prompt) -> Result<TurnStart, Problem> {
    match gate.command(session, Command::Prompt(prompt)).await? {
        Reply::Prompted { turn, seq, prompt: _ } => {
            Ok(TurnStart { turn, before: Seq(seq.0.saturating_sub(1)) })
        }
        Reply::Done | Reply::Decided(_) | Reply::Answered(_) => Err(Problem::our_fault()),
    }
}

/// The turn with this name: a client's own name for its message, or ours for the turn.
pub(super) async fn find(gate: &Gate, session: SessionId, name: &str) -> Result<Option<TurnStart>, Problem> {
    if let Some(keyed) = gate.keyed_prompt(session, PromptName::Key(name.to_owned())).await? {
        return Ok(Some(TurnStart { turn: keyed.turn, before: Seq(keyed.seq.0.saturating_sub(1)) }));
    }
    let Some(turn) = name.strip_prefix(TURN).and_then(|turn| turn.parse().ok()) else { return Ok(None) };
    let info = gate.session(session).await?;
    let timeline = gate.timeline(session).await?;
    let is_there = timeline.items.iter().any(|item| item.turn == Some(turn))
        || info.turn == Some(turn)
        || info.queue.iter().any(|queued| queued.turn == turn);
    Ok(is_there.then(|| start_of(&info, &timeline, turn)))
}

/// Where a turn begins of which no prompt has a name. If nothing of it is there yet, everything is still to come.
fn start_of(info: &SessionInfo, timeline: &Timeline, turn: TurnId) -> TurnStart {
    let first = timeline.items.iter().find(|item| item.turn == Some(turn)).map(|item| item.seq);
    let before = first.map_or(info.head.min(timeline.head), |first| Seq(first.0.saturating_sub(1)));
    TurnStart { turn, before }
}

/// How a client wants the objects of a turn, and which of them it has seen.
#[derive(Default)]
pub(super) struct ObjectsWanted {
    framing: Framing,
    /// The last event that the client has seen.
    seen: Option<Seq>,
    /// The event at which the client begins. A cursor that is none of ours says nothing.
    from: Option<Seq>,
}

impl ObjectsWanted {
    /// Reads a request. Nothing has happened yet if it makes no sense.
    pub(super) fn of(query: &MessageQuery, headers: &HeaderMap) -> Result<Self, Problem> {
        let framing = Framing::of(query.format.as_deref(), headers)?;
        let seen = match headers.get("last-event-id").filter(|last| !last.is_empty()) {
            None => None,
            Some(last) => {
                let seq = last.to_str().ok().and_then(|last| last.parse().ok());
                Some(Seq(seq.ok_or_else(|| Problem::invalid("`Last-Event-ID` is not the id of an object"))?))
            }
        };
        let cursor = query.cursor.as_deref().and_then(|cursor| cursor.split('-').next());
        let from = cursor.and_then(|cursor| cursor.parse().ok()).map(Seq);
        Ok(Self { framing, seen, from })
    }

    /// The last event that the client does not want again.
    fn after(&self, head: Seq) -> Seq {
        let before = self.from.filter(|from| *from <= head).map(|from| Seq(from.0.saturating_sub(1)));
        self.seen.or(before).unwrap_or_default()
    }
}

/// The objects of a turn.
pub(super) async fn follow(
    gate: &Gate,
    session: SessionId,
    start: TurnStart,
    wanted: &ObjectsWanted,
) -> Result<TurnStream, Problem> {
    let info = gate.session(session).await?;
    let after = wanted.after(info.head);
    let subscription = gate.subscribe(session, start.before, WithRaw::No).await?;
    let subscription = OutgoSubscription::new(subscription, gate.outgo());
    let reader = TurnReader::new(start.turn, info.cwd, place_of(gate, session));
    Ok(TurnStream::new(subscription, reader, wanted.framing, after))
}

/// The prompt that the agent is about to get.
fn next_prompt(info: &SessionInfo) -> Option<&QueuedPrompt> {
    info.queue.iter().find(|queued| !queued.held)
}

/// The turn that runs, or is about to. A held prompt runs nothing: otherwise nobody could send another message.
fn active_turn(info: &SessionInfo) -> Option<TurnId> {
    info.turn.or_else(|| next_prompt(info).map(|queued| queued.turn))
}

/// What runs in a conversation.
pub(super) async fn active(gate: &Gate, session: SessionId) -> Result<Option<ActiveSession>, Problem> {
    let info = gate.session(session).await?;
    let Some(turn) = active_turn(&info) else { return Ok(None) };
    let keyed = gate.keyed_prompt(session, PromptName::Turn(turn)).await?;
    let name = keyed.map(|keyed| keyed.key).filter(|key| fits_into_path(key));
    let millis = |at: longshore_model::time::Timestamp| at.micros() / 1_000;
    Ok(Some(ActiveSession {
        session_id: name.unwrap_or_else(|| format!("{TURN}{turn}")),
        status: "active",
        cursor: "0-0",
        conversation_id: session.to_string(),
        started_at: millis(info.touched_at.unwrap_or(info.updated_at)),
        last_activity: millis(info.updated_at),
    }))
}

/// The front end puts the name into an address as it is.
fn fits_into_path(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":._-".contains(&byte))
}

/// Stops the turn with this name, or whatever runs.
pub(super) async fn stop(
    gate: &Gate,
    session: SessionId,
    name: Option<&str>,
) -> Result<&'static str, Problem> {
    gate.check(crate::auth::Access::Act)?;
    let wanted = match name {
        Some(name) => find(gate, session, name).await?.map(|start| start.turn),
        None => None,
    };
    let info = gate.session(session).await?;
    let waits = match (wanted, info.turn) {
        (Some(turn), _) => info.queue.iter().find(|queued| queued.turn == turn),
        (None, Some(_)) => None,
        (None, None) => info.queue.last(),
    };
    let command = match waits {
        Some(queued) => Command::CancelPrompt { prompt: queued.prompt },
        None if info.turn.is_some() && (name.is_none() || wanted == info.turn) => Command::Interrupt,
        None => return Ok("Nothing was running"),
    };
    match gate.command(session, command).await {
        Ok(_) => Ok("Session stopped"),
        // It ended by itself.
        Err(GateError::Hub(HubError::Refused(Refusal::NoTurn | Refusal::UnknownPrompt))) => {
            Ok("Nothing was running")
        }
        Err(error) => Err(error.into()),
    }
}

/// All messages of a conversation.
pub(super) async fn messages(gate: &Gate, session: SessionId) -> Result<Vec<MessageResponse>, Problem> {
    let info = gate.session(session).await?;
    let timeline = gate.timeline(session).await?;
    Ok(history::messages(&info, &timeline, &place_of(gate, session)))
}

/// An error of the protocol with a body of its own.
pub(super) fn detail(status: StatusCode, detail: &serde_json::Value) -> Response {
    (status, Json(json!({ "detail": detail }))).into_response()
}

/// A problem as this protocol says it.
pub(super) fn in_own_form(problem: &Problem) -> Response {
    let said = match &problem.hint {
        Some(hint) => format!("{}. {hint}", problem.title),
        None => problem.title.clone(),
    };
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    detail(status, &json!(said))
}

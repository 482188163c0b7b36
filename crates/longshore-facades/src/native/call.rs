//! What can be asked, and what it comes to. Both ways in, HTTP and the socket, end here.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use longshore_model::capability::AgentInfo;
use longshore_model::command::{Command, Reply};
use longshore_model::frame::Frame;
use longshore_model::id::{ApprovalId, PromptId, QuestionId, SessionId};
use longshore_model::info::{SessionInfo, Status};
use longshore_session::{
    HandBack, HubError, ImportRequest, ImportedPast, Inbox, OpenRequest, ResumedAll, SessionFilter, WithRaw,
};
use serde_json::{Value, json};

use super::check;
use super::events::json_of;
use super::params::{
    AnswerParams, DecideParams, EventsParams, ImportParams, ListAgentsParams, ListModelsParams, ListParams,
    OpenParams, PromptParams, PromptReceipt, RawEventMember, ReviveParams, RewriteParams, SearchParams,
    SendQueuedParams, TimelineParams, UpdateParams, WhichModels,
};
use crate::gate::Gate;
use crate::problem::Problem;

const SESSIONS: (usize, usize) = (50, 200);
const EVENTS: (usize, usize) = (200, 1_000);
const ITEMS: (usize, usize) = (50, 500);
const HITS: (usize, usize) = (20, 100);

fn bounded(asked: Option<usize>, (usual, most): (usize, usize)) -> usize {
    asked.unwrap_or(usual).clamp(1, most)
}

pub(super) async fn agents(gate: &Gate, params: ListAgentsParams) -> Result<Value, Problem> {
    let mut agents = gate.agents().await?;
    with_models(gate, params.models, &mut agents).await;
    Ok(json!({ "agents": agents }))
}

pub(super) async fn models(gate: &Gate, params: ListModelsParams) -> Result<Value, Problem> {
    let ListModelsParams { agent, anew } = params;
    let models = if anew { gate.models_anew(&agent).await? } else { gate.models(&agent).await? };
    Ok(json!({ "models": models }))
}

/// Asks those that are here for their models, all at once, unless those will do that are known.
pub(super) async fn with_models(gate: &Gate, which: WhichModels, agents: &mut [AgentInfo]) {
    match which {
        WhichModels::Asked => {}
        WhichModels::Known => return,
    }
    let here = agents.iter_mut().filter(|agent| agent.path.is_some() && agent.capabilities.models);
    let asked = here.map(|agent| async move {
        match gate.models(&agent.name).await {
            Ok(models) => agent.models = models,
            Err(error) => {
                agent.remark = Some(format!("its models are unknown: {error}"));
                agent.capabilities.forget_guesses();
            }
        }
    });
    futures_util::future::join_all(asked).await;
}

pub(super) async fn open(gate: &Gate, params: OpenParams) -> Result<SessionInfo, Problem> {
    let OpenParams { agent, cwd, prompt, title, model, effort, mode, mcp_servers } = params;
    check::name("title", title.as_deref())?;
    check::name("model", model.as_deref())?;
    check::name("effort", effort.as_deref())?;
    let prompt = prompt.map(|content| content.into_prompt(None, Default::default()));
    if let Some(prompt) = &prompt {
        // Refused before there is a session, so that none is left behind with nothing to do.
        check::first_prompt(gate, &agent, prompt).await?;
    }
    let opened = gate.open(OpenRequest { agent, cwd, title, model, effort, mode, mcp_servers }).await?;
    let Some(prompt) = prompt else { return Ok(opened) };
    gate.command(opened.session_id, Command::Prompt(prompt)).await?;
    Ok(gate.session(opened.session_id).await?)
}

pub(super) async fn sessions(gate: &Gate, params: ListParams) -> Result<Value, Problem> {
    let ListParams { status, agent, q, archived, limit, cursor } = params;
    // Whoever asks for those that are closed means those in the archive, too.
    let archived = archived.or_else(|| (status != Some(Status::Completed)).then_some(false));
    let filter = SessionFilter { status, agent, q, archived, limit: bounded(limit, SESSIONS), cursor };
    let page = gate.sessions(filter).await?;
    Ok(json!({ "sessions": page.sessions, "next": page.next }))
}

/// Change by change; the first one that is refused ends it. Those that are most likely refused come first.
pub(super) async fn update(
    gate: &Gate,
    session: SessionId,
    params: UpdateParams,
) -> Result<SessionInfo, Problem> {
    let UpdateParams { title, archived, mode, model, effort, queue } = params;
    check::name("title", title.as_deref())?;
    check::name("model", model.as_deref())?;
    check::name("effort", effort.as_deref())?;
    let wishes = [
        queue.map(|order| Command::Reorder { order }),
        mode.map(Command::SetMode),
        model.map(Command::SetModel),
        effort.map(Command::SetEffort),
        title.map(Command::Rename),
        archived.map(Command::Archive),
    ];
    for wish in wishes.into_iter().flatten() {
        gate.command(session, wish).await?;
    }
    Ok(gate.session(session).await?)
}

/// A wish of which nothing comes back but the session as it then stands.
pub(super) async fn wish(gate: &Gate, session: SessionId, command: Command) -> Result<SessionInfo, Problem> {
    gate.command(session, command).await?;
    Ok(gate.session(session).await?)
}

pub(super) fn send_queued(params: &SendQueuedParams) -> Command {
    Command::SendQueued { all: params.all }
}

/// Resumes whatever a restart of the hub cut.
pub(super) async fn resume_all(gate: &Gate) -> Result<Value, Problem> {
    let ResumedAll { resumed, resuming } = gate.resume_all().await?;
    Ok(json!({ "resumed": resumed, "resuming": resuming }))
}

/// Hands a session back, and says how it goes on.
pub(super) async fn release(gate: &Gate, session: SessionId) -> Result<Value, Problem> {
    Ok(match gate.release(session).await? {
        Some(back) => json!({ "handBack": in_words(&back) }),
        None => json!({}),
    })
}

/// Deletes a session, and all that was said in it.
pub(super) async fn erase(gate: &Gate, session: SessionId) -> Result<Value, Problem> {
    gate.erase(session).await?;
    Ok(json!({ "deleted": session }))
}

fn in_words(back: &HandBack) -> Value {
    json!({ "cwd": back.cwd, "command": back.command, "line": back.line() })
}

pub(super) fn revive(params: ReviveParams) -> Command {
    Command::Revive { from_log: params.from_log }
}

pub(super) fn rewrite(prompt: PromptId, params: RewriteParams) -> Command {
    Command::EditPrompt { prompt, text: params.text }
}

pub(super) async fn prompt(
    gate: &Gate,
    session: SessionId,
    params: PromptParams,
) -> Result<PromptReceipt, Problem> {
    let PromptParams { content, key, when } = params;
    check::name("key", key.as_deref())?;
    let wish = Command::Prompt(content.into_prompt(key, when));
    match gate.command(session, wish).await? {
        Reply::Prompted { prompt, turn, seq } => Ok(PromptReceipt { prompt, turn, seq }),
        Reply::Done | Reply::Decided(_) | Reply::Answered(_) => Err(Problem::our_fault()),
    }
}

pub(super) async fn events(
    gate: &Gate,
    session: SessionId,
    params: EventsParams,
) -> Result<EventPage, Problem> {
    let limit = bounded(params.limit, EVENTS);
    let frames = gate.events(session, params.after, limit, with_raw(params.raw)).await?;
    let head = gate.session(session).await?.head;
    let next = frames.last().map(Frame::seq).filter(|last| *last < head);
    Ok(EventPage { frames, next, head, raw: params.raw })
}

pub(super) fn with_raw(raw: bool) -> WithRaw {
    if raw { WithRaw::Yes } else { WithRaw::No }
}

/// A page of events: their JSON is taken over as it is stored.
pub(super) struct EventPage {
    frames: Vec<Frame>,
    next: Option<longshore_model::id::Seq>,
    head: longshore_model::id::Seq,
    raw: bool,
}

impl EventPage {
    pub(super) fn to_json(&self) -> String {
        let events: Vec<_> = self.frames.iter().map(|frame| json_of(frame, self.raw)).collect();
        let next = self.next.map_or_else(|| "null".to_owned(), |next| next.to_string());
        format!("{{\"events\":[{}],\"next\":{next},\"head\":{}}}", events.join(","), self.head)
    }
}

pub(super) async fn timeline(
    gate: &Gate,
    session: SessionId,
    params: TimelineParams,
) -> Result<Value, Problem> {
    let timeline = gate.timeline(session).await?;
    let items = &timeline.items;
    let end = params.before.map_or(items.len(), |before| items.partition_point(|item| item.seq < before));
    let start = end.saturating_sub(bounded(params.limit, ITEMS));
    let next = items.get(start).filter(|_| start > 0).map(|first| first.seq);
    Ok(json!({ "items": &items[start..end], "next": next, "head": timeline.head }))
}

pub(super) async fn inbox(gate: &Gate) -> Result<Value, Problem> {
    let Inbox { approvals, questions, interrupted, held } = gate.inbox().await?;
    Ok(json!({ "approvals": approvals, "questions": questions, "interrupted": interrupted, "held": held }))
}

pub(super) async fn decide(
    gate: &Gate,
    approval: ApprovalId,
    params: DecideParams,
) -> Result<Value, Problem> {
    let DecideParams { decision, message, input } = params;
    check::depth("input", input.as_ref())?;
    match gate.decide(approval, decision, message, input).await? {
        Reply::Decided(decision) => Ok(json!({ "approval": approval, "decision": decision })),
        Reply::Done | Reply::Prompted { .. } | Reply::Answered(_) => Ok(Value::Null),
    }
}

pub(super) async fn answer(
    gate: &Gate,
    question: QuestionId,
    params: AnswerParams,
) -> Result<Value, Problem> {
    check::depth("answers", params.answers.values())?;
    match gate.answer(question, params.action, params.answers).await? {
        Reply::Answered(answer) => Ok(json!({ "question": question, "answer": answer })),
        Reply::Done | Reply::Prompted { .. } | Reply::Decided(_) => Ok(Value::Null),
    }
}

pub(super) async fn search(gate: &Gate, params: SearchParams) -> Result<Value, Problem> {
    let hits = gate.search(params.q, bounded(params.limit, HITS)).await?;
    let mut titles = HashMap::new();
    let mut found = Vec::with_capacity(hits.len());
    for hit in hits {
        let title = match titles.entry(hit.session) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match gate.session(hit.session).await {
                Ok(session) => new.insert(session.title),
                // Forgotten since it was found.
                Err(HubError::UnknownSession) => continue,
                Err(error) => return Err(error.into()),
            },
        };
        found.push(json!({
            "session": hit.session, "title": title, "seq": hit.seq, "item": hit.item, "snippet": hit.snippet,
            "at": hit.at,
        }));
    }
    Ok(json!({ "hits": found }))
}

/// Events as `export` writes them: their public JSON with the agent's own frame in `rawEvent`.
pub(super) async fn import(gate: &Gate, params: ImportParams) -> Result<SessionInfo, Problem> {
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
    gate.import(ImportRequest { events, cwd: params.cwd, done: params.done }).await
}

/// Looks for conversations that were held elsewhere.
pub(super) async fn import_past(gate: &Gate) -> Result<Value, Problem> {
    let ImportedPast { found, new, unread } = gate.import_past().await?;
    Ok(json!({ "found": found, "new": new, "unread": unread }))
}

/// How a session goes on in the agent's own terminal.
pub(super) async fn hand_back(gate: &Gate, session: SessionId) -> Result<Value, Problem> {
    let back = gate.hand_back(session).await?;
    Ok(back.as_ref().map_or(Value::Null, in_words))
}

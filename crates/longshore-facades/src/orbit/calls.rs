//! What the requests of a client do.

use longshore_model::capability::AgentInfo;
use longshore_model::command::{Attachment, Command, Prompt, Refusal, Reply, When};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::info::SessionInfo;
use longshore_model::timeline::Item;
use longshore_session::{HubError, OpenRequest, PAGE_BYTES, SessionFilter};
use serde_json::{Value, json};

use super::attachments::attachments;
use super::faults::{NO_FOLDERS, OrbitFault};
use super::requests::ThreadRequest;
use super::wire::{
    InterruptParams, ListDirsParams, PromptInput, ThreadListParams, ThreadStartParams, TurnStartParams,
};
use super::{dialect, settings, threads};
use crate::gate::{Gate, GateError};
use crate::kernel::{Attached, Step, Steps};
use crate::outgo::OutgoShare;

/// The threads of a page, if the client does not say.
const ROWS: usize = 50;
/// The longest key of a request.
const KEY_BYTES: usize = 1_000;

/// A request with what belongs to it.
pub(super) struct ThreadCall {
    pub(super) id: Option<Value>,
    pub(super) method: String,
    /// The client's own name of the request: the same request again is the same request.
    pub(super) key: Option<String>,
    pub(super) request: ThreadRequest,
    /// Whether the connection follows the thread of the request.
    pub(super) followed: bool,
}

/// The result of a call.
struct ThreadAnswer {
    json: String,
    share: Option<OutgoShare>,
    attached: Option<Box<Attached>>,
}

impl From<Value> for ThreadAnswer {
    fn from(value: Value) -> Self {
        Self { json: value.to_string(), share: None, attached: None }
    }
}

/// Why a call failed, before it is known in which words to say so.
enum ThreadFailure {
    Gate(GateError),
    OrbitFault(OrbitFault),
}

impl From<GateError> for ThreadFailure {
    fn from(error: GateError) -> Self {
        ThreadFailure::Gate(error)
    }
}

impl From<OrbitFault> for ThreadFailure {
    fn from(fault: OrbitFault) -> Self {
        ThreadFailure::OrbitFault(fault)
    }
}

impl ThreadCall {
    /// Does the call, and answers only who asked.
    pub(super) async fn run(self, gate: Gate) -> Steps {
        let Self { id, method, key, request, followed } = self;
        let mut steps = Steps::default();
        match answer(&gate, key, request, followed).await {
            Ok(ThreadAnswer { json, share, attached }) => {
                if let Some(id) = id {
                    let text = format!("{{\"id\":{id},\"result\":{json}}}");
                    steps.push(match share {
                        Some(share) => Step::SendHeld(text, share),
                        None => Step::Send(text),
                    });
                }
                attached.into_iter().for_each(|attached| steps.push(Step::Attach(attached)));
            }
            Err(ThreadFailure::Gate(error)) => {
                steps.send(OrbitFault::of_gate(error, &method).text(id.as_ref()))
            }
            Err(ThreadFailure::OrbitFault(fault)) => steps.send(fault.text(id.as_ref())),
        }
        steps
    }
}

async fn answer(
    gate: &Gate,
    key: Option<String>,
    request: ThreadRequest,
    followed: bool,
) -> Result<ThreadAnswer, ThreadFailure> {
    if key.as_ref().is_some_and(|key| key.len() > KEY_BYTES) {
        return Err(OrbitFault::params(format!("`clientRequestId` is longer than {KEY_BYTES} bytes")).into());
    }
    let uploaded = |named: &str| gate.app().uploads.attachment(named);
    Ok(match request {
        ThreadRequest::List(params) => list(gate, params).await?.into(),
        ThreadRequest::Read(params) if params.turns || params.turns_too => {
            history(gate, params.thread, followed).await?
        }
        ThreadRequest::Read(params) => row(gate, params.thread).await?.into(),
        ThreadRequest::Resume(params) => row(gate, params.thread).await?.into(),
        ThreadRequest::Start(params) => start(gate, params, key).await?.into(),
        ThreadRequest::Archive(params, archived) => {
            gate.command(params.thread, Command::Archive(archived)).await?;
            json!({}).into()
        }
        ThreadRequest::Prompt(params) => {
            let (mut texts, mut images) = (Vec::new(), Vec::new());
            for part in &params.input {
                match part {
                    PromptInput::Text { text } => texts.push(text.as_str()),
                    PromptInput::Image(image) => images.push(image),
                }
            }
            let (text, attachments) = (texts.join("\n"), attachments(images, uploaded)?);
            set(gate, &params).await?;
            prompt(gate, params.thread_id, text, attachments, key).await?.into()
        }
        ThreadRequest::SendPrompt(params) => {
            let attachments = attachments(&params.attachments, uploaded)?;
            prompt(gate, params.thread_id, params.message, attachments, key).await?.into()
        }
        ThreadRequest::Interrupt(params) => interrupt(gate, params).await?.into(),
        ThreadRequest::Models => models(gate).await?.into(),
        ThreadRequest::CollaborationModes => {
            json!({ "data": [{ "name": "Plan", "mode": "plan" }, { "name": "Code", "mode": "code" }] }).into()
        }
        ThreadRequest::ListDirs(params) => folders(gate, params).await?.into(),
    })
}

/// Archived threads are in the list too: the client has a filter for them.
async fn list(gate: &Gate, params: ThreadListParams) -> Result<Value, ThreadFailure> {
    let ThreadListParams { cursor, limit, archived } = params;
    let filter = SessionFilter { archived, limit: limit.unwrap_or(ROWS), cursor, ..SessionFilter::default() };
    let page = gate.sessions(filter).await?;
    let rows: Vec<_> = page.sessions.iter().map(|info| threads::thread(info, Vec::new())).collect();
    Ok(json!({ "data": rows, "nextCursor": page.next }))
}

async fn row(gate: &Gate, session: SessionId) -> Result<Value, ThreadFailure> {
    let info = gate.session(session).await?;
    Ok(json!({ "thread": threads::thread(&info, Vec::new()) }))
}

/// The whole thread. A connection that follows it begins anew at the same moment, so that nothing is missing between
/// the history and what follows: what the history has already, the client gets once more under the same ids.
async fn history(gate: &Gate, session: SessionId, followed: bool) -> Result<ThreadAnswer, ThreadFailure> {
    let (account, mut known) = (gate.outgo(), 0);
    loop {
        let mut share = account.room(known).await;
        let attached = match followed {
            true => Some(Box::new(gate.attach(session).await?)),
            false => None,
        };
        let (timeline, info) = (gate.timeline(session).await?, gate.session(session).await?);
        let turns = dialect::turns(newest(&timeline.items));
        let json = json!({ "thread": threads::thread(&info, turns) }).to_string();
        if share.resize(json.len()) {
            return Ok(ThreadAnswer { json, share: Some(share), attached });
        }
        known = json.len();
    }
}

/// The newest items, as many as fit onto a page.
pub(super) fn newest(items: &[Item]) -> &[Item] {
    let mut bytes = 0;
    let fits = items.iter().rev().take_while(|item| {
        let is_first = bytes == 0;
        bytes += item.text.len() + 256;
        is_first || bytes <= PAGE_BYTES
    });
    &items[items.len() - fits.count()..]
}

async fn start(gate: &Gate, params: ThreadStartParams, key: Option<String>) -> Result<Value, ThreadFailure> {
    let ThreadStartParams { cwd, approval_policy, sandbox, provider, model } = params;
    let agents = gate.agents().await?;
    let wanted = provider.as_deref().map(threads::agent_of);
    let agent = match wanted {
        Some(agent) => agents.iter().find(|known| *known.name == *agent),
        None => usual(&agents),
    };
    let name = agent.map(|agent| agent.name.to_string()).or(wanted.map(str::to_owned));
    let agent_name =
        name.ok_or_else(|| OrbitFault::params("no agent is installed; `longshore agents` says how to"))?;
    let can = agent.map(|agent| &agent.capabilities);
    let modes = can.map(|can| can.modes.as_slice()).unwrap_or_default();
    let request = OpenRequest {
        mode: settings::first_mode(approval_policy.as_deref(), sandbox.as_deref(), modes),
        model: model.filter(|model| !model.is_empty() && can.is_some_and(|can| can.models)),
        agent: agent_name,
        cwd: at_home(gate, cwd).await?,
        key,
        ..OpenRequest::default()
    };
    let info = gate.open(request).await?;
    Ok(json!({
        "thread": threads::thread(&info, Vec::new()),
        "model": info.model,
        "reasoningEffort": info.effort,
        "sandbox": settings::sandbox_of(info.mode),
        "cwd": info.cwd,
    }))
}

/// The agent of a thread if nobody names one.
pub(super) fn usual(agents: &[AgentInfo]) -> Option<&AgentInfo> {
    let mut installed = agents.iter().filter(|agent| agent.path.is_some());
    let first = installed.clone().next();
    installed.find(|agent| &*agent.name == "codex").or(first)
}

/// A folder as people write it: nothing, or a tilde, is the folder where they begin.
async fn at_home(gate: &Gate, cwd: String) -> Result<String, GateError> {
    let below = match cwd.trim() {
        "" => "",
        cwd => match cwd.strip_prefix('~') {
            Some(below) => below,
            None => return Ok(cwd.to_owned()),
        },
    };
    let home = gate.folders(None).await?.path;
    Ok(format!("{}{below}", home.trim_end_matches('/')))
}

/// Makes the changes that a prompt brings along.
async fn set(gate: &Gate, params: &TurnStartParams) -> Result<(), ThreadFailure> {
    let (session, info) = (params.thread_id, gate.session(params.thread_id).await?);
    let sandbox = params.sandbox_policy.as_ref().map(|policy| policy.kind.as_str());
    let collaboration = params.collaboration_mode.as_ref().map(|mode| mode.mode.as_str());
    if let Some(mode) = settings::next_mode(&info, sandbox, collaboration) {
        gate.command(session, Command::SetMode(mode)).await?;
    }
    let can = &info.capabilities;
    if (can.models && params.model.is_some()) || (can.effort && params.effort.is_some()) {
        let agents = gate.agents().await?;
        let known =
            agents.iter().find(|agent| agent.name == info.provider).map(|agent| agent.models.as_slice());
        let (model, effort) = (params.model.as_deref(), params.effort.as_deref());
        for command in settings::of_model(&info, known.unwrap_or_default(), model, effort) {
            gate.command(session, command).await?;
        }
    }
    Ok(())
}

async fn prompt(
    gate: &Gate,
    session: SessionId,
    text: String,
    attachments: Vec<Attachment>,
    key: Option<String>,
) -> Result<Value, ThreadFailure> {
    let prompt = Prompt { text, attachments, key, when: When::Queue };
    match gate.command(session, Command::Prompt(prompt)).await? {
        Reply::Prompted { turn, .. } => {
            Ok(json!({ "turn": { "id": turn, "status": "inProgress", "items": [] } }))
        }
        Reply::Done | Reply::Decided(_) | Reply::Answered(_) => Ok(json!({})),
    }
}

/// Stops the turn that the client saw. If another one runs by now, somebody else began it.
async fn interrupt(gate: &Gate, params: InterruptParams) -> Result<Value, ThreadFailure> {
    let InterruptParams { thread_id, turn_id } = params;
    let is_over = |info: &SessionInfo, turn: TurnId| {
        info.turn != Some(turn) && info.queue.iter().all(|next| next.turn != turn)
    };
    if let Some(turn) = turn_id
        && is_over(&gate.session(thread_id).await?, turn)
    {
        return Ok(json!({}));
    }
    match gate.command(thread_id, Command::Interrupt).await {
        Ok(_) | Err(GateError::Hub(HubError::Refused(Refusal::NoTurn))) => Ok(json!({})),
        Err(error) => Err(error.into()),
    }
}

/// The models of the usual agent, and those that are known of the others.
async fn models(gate: &Gate) -> Result<Value, ThreadFailure> {
    let agents = gate.agents().await?;
    let first = usual(&agents).map(|agent| agent.name.clone());
    let asked = match &first {
        Some(agent) => gate.models(agent).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let others = agents.iter().filter(|agent| agent.path.is_some() && Some(&agent.name) != first.as_ref());
    let mut rows: Vec<Value> = Vec::new();
    for model in asked.iter().chain(others.flat_map(|agent| &agent.models)) {
        if rows.iter().any(|row| row["id"] == model.id.as_str()) {
            continue;
        }
        let efforts: Vec<Value> = model
            .efforts
            .iter()
            .map(|effort| json!({ "reasoningEffort": effort, "description": "" }))
            .collect();
        rows.push(json!({
            "id": model.id, "model": model.id, "displayName": model.title, "description": model.description,
            "isDefault": model.default && rows.is_empty(), "supportedReasoningEfforts": efforts,
        }));
    }
    if rows.is_empty() {
        // The client takes an empty list for an error. A prompt with an unknown model leaves the choice to the agent.
        rows.push(
            json!({ "id": "default", "model": "default", "displayName": "Default", "isDefault": true }),
        );
    }
    Ok(json!({ "data": rows }))
}

async fn folders(gate: &Gate, params: ListDirsParams) -> Result<Value, ThreadFailure> {
    let path = Some(params.path).filter(|path| !path.trim().is_empty());
    match gate.folders(path).await {
        Ok(found) => {
            let parent = found.parent.as_deref().unwrap_or(&found.path);
            Ok(json!({ "dirs": found.folders, "parent": parent, "current": found.path }))
        }
        Err(error @ GateError::Denied(_)) => Err(error.into()),
        Err(GateError::Hub(error)) => Err(OrbitFault { code: NO_FOLDERS, message: error.to_string() }.into()),
    }
}

//! The requests of the app, carried out.
//!
//! The app has no place for errors: a call that gets one waits for ever. So what the app itself calls gets a result, and
//! words for the person where it could not be done.

use std::sync::{Arc, Mutex, MutexGuard};

use longshore_model::command::{Attachment, AttachmentSource, Command, Prompt, Refusal};
use longshore_model::id::SessionId;
use longshore_model::info::SessionInfo;
use longshore_session::{HubError, SessionFilter};
use serde::Serialize;
use serde_json::{Value, json};

use super::dialect;
use super::drafts::{self, SessionDraft};
use super::seats::{self, Seat};
use super::size::{self, FRAME};
use super::wire::{
    AgentInfo, ContentBlock, Initialized, InitializedMeta, ModeId, Notification, PromptParams,
    SessionNotification, SessionUpdate, SetModeParams, VERSION,
};
use crate::auth::Access;
use crate::gate::{Gate, GateError};
use crate::kernel::rpc::RpcRequest;
use crate::kernel::{Attached, Step, Steps};
use crate::outgo::OutgoAccount;
use crate::problem::Problem;

/// What is not there, in the numbers of this protocol.
const NOT_FOUND: i32 = -32002;
/// What the caller may not do.
const AUTH_REQUIRED: i32 = -32000;
const INVALID_PARAMS: i32 = -32602;
pub(crate) const INTERNAL: i32 = -32603;
/// How many letters a UUID has.
const UUID: usize = 36;

/// One client, for the calls that it makes.
#[derive(Clone)]
pub(crate) struct AppClient {
    pub(crate) gate: Gate,
    pub(crate) outgo: OutgoAccount,
    pub(crate) seat: Arc<Mutex<Seat>>,
}

/// A notification as the client reads it: without a blank anywhere.
pub(crate) fn notification(session: impl ToString, update: SessionUpdate) -> String {
    let params = SessionNotification { session_id: session.to_string(), update };
    let notification = Notification { jsonrpc: "2.0", method: "session/update", params };
    // These types always become JSON.
    serde_json::to_string(&notification).unwrap_or_default()
}

/// The number of a problem.
pub(crate) fn number_of(problem: &Problem) -> i32 {
    match problem.status {
        401 | 403 => AUTH_REQUIRED,
        404 if problem.code == "no_method" => -32601,
        404 | 410 => NOT_FOUND,
        400 | 409 | 422 => INVALID_PARAMS,
        _ => INTERNAL,
    }
}

pub(crate) fn failed(request: &RpcRequest, problem: &Problem) -> Steps {
    failed_as(request, number_of(problem), problem)
}

pub(crate) fn failed_as(request: &RpcRequest, code: i32, problem: &Problem) -> Steps {
    request.numbered(code, problem).map(Step::Send).into_iter().collect()
}

fn done(request: &RpcRequest, result: &impl Serialize) -> Steps {
    request.result(result).map(Step::Send).into_iter().collect()
}

/// The id of a session, as the client writes it.
pub(crate) fn session_of(id: &str) -> Result<SessionId, Problem> {
    id.parse().map_err(|_| Problem::invalid(format!("`{}` is not the id of a session", size::brief(id, 100))))
}

impl AppClient {
    pub(crate) fn seat(&self) -> MutexGuard<'_, Seat> {
        seats::held(&self.seat)
    }

    /// The answer to the handshake, and then all that the client missed since its last connection broke.
    pub(crate) async fn initialize(self, request: RpcRequest, left: Seat) -> Steps {
        let folders = self.gate.recent_folders().await.unwrap_or_default();
        let result = Initialized {
            protocol_version: VERSION,
            agent_capabilities: super::wire::AgentCapabilities {
                prompt_capabilities: super::wire::PromptCapabilities {
                    image: true,
                    embedded_context: true,
                    ..Default::default()
                },
                ..Default::default()
            },
            auth_methods: [],
            agent_info: AgentInfo {
                name: "longshore",
                title: "Longshore",
                version: env!("CARGO_PKG_VERSION"),
            },
            _meta: InitializedMeta { working_directory: folders.into_iter().next() },
        };
        let mut steps = done(&request, &result);
        let sessions: Vec<_> = left.sessions.iter().map(|(session, seq)| (*session, *seq)).collect();
        self.seat().inherit(left);
        for (session, after) in sessions {
            let client = self.clone();
            steps.call_in_order(session, async move {
                if client.seat().sessions.contains_key(&session) {
                    return Steps::default();
                }
                let attached = client.gate.attach_after(session, after).await;
                attached.ok().map(|attached| Step::Attach(Box::new(attached))).into_iter().collect()
            });
        }
        steps
    }

    /// Attaches to a session that the client names for the first time.
    async fn attach(&self, session: SessionId) -> Result<Option<Attached>, GateError> {
        if self.seat().sessions.contains_key(&session) {
            return Ok(None);
        }
        self.gate.attach(session).await.map(Some)
    }

    pub(crate) async fn set_mode(self, request: RpcRequest, params: SetModeParams) -> Steps {
        let session = match session_of(&params.session_id) {
            Ok(session) => session,
            Err(problem) => return failed(&request, &problem),
        };
        let wanted = ModeId::named(&params.mode_id);
        let mut steps = Steps::default();
        let mut tell = |mode| {
            let update = SessionUpdate::CurrentModeUpdate { current_mode_id: mode };
            steps.send(notification(&params.session_id, update));
        };
        match self.gate.session(session).await {
            // Its agent is chosen for good.
            Ok(info) => drop(drafts::mode_of(&info.provider).map(tell)),
            Err(GateError::Hub(HubError::UnknownSession)) => {
                match drafts::choose(&self.gate, session, wanted).await {
                    Ok(()) => tell(wanted),
                    Err(GateError::Denied(_)) => {}
                    Err(error) => return failed(&request, &error.into()),
                }
            }
            Err(error) => return failed(&request, &error.into()),
        }
        steps.reply(request.result(&json!({})));
        steps
    }

    /// Sends a prompt, and opens the session first if there is none yet.
    pub(crate) async fn prompt(self, request: RpcRequest, params: PromptParams) -> Steps {
        let named = params.session_id.clone();
        match self.try_prompt(&request, params).await {
            Ok((status, attached)) => {
                let mut steps = done(&request, &json!({ "status": status }));
                if let Some(attached) = attached {
                    steps.push(Step::Attach(Box::new(attached)));
                }
                steps
            }
            Err(problem) => {
                let words = match &problem.hint {
                    Some(hint) => format!("{}\n\n{hint}", problem.title),
                    None => problem.title.clone(),
                };
                let refusal = json!({ "status": "refused", "code": problem.code, "message": problem.title });
                let mut steps = done(&request, &refusal);
                for update in dialect::agent_says(&format!("Longshore did not send this: {words}")) {
                    steps.send(notification(&named, update));
                }
                steps
            }
        }
    }

    async fn try_prompt(
        &self,
        request: &RpcRequest,
        params: PromptParams,
    ) -> Result<(&'static str, Option<Attached>), Problem> {
        let session = session_of(&params.session_id)?;
        self.gate.check(Access::Act)?;
        let (text, attachments) = content(params.prompt);
        let opened = drafts::open(&self.gate, session).await?;
        let attached = self.attach(session).await?;
        self.seat().expect(session, &text);
        let key = request.text_id().filter(|id| is_unique(id)).map(|id| format!("openagents/{id}"));
        let prompt = Prompt { text: text.clone(), attachments, key, ..Prompt::default() };
        if let Err(error) = self.gate.command(session, Command::Prompt(prompt)).await {
            self.seat().forget(session, &text);
            return Err(error.into());
        }
        Ok((if opened { "started" } else { "resumed" }, attached))
    }

    pub(crate) async fn cancel(self, request: RpcRequest, session: SessionId) -> Steps {
        let status = match self.gate.command(session, Command::Interrupt).await {
            Ok(_) => "cancelled",
            Err(GateError::Hub(
                HubError::Refused(Refusal::NoTurn | Refusal::Closed) | HubError::UnknownSession,
            )) => "no_active_session",
            Err(GateError::Denied(_)) => "refused",
            Err(error) => return failed(&request, &error.into()),
        };
        done(&request, &json!({ "status": status }))
    }

    pub(crate) async fn new_session(self, request: RpcRequest, draft: SessionDraft) -> Steps {
        let session = self.gate.new_session();
        // Whoever may not act gets an id too, and words at its first prompt: an error would leave the app waiting.
        match drafts::put(&self.gate, session, &draft).await {
            Ok(()) | Err(GateError::Denied(_)) => done(&request, &json!({ "session_id": session })),
            Err(error) => failed(&request, &error.into()),
        }
    }

    /// The newest sessions that nobody delegated.
    pub(crate) async fn newest(&self, most: usize) -> Result<Vec<SessionInfo>, GateError> {
        let filter = SessionFilter { archived: Some(false), limit: 4 * most, ..SessionFilter::default() };
        let mut sessions = self.gate.sessions(filter).await?.sessions;
        sessions.retain(|session| session.parent.is_none());
        sessions.truncate(most);
        Ok(sessions)
    }

    /// Answers with something large, once there is room for it.
    pub(crate) async fn large(
        &self,
        request: &RpcRequest,
        result: impl Future<Output = Result<String, GateError>>,
    ) -> Steps {
        let share = self.outgo.room(FRAME).await;
        match result.await {
            Ok(json) => {
                request.answer(&json).map(|answer| Step::SendHeld(answer, share)).into_iter().collect()
            }
            Err(error) => failed(request, &error.into()),
        }
    }

    /// Answers with a result that the hub may refuse.
    pub(crate) fn outcome(&self, request: &RpcRequest, result: Result<Value, GateError>) -> Steps {
        match result {
            Ok(result) => done(request, &result),
            Err(error) => failed(request, &error.into()),
        }
    }
}

/// Whether an id names a request for good, as those of the app do, which end with a UUID. Others begin anew with every
/// connection, and a second prompt with the id of the first one would be lost.
fn is_unique(id: &str) -> bool {
    let uuid = id.len().checked_sub(UUID).and_then(|from| id.get(from..));
    uuid.is_some_and(|uuid| uuid.parse::<SessionId>().is_ok())
}

/// The text of a prompt, and its pictures.
fn content(blocks: Vec<ContentBlock>) -> (String, Vec<Attachment>) {
    let (mut texts, mut attachments) = (Vec::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text { text } => texts.push(text),
            ContentBlock::Image { data, mime_type } => {
                let source = AttachmentSource::Data(data);
                attachments.push(Attachment { name: None, media_type: mime_type, source });
            }
            ContentBlock::ResourceLink { uri } => texts.push(uri),
            ContentBlock::Resource { resource } => texts.push(format!("{}\n{}", resource.uri, resource.text)),
        }
    }
    (texts.join("\n"), attachments)
}

//! The connection of an app: one WebSocket, whose first message decides what is spoken.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Extension;
use axum::extract::ConnectInfo;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use longshore_model::event::{AgentName, Body};
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_session::{HubError, Subscription};
use serde_json::Value;

use super::calls::{AppClient, failed, failed_as, notification, session_of};
use super::dialect::{self, SessionDialect};
use super::drafts::SessionDraft;
use super::requests::{self, AppRequest};
use super::seats::Seat;
use super::wire::{AvailableCommand, InitializeParams, ModeId, SessionUpdate, TitleParams};
use crate::berth::Berth;
use crate::gate::Gate;
use crate::kernel::link::{self, FOLLOWED};
use crate::kernel::rpc::RpcRequest;
use crate::kernel::{Attached, ClientMessage, Follower, LinkState, Protocol, Step, Steps};
use crate::problem::Problem;

const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// `GET /openagents`.
pub(super) async fn upgrade(
    gate: Gate,
    from: Option<Extension<ConnectInfo<SocketAddr>>>,
    berth: Option<Extension<Arc<Berth>>>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let from = from.map(|Extension(ConnectInfo(from))| from.ip());
    link::upgrade(gate, berth, socket, move |gate| {
        let client = AppClient { outgo: gate.outgo(), gate, seat: Arc::default() };
        (AppSocket { client, from, spoken: None, live: HashMap::new() }, Steps::default())
    })
}

/// What the first message of a connection can decide for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoken {
    /// The protocol of the OpenAgents app.
    OpenAgents,
}

impl Spoken {
    /// What a client speaks that shakes hands like this.
    fn of(params: &InitializeParams) -> Result<Self, Problem> {
        match &params.protocol_version {
            Value::String(version) if version == "0.2" || version.starts_with("0.2.") => {
                Ok(Spoken::OpenAgents)
            }
            other => Err(Problem::invalid(format!(
                "this socket speaks the protocol of the OpenAgents app, version 0.2, not version {other}"
            ))),
        }
    }
}

struct AppSocket {
    client: AppClient,
    /// The address of the client.
    from: Option<IpAddr>,
    spoken: Option<Spoken>,
    live: HashMap<SessionId, LiveSession>,
}

/// A session that the client follows.
struct LiveSession {
    agent: AgentName,
    follower: Follower,
    dialect: SessionDialect,
}

impl Protocol for AppSocket {
    const DISMISSED: (u16, &'static str) = (4401, "this device may not connect any more");

    fn received(&mut self, message: ClientMessage<'_>, link: &LinkState, steps: &mut Steps) {
        let text = match message {
            ClientMessage::Text(text) => text,
            ClientMessage::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text,
                Err(_) => return steps.push(Step::Close(1007, "a message is text")),
            },
        };
        let request = match RpcRequest::read(text) {
            Ok(request) => request,
            // The hub asks such clients nothing, so nobody waits for their answers.
            Err(_) if is_answer(text) => return,
            Err(answer) => return steps.send(answer),
        };
        let is_handshake = request.method == "initialize";
        if self.spoken.is_none() && !is_handshake {
            let problem = Problem::invalid("the first request of a connection is `initialize`");
            return steps.extend(failed_as(&request, INVALID_REQUEST, &problem));
        }
        match requests::read(&request) {
            Ok(_) if link.is_busy() => steps.extend(failed(&request, &Problem::too_many_requests())),
            Ok(asked) => self.asked(request, asked, link, steps),
            Err(problem) => steps.extend(failed(&request, &problem)),
        }
    }

    fn attached(&mut self, attached: &mut Attached, steps: &mut Steps) {
        let session = attached.info.session_id;
        let follower = std::mem::take(&mut attached.follower);
        let cursor = attached.subscription.cursor();
        if !attached.info.commands.is_empty() {
            let command = |command: &longshore_model::capability::SlashCommand| AvailableCommand {
                name: command.name.clone(),
                description: command.description.clone(),
            };
            let available_commands = attached.info.commands.iter().map(command).collect();
            steps.send(notification(session, SessionUpdate::AvailableCommandsUpdate { available_commands }));
        }
        for update in dialect::open_calls(follower.timeline(), cursor) {
            steps.send(notification(session, update));
        }
        self.client.seat().sessions.insert(session, cursor);
        let agent = attached.info.provider.clone();
        self.live.insert(session, LiveSession { agent, follower, dialect: SessionDialect::default() });
    }

    fn frames(&mut self, subscription: &Subscription, frames: &[Frame], steps: &mut Steps) {
        let session = subscription.session();
        let Some(LiveSession { agent, follower, dialect }) = self.live.get_mut(&session) else { return };
        let mut seat = self.client.seat();
        let mut last = None;
        for frame in frames.iter() {
            // An event that cannot be read is one that this client does not hear of.
            let Ok(event) = frame.event() else { continue };
            let change = follower.apply(event);
            let is_own = if let Body::UserMessage { by: Some(by), .. } = &event.body {
                by == self.client.gate.caller().name() && seat.is_own(session, event.seq, event.text())
            } else {
                false
            };
            if !is_own {
                for update in dialect.updates(agent, event, change) {
                    steps.send(notification(session, update));
                }
            }
            last = Some(frame.seq());
        }
        // What is written into a connection that broke without a word is not there for the client. A pong says what is.
        if let Some(Seq(last)) = last {
            steps.push(Step::Ping([&session.0.into_bytes()[..], &last.to_be_bytes()].concat()));
        }
    }

    fn pong(&mut self, bytes: &[u8]) {
        let Some((session, seq)) = bytes.split_first_chunk::<16>() else { return };
        let Ok(seq) = seq.try_into().map(u64::from_be_bytes) else { return };
        if let Some(got) = self.client.seat().sessions.get_mut(&SessionId(uuid::Uuid::from_bytes(*session))) {
            *got = Seq(seq).max(*got);
        }
    }

    fn lost(&mut self, session: SessionId, _after: Seq, error: HubError, steps: &mut Steps) {
        self.live.remove(&session);
        self.client.seat().sessions.remove(&session);
        for update in dialect::agent_says(&format!("Longshore lost this session: {error}")) {
            steps.send(notification(session, update));
        }
    }
}

impl AppSocket {
    fn asked(&mut self, request: RpcRequest, asked: AppRequest, link: &LinkState, steps: &mut Steps) {
        let client = self.client.clone();
        match asked {
            AppRequest::Initialize(params) => match Spoken::of(&params) {
                Ok(spoken) => {
                    let left = match self.spoken.replace(spoken) {
                        // Only a new connection takes the place of one that broke.
                        None => self.left(),
                        Some(_) => Seat::default(),
                    };
                    steps.call(client.initialize(request, left));
                }
                Err(problem) => steps.extend(failed_as(&request, INVALID_PARAMS, &problem)),
            },
            AppRequest::NewSession(params) => {
                let mode = params.mode_id.as_deref().map(ModeId::named).unwrap_or_default();
                let cwd = params.cwd.filter(|cwd| cwd.starts_with('/'));
                steps.call(client.new_session(request, SessionDraft { mode, cwd }));
            }
            AppRequest::SetMode(params) => {
                in_order(&params.session_id.clone(), client.set_mode(request, params), steps)
            }
            AppRequest::Prompt(params) => {
                let named = params.session_id.clone();
                let fits = session_of(&named).map_or(true, |session| link.may_follow(session));
                match fits {
                    true => in_order(&named, client.prompt(request, params), steps),
                    false => steps.extend(failed(&request, &Problem::too_many_subscriptions(FOLLOWED))),
                }
            }
            AppRequest::Cancel(params) => {
                // After a prompt that was sent just before.
                match session_of(&params.session_id) {
                    Ok(session) => steps.call_in_order(session, client.cancel(request, session)),
                    Err(problem) => steps.extend(failed(&request, &problem)),
                }
            }
            AppRequest::ReadFile(params) => {
                let named = params.session_id.clone();
                self.of_session(request, &named, steps, |client, request, session| {
                    client.read_file(request, session, params)
                });
            }
            AppRequest::WriteFile(params) => {
                let named = params.session_id.clone();
                self.of_session(request, &named, steps, |client, request, session| {
                    client.write_file(request, session, params)
                });
            }
            AppRequest::Run(params) => {
                let named = params.session_id.clone();
                self.of_session(request, &named, steps, |client, request, session| {
                    client.run(request, session, params)
                });
            }
            AppRequest::Threads(params) => steps.call(async move {
                let threads = client.threads(params.top_k).await;
                client.outcome(&request, threads)
            }),
            AppRequest::Latest(params) => steps.call(client.latest_lines(request, params)),
            AppRequest::LatestTyped => steps.call(client.latest_typed(request)),
            AppRequest::Index(params) => steps.call(async move {
                let status = client.index(params).await;
                client.outcome(&request, status)
            }),
            AppRequest::RecentSessions => steps.call(async move {
                let recent = client.recent_sessions().await;
                client.outcome(&request, recent)
            }),
            AppRequest::Timeline(params) => {
                let named = params.session_id.clone();
                in_order(&named, client.timeline(request, params.session_id, params.limit), steps);
            }
            AppRequest::DeleteSession(params) => {
                self.of_session(request, &params.session_id, steps, |client, request, session| async move {
                    let deleted = client.delete(session).await;
                    client.outcome(&request, deleted)
                });
            }
            AppRequest::SetTitle(params) => {
                let TitleParams { session_id, title } = params;
                self.of_session(request, &session_id, steps, |client, request, session| async move {
                    let renamed = client.rename(session, &title).await;
                    client.outcome(&request, renamed)
                });
            }
            AppRequest::GetTitle(params) => {
                self.of_session(request, &params.session_id, steps, |client, request, session| async move {
                    let title = client.title(session).await;
                    client.outcome(&request, title)
                });
            }
            AppRequest::ClearTitle(params) => {
                self.of_session(request, &params.session_id, steps, |client, request, session| async move {
                    let cleared = client.clear_title(session).await;
                    client.outcome(&request, cleared)
                });
            }
        }
    }

    /// What the last connection of this client followed.
    fn left(&self) -> Seat {
        let gate = &self.client.gate;
        gate.app().seats.sit(gate.caller().device(), self.from, &self.client.seat)
    }

    /// A call of a session that waits for no other.
    fn of_session<W: Future<Output = Steps> + Send + 'static>(
        &self,
        request: RpcRequest,
        named: &str,
        steps: &mut Steps,
        work: impl FnOnce(AppClient, RpcRequest, SessionId) -> W,
    ) {
        match session_of(named) {
            Ok(session) => steps.call(work(self.client.clone(), request, session)),
            Err(problem) => steps.extend(failed(&request, &problem)),
        }
    }
}

/// A call that is done after earlier ones of the same session.
fn in_order(named: &str, work: impl Future<Output = Steps> + Send + 'static, steps: &mut Steps) {
    match session_of(named) {
        Ok(session) => steps.call_in_order(session, work),
        Err(_) => steps.call(work),
    }
}

/// Whether a message is a response.
fn is_answer(text: &str) -> bool {
    let read = serde_json::from_str::<Value>(text).unwrap_or_default();
    read.get("method").is_none() && (read.get("result").is_some() || read.get("error").is_some())
}

impl Drop for AppSocket {
    fn drop(&mut self) {
        self.client.gate.app().seats.leave(&self.client.seat);
    }
}

//! The socket of a client.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use longshore_model::event::{Body, Event};
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_session::{HubError, Subscription};
use serde_json::Value;

use super::calls::ThreadCall;
use super::control::{self, OrbitPush, PONG};
use super::dialect::ThreadFeed;
use super::faults::{OrbitFault, orbit_error};
use super::replies::{self, ClientReply};
use super::requests::{ThreadRequest, only_reads};
use super::wire::ClientFrame;
use crate::auth::{self, Access};
use crate::berth::Berth;
use crate::gate::{Gate, GateError};
use crate::guard;
use crate::kernel::ask::Ask;
use crate::kernel::link::{self, FOLLOWED};
use crate::kernel::{Attached, ClientMessage, LinkState, Protocol, Step, Steps};
use crate::pair::is_secure;
use crate::problem::Problem;
use crate::router::App;

/// The most requests of one connection at a time. A client that comes back sends up to 200 prompts that it kept, and
/// asks for each row of its list.
pub(super) const REQUESTS: usize = 512;
/// How many of its own answers a connection remembers until the session has recorded them.
const OWN: usize = 256;

/// `GET /ws`, `GET /ws/client`. A browser gets the cookie too, for the calls that the UI makes without its token.
pub(super) async fn upgrade(
    State(app): State<App>,
    gate: Gate,
    berth: Option<Extension<Arc<Berth>>>,
    uri: Uri,
    headers: HeaderMap,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    if socket.is_err() {
        let upgrade = [(header::UPGRADE, "websocket")];
        return Ok((StatusCode::UPGRADE_REQUIRED, upgrade, "Upgrade required").into_response());
    }
    let mut response = link::upgrade(gate, berth, socket, |gate| {
        let mut first = Steps::default();
        first.send(control::hello(&gate));
        first.call(control::anchor_auth(gate.clone()));
        (OrbitSocket::new(gate), first)
    })?;
    let token = auth::bearer(&headers).or_else(|| auth::in_query(&uri));
    if let Some(token) = token.filter(|_| guard::same_origin(&headers).is_ok()) {
        let secure = is_secure(&app, &headers);
        auth::given(&token, secure).map(|cookie| response.headers_mut().insert(header::SET_COOKIE, cookie));
    }
    Ok(response)
}

struct OrbitSocket {
    gate: Gate,
    /// The threads that the client wants to hear of.
    wanted: HashSet<SessionId>,
    feeds: HashMap<SessionId, ThreadFeed>,
    /// What was answered over this connection: its client closed the card by itself.
    own: VecDeque<Ask>,
}

impl Protocol for OrbitSocket {
    const DISMISSED: (u16, &'static str) = (1000, "token rotated");

    fn received(&mut self, message: ClientMessage<'_>, link: &LinkState, steps: &mut Steps) {
        let text = match message {
            ClientMessage::Text(text) => text,
            ClientMessage::Binary(bytes) => {
                let fault = format!("messages are text; this one has {} bytes of data", bytes.len());
                return steps.send(orbit_error(&fault, None));
            }
        };
        let frame = match serde_json::from_str::<Value>(text) {
            Ok(value) if value.is_object() => value,
            Ok(_) | Err(_) => return steps.send(orbit_error("a message is a JSON object", None)),
        };
        let id = frame.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        let frame = match serde_json::from_value::<ClientFrame>(frame) {
            Ok(frame) => frame,
            Err(fault) => {
                return steps
                    .send(OrbitFault::params(format!("cannot read the message: {fault}")).text(id.as_ref()));
            }
        };
        if frame.kind.as_deref() == Some("ping") {
            return steps.send(PONG);
        }
        if link.is_full(REQUESTS) {
            return steps.send(OrbitFault::busy().text(id.as_ref()));
        }
        match (&frame.kind, &frame.method) {
            (Some(_), None) => self.control(frame, link, steps),
            (_, Some(_)) => self.request(frame, id, steps),
            (None, None) => self.response(&frame, steps),
        }
    }

    fn attached(&mut self, attached: &mut Attached, steps: &mut Steps) {
        let session = attached.info.session_id;
        if !self.wanted.contains(&session) {
            return;
        }
        let feed = ThreadFeed::new(&attached.info, std::mem::take(&mut attached.follower));
        let again = if self.feeds.contains_key(&session) { Vec::new() } else { feed.again() };
        again.into_iter().chain(feed.open()).for_each(|text| steps.send(text));
        self.feeds.insert(session, feed);
    }

    fn frames(&mut self, subscription: &Subscription, frames: &[Frame], steps: &mut Steps) {
        let Some(feed) = self.feeds.get_mut(&subscription.session()) else { return };
        for frame in frames.iter() {
            let event = match frame.event() {
                Ok(event) => event,
                Err(_) => {
                    steps
                        .send(orbit_error(&format!("event {} of the log cannot be read", frame.seq()), None));
                    continue;
                }
            };
            let texts = feed.apply(event);
            match answered(event).and_then(|ask| self.own.iter().position(|own| *own == ask)) {
                Some(at) => drop(self.own.remove(at)),
                None => texts.into_iter().for_each(|text| steps.send(text)),
            }
        }
    }

    fn lost(&mut self, session: SessionId, _after: Seq, error: HubError, steps: &mut Steps) {
        self.feeds.remove(&session);
        self.wanted.remove(&session);
        if matches!(error, HubError::UnknownSession) {
            return steps.send(orbit_error("the thread was deleted", None));
        }
        // The client comes back by itself, and begins each thread anew.
        steps.push(Step::Close(1011, "the hub cannot read a thread"));
    }
}

/// The approval or question that an event records the answer to.
fn answered(event: &Event) -> Option<Ask> {
    if let Body::ApprovalDecided { approval, .. } = &event.body {
        Some(Ask::Approval(*approval))
    } else if let Body::QuestionAnswered { question, .. } = &event.body {
        Some(Ask::Question(*question))
    } else {
        None
    }
}

impl OrbitSocket {
    fn new(gate: Gate) -> Self {
        Self { gate, wanted: HashSet::new(), feeds: HashMap::new(), own: VecDeque::new() }
    }

    fn control(&mut self, frame: ClientFrame, link: &LinkState, steps: &mut Steps) {
        let ClientFrame { kind, thread_id, endpoint, p256dh, auth, rpc_id, option_id, .. } = frame;
        let gate = self.gate.clone();
        match (kind.as_deref().unwrap_or_default(), thread_id) {
            ("orbit.subscribe", Some(session)) => self.subscribe(session, link, steps),
            ("orbit.unsubscribe", Some(session)) => self.unsubscribe(session, steps),
            ("orbit.list-anchors", _) => steps.call(control::anchors(gate)),
            ("orbit.push-subscribe", _) => match (endpoint, p256dh, auth) {
                (Some(endpoint), Some(p256dh), Some(auth)) => {
                    steps.call(control::push(gate, OrbitPush::Subscribe { endpoint, p256dh, auth }));
                }
                _ => steps.send(orbit_error("a push subscription has endpoint, p256dh and auth", None)),
            },
            ("orbit.push-unsubscribe", _) => {
                steps.call(control::push(gate, OrbitPush::Unsubscribe { endpoint }))
            }
            ("orbit.push-test", _) => steps.call(control::push(gate, OrbitPush::Test)),
            ("acp:approval_decision", _) => {
                self.reply(rpc_id.as_deref(), ClientReply::Decision(option_id), steps)
            }
            (unknown, _) => {
                steps.send(orbit_error(&format!("no message is called `{unknown}`"), rpc_id.as_deref()))
            }
        }
    }

    /// Follows a thread. The UI asks twice; the first time counts.
    fn subscribe(&mut self, session: SessionId, link: &LinkState, steps: &mut Steps) {
        if self.feeds.contains_key(&session) {
            return;
        }
        let is_new = !self.wanted.contains(&session);
        if (is_new && self.wanted.len() >= FOLLOWED) || !link.may_follow(session) {
            return steps
                .send(orbit_error(&format!("this connection follows {FOLLOWED} threads already"), None));
        }
        self.wanted.insert(session);
        let gate = self.gate.clone();
        steps.call_in_order(session, async move {
            let mut steps = Steps::default();
            match gate.attach(session).await {
                Ok(attached) => steps.push(Step::Attach(Box::new(attached))),
                Err(error) => {
                    steps.send(orbit_error(&OrbitFault::of_gate(error, "orbit.subscribe").message, None))
                }
            }
            steps
        });
    }

    fn unsubscribe(&mut self, session: SessionId, steps: &mut Steps) {
        self.wanted.remove(&session);
        self.feeds.remove(&session);
        // After a subscription that is still under way.
        let unfollow = Step::Unfollow(session, Box::new(|_| Steps::default()));
        steps.call_in_order(session, async { Steps::from_iter([unfollow]) });
    }

    fn request(&mut self, frame: ClientFrame, id: Option<Value>, steps: &mut Steps) {
        let ClientFrame { method, params, client_request_id, .. } = frame;
        let method = method.unwrap_or_default();
        if let Err(GateError::Denied(denial)) = self.gate.check(Access::Act)
            && !only_reads(&method)
        {
            return steps.send(OrbitFault::denied(&denial, &method).text(id.as_ref()));
        }
        let request = match ThreadRequest::read(&method, params) {
            Ok(request) => request,
            Err(fault) => return steps.send(fault.text(id.as_ref())),
        };
        let (session, gate) = (request.session(), self.gate.clone());
        let followed = session.is_some_and(|session| self.wanted.contains(&session));
        let key = client_request_id.filter(|key| !key.trim().is_empty());
        let call = ThreadCall { id, method, key, request, followed };
        match session {
            Some(session) => steps.call_in_order(session, call.run(gate)),
            None => steps.call(call.run(gate)),
        }
    }

    /// The response to a request of the hub.
    fn response(&mut self, frame: &ClientFrame, steps: &mut Steps) {
        let id = frame.id.as_ref().and_then(Value::as_str);
        let result = frame.result.as_ref().filter(|_| frame.error.is_none());
        self.reply(id, ClientReply::of_result(result), steps);
    }

    fn reply(&mut self, id: Option<&str>, reply: ClientReply, steps: &mut Steps) {
        let Some(ask) = id.and_then(Ask::of_foreign) else {
            return steps.send(orbit_error("this answers nothing that was asked", id));
        };
        let thread = self.feeds.iter().find(|(_, feed)| feed.asks(ask)).map(|(session, _)| *session);
        let may = self.gate.check(match ask {
            Ask::Approval(_) => Access::Decide,
            Ask::Question(_) => Access::Act,
        });
        if let Err(error) = may {
            let fault = OrbitFault::of_gate(error, "an approval or a question");
            return steps.send(orbit_error(&fault.message, id));
        }
        if self.own.len() == OWN {
            self.own.pop_front();
        }
        self.own.push_back(ask);
        let work = replies::give(self.gate.clone(), ask, reply, thread);
        match thread {
            Some(thread) => steps.call_in_order(thread, work),
            None => steps.call(work),
        }
    }
}

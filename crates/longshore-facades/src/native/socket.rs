//! The socket: JSON-RPC 2.0 over one WebSocket, for any number of sessions.
//!
//! - A client calls `subscribe {session, after}` and gets `event` notifications after that seq.
//! - `watch` brings `session` notifications: the rows of sessions as they change.
//! - Every other method is a call of [`super::calls`].
//!
//! The connection itself is a [`link`](crate::kernel::link).

use std::sync::Arc;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_session::{HubError, Subscription};
use serde_json::json;

use super::answers::Nothing;
use super::call::Call;
use super::events::with_raw;
use super::params::SessionParams;
use super::socket_methods::{self, SocketCall, SubscribeParams, Subscribed, Unsubscribed, Watching};
use crate::berth::Berth;
use crate::gate::Gate;
use crate::kernel::link::{self, FOLLOWED};
use crate::kernel::rpc::{RpcRequest, notification};
use crate::kernel::{ClientMessage, LinkState, Protocol, RowChange, Step, Steps};
use crate::outgo::OutgoAccount;
use crate::problem::Problem;

/// The text before an event's own JSON in its notification. A brace follows the JSON.
const EVENT_BEGIN: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":";

/// `GET /api/v1/socket`.
pub(super) async fn upgrade(
    gate: Gate,
    berth: Option<Extension<Arc<Berth>>>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    link::upgrade(gate, berth, socket, |gate| (NativeSocket { outgo: gate.outgo(), gate }, Steps::default()))
}

struct NativeSocket {
    gate: Gate,
    outgo: OutgoAccount,
}

impl Protocol for NativeSocket {
    const DISMISSED: (u16, &'static str) = (4401, "the token is no longer valid");

    fn received(&mut self, message: ClientMessage<'_>, link: &LinkState, steps: &mut Steps) {
        let text = match message {
            ClientMessage::Text(text) => text,
            ClientMessage::Binary(_) => {
                return steps.push(Step::Close(1003, "this socket accepts only text"));
            }
        };
        let request = match RpcRequest::read(text) {
            Ok(request) => request,
            Err(answer) => return steps.send(answer),
        };
        match socket_methods::find(&request) {
            Ok(SocketCall::Subscribe(params)) => self.subscribe(request, params, link, steps),
            Ok(SocketCall::Unsubscribe(SessionParams { session })) => {
                let unfollow = Step::Unfollow(
                    session,
                    Box::new(move |subscribed| {
                        let result = request.result(&Unsubscribed { session, subscribed });
                        result.map(Step::Send).into_iter().collect()
                    }),
                );
                // After a `subscribe` that is still under way.
                steps.call_in_order(session, async { Steps::from_iter([unfollow]) });
            }
            Ok(SocketCall::Watch(watching)) => {
                steps.push(Step::Watch(watching));
                steps.reply(request.result(&Watching { watching }));
            }
            Ok(SocketCall::Ping) => steps.reply(request.result(&Nothing {})),
            Ok(SocketCall::Table(call)) => self.call(request, call, link, steps),
            Err(problem) => steps.reply(request.problem(&problem)),
        }
    }

    fn frames(&mut self, subscription: &Subscription, frames: &[Frame], steps: &mut Steps) {
        let raw = subscription.with_raw();
        for frame in frames.iter() {
            let event = frame.line(raw);
            steps.send([EVENT_BEGIN, &event, "}"].concat());
        }
    }

    fn lost(&mut self, session: SessionId, after: Seq, error: HubError, steps: &mut Steps) {
        let params = json!({ "session": session, "after": after, "problem": Problem::from(error) });
        steps.send(notification("resume", &params));
    }

    fn row(&mut self, change: RowChange, steps: &mut Steps) {
        steps.send(match change {
            RowChange::Row(session) => notification("session", &json!(*session)),
            RowChange::Erased(session) => notification("sessionDeleted", &json!({ "session": session })),
            RowChange::Lagged => notification("relist", &json!({})),
        });
    }
}

impl NativeSocket {
    /// Follows a session after a seq. A new subscription of a session replaces the old one.
    fn subscribe(&self, request: RpcRequest, params: SubscribeParams, link: &LinkState, steps: &mut Steps) {
        let SubscribeParams { session, after, raw } = params;
        if !link.may_follow(session) {
            return steps.reply(request.problem(&Problem::too_many_subscriptions(FOLLOWED)));
        }
        let gate = self.gate.clone();
        steps.call_in_order(session, async move {
            let mut steps = Steps::default();
            match gate.subscribe(session, after, with_raw(raw)).await {
                Ok(subscription) => {
                    steps.reply(request.result(&Subscribed { session, after }));
                    steps.push(Step::Follow(Box::new(subscription)));
                }
                Err(error) => steps.reply(request.problem(&error.into())),
            }
            steps
        });
    }

    fn call(&self, request: RpcRequest, call: &'static Call, link: &LinkState, steps: &mut Steps) {
        let work = match call.begin(self.gate.clone(), &request.input()) {
            Ok(_) if link.is_busy() => return steps.reply(request.problem(&Problem::too_many_requests())),
            Ok(work) => work,
            Err(problem) => return steps.reply(request.problem(&problem)),
        };
        let (gate, account) = (self.gate.clone(), self.outgo.clone());
        steps.call(async move {
            let again = || call.begin(gate.clone(), &request.input());
            let mut steps = Steps::default();
            match call.finish(work, again, &account).await {
                Ok((answer, share)) => {
                    let answer = request.answer(&answer.json);
                    if let Some(answer) = answer {
                        steps.push(Step::SendHeld(answer, share));
                    }
                }
                Err(problem) => steps.reply(request.problem(&problem)),
            }
            steps
        });
    }
}

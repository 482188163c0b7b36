//! The methods of the socket: which call each is.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use longshore_model::command::Command;
use longshore_model::id::{PromptId, Seq, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};

use super::params::{ForkParams, NoParams, RewriteParams, SubscribeParams};
use super::rpc::{RpcAnswer, RpcRequest};
use super::{account, call};
use crate::gate::Gate;
use crate::problem::Problem;

/// What a request comes to.
pub(super) enum SocketCall {
    Subscribe { session: SessionId, after: Seq, raw: bool },
    Unsubscribe { session: SessionId },
    Watch { on: bool },
    Ask(BoxFuture<'static, Result<RpcAnswer, Problem>>),
    Bad(Problem),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditPromptParams {
    prompt: PromptId,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelPromptParams {
    prompt: PromptId,
}

/// Which call a request is. Nothing has happened yet.
pub(super) fn dispatch(request: &RpcRequest, gate: &Gate) -> SocketCall {
    find(request, gate.clone()).unwrap_or_else(SocketCall::Bad)
}

fn find(request: &RpcRequest, gate: Gate) -> Result<SocketCall, Problem> {
    let asked = match request.method.as_str() {
        "subscribe" => {
            let (session, SubscribeParams { after, raw }) = request.params_of("session")?;
            return Ok(SocketCall::Subscribe { session, after, raw });
        }
        "unsubscribe" => {
            let (session, NoParams {}) = request.params_of("session")?;
            return Ok(SocketCall::Unsubscribe { session });
        }
        "watch" => {
            let NoParams {} = request.params()?;
            return Ok(SocketCall::Watch { on: true });
        }
        "unwatch" => {
            let NoParams {} = request.params()?;
            return Ok(SocketCall::Watch { on: false });
        }
        "ping" => {
            let NoParams {} = request.params()?;
            async move { value(json!({})) }.boxed()
        }
        "agents" => {
            let params = request.params()?;
            async move { value(call::agents(&gate, params).await?) }.boxed()
        }
        "models" => {
            let params = request.params()?;
            async move { value(call::models(&gate, params).await?) }.boxed()
        }
        "sessions" => {
            let params = request.params()?;
            async move { value(call::sessions(&gate, params).await?) }.boxed()
        }
        "open" => {
            let params = request.params()?;
            async move { value(json!(call::open(&gate, params).await?)) }.boxed()
        }
        "session" => {
            let (session, NoParams {}) = request.params_of("session")?;
            async move { value(json!(gate.session(session).await?)) }.boxed()
        }
        "update" => {
            let (session, params) = request.params_of("session")?;
            async move { value(json!(call::update(&gate, session, params).await?)) }.boxed()
        }
        "prompt" => {
            let (session, params) = request.params_of("session")?;
            async move { value(json!(call::prompt(&gate, session, params).await?)) }.boxed()
        }
        "editPrompt" => {
            let (session, EditPromptParams { prompt, text }) = request.params_of("session")?;
            wish(gate, session, call::rewrite(prompt, RewriteParams { text }))
        }
        "cancelPrompt" => {
            let (session, CancelPromptParams { prompt }) = request.params_of("session")?;
            wish(gate, session, Command::CancelPrompt { prompt })
        }
        "sendQueued" => {
            let (session, params) = request.params_of("session")?;
            wish(gate, session, call::send_queued(&params))
        }
        "discardQueue" => {
            let (session, NoParams {}) = request.params_of("session")?;
            wish(gate, session, Command::DiscardQueue)
        }
        "resume" => {
            let (session, NoParams {}) = request.params_of("session")?;
            wish(gate, session, Command::Resume)
        }
        "resumeAll" => {
            let NoParams {} = request.params()?;
            async move { value(call::resume_all(&gate).await?) }.boxed()
        }
        "release" => {
            let (session, NoParams {}) = request.params_of("session")?;
            async move { value(call::release(&gate, session).await?) }.boxed()
        }
        "deleteHistory" => {
            let (session, NoParams {}) = request.params_of("session")?;
            async move { value(call::erase(&gate, session).await?) }.boxed()
        }
        "interrupt" => {
            let (session, NoParams {}) = request.params_of("session")?;
            wish(gate, session, Command::Interrupt)
        }
        "revive" => {
            let (session, params) = request.params_of("session")?;
            wish(gate, session, call::revive(params))
        }
        "close" => {
            let (session, NoParams {}) = request.params_of("session")?;
            wish(gate, session, Command::Close)
        }
        "fork" => {
            let (session, ForkParams { before }) = request.params_of("session")?;
            async move { value(json!(gate.fork(session, before).await?)) }.boxed()
        }
        "events" => {
            let (session, params) = request.params_of("session")?;
            async move { Ok(RpcAnswer::Json(call::events(&gate, session, params).await?.to_json())) }.boxed()
        }
        "timeline" => {
            let (session, params) = request.params_of("session")?;
            async move { value(call::timeline(&gate, session, params).await?) }.boxed()
        }
        "approvals" => {
            let NoParams {} = request.params()?;
            async move { value(call::inbox(&gate).await?) }.boxed()
        }
        "decide" => {
            let (approval, params) = request.params_of("approval")?;
            async move { value(call::decide(&gate, approval, params).await?) }.boxed()
        }
        "answer" => {
            let (question, params) = request.params_of("question")?;
            async move { value(call::answer(&gate, question, params).await?) }.boxed()
        }
        "import" => {
            let params = request.params()?;
            async move { value(json!(call::import(&gate, params).await?)) }.boxed()
        }
        "importPast" => {
            let NoParams {} = request.params()?;
            async move { value(call::import_past(&gate).await?) }.boxed()
        }
        "handBack" => {
            let (session, NoParams {}) = request.params_of("session")?;
            async move { value(call::hand_back(&gate, session).await?) }.boxed()
        }
        "me" => {
            let NoParams {} = request.params()?;
            async move { value(account::me(gate.caller())) }.boxed()
        }
        "devices" => {
            let NoParams {} = request.params()?;
            async move { value(account::devices(&gate)) }.boxed()
        }
        "revoke" => {
            let (device, NoParams {}) = request.params_of("device")?;
            async move { value(account::revoke(&gate, device).await?) }.boxed()
        }
        "pair" => {
            let params = request.params()?;
            async move { value(account::pair(&gate, params)?) }.boxed()
        }
        "rotateToken" => {
            let NoParams {} = request.params()?;
            async move { value(account::rotate(&gate).await?) }.boxed()
        }
        "presence" => {
            let params = request.params()?;
            async move { value(account::presence(&gate, params)) }.boxed()
        }
        "pushKey" => {
            let NoParams {} = request.params()?;
            async move { value(account::push_key(&gate)) }.boxed()
        }
        "pushSubscribe" => {
            let params = request.params()?;
            async move { value(account::push_subscribe(&gate, params).await?) }.boxed()
        }
        "pushUnsubscribe" => {
            let params = request.params()?;
            async move { value(account::push_unsubscribe(&gate, params).await?) }.boxed()
        }
        "pushTest" => {
            let NoParams {} = request.params()?;
            async move { value(account::push_test(&gate).await?) }.boxed()
        }
        "usage" => {
            let params = request.params()?;
            async move { value(account::usage(&gate, params).await?) }.boxed()
        }
        "machines" => {
            let params = request.params()?;
            async move { value(account::machines(&gate, params).await?) }.boxed()
        }
        "folders" => {
            let params = request.params()?;
            async move { value(account::folders(&gate, params).await?) }.boxed()
        }
        "search" => {
            let params = request.params()?;
            async move { value(call::search(&gate, params).await?) }.boxed()
        }
        other => return Err(Problem::no_method(other)),
    };
    Ok(SocketCall::Ask(asked))
}

fn wish(gate: Gate, session: SessionId, command: Command) -> BoxFuture<'static, Result<RpcAnswer, Problem>> {
    async move { value(json!(call::wish(&gate, session, command).await?)) }.boxed()
}

fn value(value: Value) -> Result<RpcAnswer, Problem> {
    Ok(RpcAnswer::Value(value))
}

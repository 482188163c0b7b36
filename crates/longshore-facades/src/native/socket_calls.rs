//! The methods of the socket: which call each is.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use longshore_model::command::Command;
use longshore_model::id::{PromptId, Seq, SessionId};
use longshore_session::{Hub, HubError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call;
use super::params::{Follow, Nothing, Rewrite};
use super::rpc::{Answer, Request};
use crate::auth::Principal;
use crate::problem::Problem;

/// What a request comes to.
pub(super) enum Call {
    Subscribe { session: SessionId, after: Seq, raw: bool },
    Unsubscribe { session: SessionId },
    Watch { on: bool },
    Ask(BoxFuture<'static, Result<Answer, HubError>>),
    Bad(Problem),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditPrompt {
    prompt: PromptId,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CancelPrompt {
    prompt: PromptId,
}

/// Which call a request is. Nothing has happened yet.
pub(super) fn dispatch(request: &Request, hub: &Hub, by: &Principal) -> Call {
    find(request, hub.clone(), by.clone()).unwrap_or_else(Call::Bad)
}

fn find(request: &Request, hub: Hub, by: Principal) -> Result<Call, Problem> {
    let asked = match request.method.as_str() {
        "subscribe" => {
            let (session, Follow { after, raw }) = request.params_of("session")?;
            return Ok(Call::Subscribe { session, after, raw });
        }
        "unsubscribe" => {
            let (session, Nothing {}) = request.params_of("session")?;
            return Ok(Call::Unsubscribe { session });
        }
        "watch" => {
            let Nothing {} = request.params()?;
            return Ok(Call::Watch { on: true });
        }
        "unwatch" => {
            let Nothing {} = request.params()?;
            return Ok(Call::Watch { on: false });
        }
        "ping" => {
            let Nothing {} = request.params()?;
            async move { value(json!({})) }.boxed()
        }
        "agents" => {
            let Nothing {} = request.params()?;
            async move { value(call::agents(&hub).await?) }.boxed()
        }
        "sessions" => {
            let params = request.params()?;
            async move { value(call::sessions(&hub, params).await?) }.boxed()
        }
        "open" => {
            let params = request.params()?;
            async move { value(json!(call::open(&hub, params, &by).await?)) }.boxed()
        }
        "session" => {
            let (session, Nothing {}) = request.params_of("session")?;
            async move { value(json!(hub.session(session).await?)) }.boxed()
        }
        "update" => {
            let (session, params) = request.params_of("session")?;
            async move { value(json!(call::update(&hub, session, params, &by).await?)) }.boxed()
        }
        "prompt" => {
            let (session, params) = request.params_of("session")?;
            async move { value(json!(call::prompt(&hub, session, params, &by).await?)) }.boxed()
        }
        "editPrompt" => {
            let (session, EditPrompt { prompt, text }) = request.params_of("session")?;
            wish(hub, session, call::rewrite(prompt, Rewrite { text }), by)
        }
        "cancelPrompt" => {
            let (session, CancelPrompt { prompt }) = request.params_of("session")?;
            wish(hub, session, Command::CancelPrompt { prompt }, by)
        }
        "interrupt" => {
            let (session, Nothing {}) = request.params_of("session")?;
            wish(hub, session, Command::Interrupt, by)
        }
        "revive" => {
            let (session, params) = request.params_of("session")?;
            wish(hub, session, call::revive(params), by)
        }
        "close" => {
            let (session, Nothing {}) = request.params_of("session")?;
            wish(hub, session, Command::Close, by)
        }
        "fork" => {
            let (session, Nothing {}) = request.params_of("session")?;
            async move { value(json!(hub.fork(session).await?)) }.boxed()
        }
        "events" => {
            let (session, params) = request.params_of("session")?;
            async move { Ok(Answer::Json(call::events(&hub, session, params).await?.to_json())) }.boxed()
        }
        "timeline" => {
            let (session, params) = request.params_of("session")?;
            async move { value(call::timeline(&hub, session, params).await?) }.boxed()
        }
        "approvals" => {
            let Nothing {} = request.params()?;
            async move { value(call::inbox(&hub).await?) }.boxed()
        }
        "decide" => {
            let (approval, params) = request.params_of("approval")?;
            async move { value(call::decide(&hub, approval, params, &by).await?) }.boxed()
        }
        "answer" => {
            let (question, params) = request.params_of("question")?;
            async move { value(call::answer(&hub, question, params, &by).await?) }.boxed()
        }
        "import" => {
            let params = request.params()?;
            async move { value(json!(call::import(&hub, params).await?)) }.boxed()
        }
        "importPast" => {
            let Nothing {} = request.params()?;
            async move { value(call::import_past(&hub).await?) }.boxed()
        }
        "handBack" => {
            let (session, Nothing {}) = request.params_of("session")?;
            async move { value(call::hand_back(&hub, session).await?) }.boxed()
        }
        "search" => {
            let params = request.params()?;
            async move { value(call::search(&hub, params).await?) }.boxed()
        }
        other => return Err(Problem::no_method(other)),
    };
    Ok(Call::Ask(asked))
}

fn wish(
    hub: Hub,
    session: SessionId,
    command: Command,
    by: Principal,
) -> BoxFuture<'static, Result<Answer, HubError>> {
    async move { value(json!(call::wish(&hub, session, command, &by).await?)) }.boxed()
}

fn value(value: Value) -> Result<Answer, HubError> {
    Ok(Answer::Value(value))
}

//! The methods of the socket: which call each is.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use longshore_model::command::Command;
use longshore_model::id::{PromptId, Seq, SessionId};
use longshore_session::{Hub, HubError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::call;
use super::params::{
    Events, Import, List, Of, OfApproval, OfQuestion, Only, Open, Revive, Rewrite, Say, Search, TimelinePage,
    Update,
};
use crate::auth::Principal;
use crate::problem::Problem;

/// A request of a client.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    #[serde(default)]
    id: Value,
    method: String,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

/// What a request comes to.
pub(super) enum Call {
    Subscribe { session: SessionId, after: Seq, raw: bool },
    Unsubscribe { session: SessionId },
    Watch { on: bool },
    Ask(BoxFuture<'static, Result<Answer, HubError>>),
    Bad(Problem),
}

/// An answer, as a value or as JSON that is there already.
pub(super) enum Answer {
    Value(Value),
    Json(String),
}

impl Request {
    pub(super) fn answer(&self, answer: Result<Answer, HubError>) -> String {
        match answer {
            Ok(Answer::Value(value)) => self.result(&value),
            Ok(Answer::Json(json)) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{json}}}", self.id),
            Err(error) => self.problem(&error.into()),
        }
    }

    pub(super) fn result(&self, result: &Value) -> String {
        json!({ "jsonrpc": "2.0", "id": self.id, "result": result }).to_string()
    }

    /// JSON-RPC wants a number; ours is in `data.code`.
    pub(super) fn problem(&self, problem: &Problem) -> String {
        let code = match problem.code {
            "no_method" => -32601,
            "invalid_request" => -32602,
            _ => -32000,
        };
        let error = json!({ "code": code, "message": problem.title, "data": problem });
        json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string()
    }

    pub(super) fn unreadable(error: &serde_json::Error) -> String {
        let problem = Problem::invalid(format!("this is no JSON-RPC request: {error}"));
        let error = json!({ "code": -32700, "message": problem.title, "data": problem });
        json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string()
    }

    fn params<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let params = self.params.as_ref().map_or("{}", |params| params.get());
        serde_json::from_str(params).map_err(|error| Problem::invalid(format!("{}: {error}", self.method)))
    }
}

#[derive(Deserialize)]
struct OfPrompt<T> {
    prompt: PromptId,
    #[serde(flatten)]
    params: T,
}

/// Which call a request is. Nothing has happened yet.
pub(super) fn dispatch(request: &Request, hub: &Hub, by: &Principal) -> Call {
    find(request, hub.clone(), by.clone()).unwrap_or_else(Call::Bad)
}

fn find(request: &Request, hub: Hub, by: Principal) -> Result<Call, Problem> {
    let asked = match request.method.as_str() {
        "subscribe" => {
            let Of { session, params: Events { after, raw, .. } } = request.params()?;
            return Ok(Call::Subscribe { session, after, raw });
        }
        "unsubscribe" => {
            let Of { session, params: Only {} } = request.params()?;
            return Ok(Call::Unsubscribe { session });
        }
        "watch" => return Ok(Call::Watch { on: true }),
        "unwatch" => return Ok(Call::Watch { on: false }),
        "ping" => async move { value(json!({})) }.boxed(),
        "agents" => async move { value(call::agents(&hub).await?) }.boxed(),
        "sessions" => {
            let params: List = request.params()?;
            async move { value(call::sessions(&hub, params).await?) }.boxed()
        }
        "open" => {
            let params: Open = request.params()?;
            async move { value(json!(call::open(&hub, params, &by).await?)) }.boxed()
        }
        "session" => {
            let Of { session, params: Only {} } = request.params()?;
            async move { value(json!(hub.session(session).await?)) }.boxed()
        }
        "update" => {
            let Of { session, params }: Of<Update> = request.params()?;
            async move { value(json!(call::update(&hub, session, params, &by).await?)) }.boxed()
        }
        "prompt" => {
            let Of { session, params }: Of<Say> = request.params()?;
            async move { value(json!(call::prompt(&hub, session, params, &by).await?)) }.boxed()
        }
        "editPrompt" => {
            let Of { session, params: OfPrompt { prompt, params } }: Of<OfPrompt<Rewrite>> =
                request.params()?;
            wish(hub, session, call::rewrite(prompt, params), by)
        }
        "cancelPrompt" => {
            let Of { session, params: OfPrompt { prompt, params: Only {} } } = request.params()?;
            wish(hub, session, Command::CancelPrompt { prompt }, by)
        }
        "interrupt" => {
            let Of { session, params: Only {} } = request.params()?;
            wish(hub, session, Command::Interrupt, by)
        }
        "revive" => {
            let Of { session, params }: Of<Revive> = request.params()?;
            wish(hub, session, call::revive(params), by)
        }
        "close" => {
            let Of { session, params: Only {} } = request.params()?;
            wish(hub, session, Command::Close, by)
        }
        "fork" => {
            let Of { session, params: Only {} } = request.params()?;
            async move { value(json!(hub.fork(session).await?)) }.boxed()
        }
        "events" => {
            let Of { session, params }: Of<Events> = request.params()?;
            async move { Ok(Answer::Json(call::events(&hub, session, params).await?.to_json())) }.boxed()
        }
        "timeline" => {
            let Of { session, params }: Of<TimelinePage> = request.params()?;
            async move { value(call::timeline(&hub, session, params).await?) }.boxed()
        }
        "approvals" => async move { value(call::inbox(&hub).await?) }.boxed(),
        "decide" => {
            let OfApproval { approval, params } = request.params()?;
            async move { value(call::decide(&hub, approval, params, &by).await?) }.boxed()
        }
        "answer" => {
            let OfQuestion { question, params } = request.params()?;
            async move { value(call::answer(&hub, question, params, &by).await?) }.boxed()
        }
        "import" => {
            let params: Import = request.params()?;
            async move { value(json!(call::import(&hub, params).await?)) }.boxed()
        }
        "search" => {
            let params: Search = request.params()?;
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

//! One call of the hub: its name, its parameters and its answer.
//!
//! The handler of a call gives the types of its parameters and of its answer. HTTP, the socket, OpenAPI and
//! the contract are all made from the call, so every client has the call or none has.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use axum::routing::MethodFilter;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use longshore_model::info::SessionInfo;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::input::CallInput;
use crate::auth::Access;
use crate::gate::Gate;
use crate::outgo::{OutgoAccount, OutgoShare};
use crate::problem::Problem;

/// One call of the hub.
pub struct Call {
    /// The name, which is the method on the socket.
    pub name: &'static str,
    /// The HTTP method.
    pub verb: Verb,
    /// The HTTP path. A name in braces is a parameter.
    pub path: &'static str,
    /// The access that the caller needs. Some parameters need more access; the [`Gate`] decides.
    pub access: Access,
    /// The summary, in one line.
    pub summary: &'static str,
    /// The HTTP status of success.
    pub status: StatusCode,
    /// The types of the parameters and of the answer.
    pub signature: Signature,
    /// Known from the first request on: the schemas of all parameters would slow down the start of the hub.
    members: LazyLock<TakesMembers, Box<dyn FnOnce() -> TakesMembers + Send>>,
    pub(super) stream: Option<StreamHandler>,
    begin: Begin,
}

/// Reads the parameters and makes the call's future. Returns a problem if the parameters are invalid.
type Begin = Box<dyn Fn(Gate, &CallInput<'_>) -> Result<Work, String> + Send + Sync>;

/// A call under way.
pub(super) type Work = BoxFuture<'static, Result<CallResult, Problem>>;

/// Answers with a stream, if the headers ask for one.
pub(super) type StreamHandler =
    fn(Gate, &CallInput<'_>, &HeaderMap) -> Option<BoxFuture<'static, Result<Response, Problem>>>;

/// The result of a call.
pub(super) struct CallResult {
    /// The answer.
    pub(super) json: String,
    /// The path of what the call created.
    pub(super) location: Option<String>,
}

/// Whether a call has parameters that are not in its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakesMembers {
    No,
    Optional,
    Required,
}

/// An HTTP method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read something.
    Get,
    /// Do something.
    Post,
    /// Change something.
    Patch,
    /// Remove something.
    Delete,
}

impl Verb {
    /// The name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "GET",
            Verb::Post => "POST",
            Verb::Patch => "PATCH",
            Verb::Delete => "DELETE",
        }
    }

    pub(super) fn filter(self) -> MethodFilter {
        match self {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
            Verb::Patch => MethodFilter::PATCH,
            Verb::Delete => MethodFilter::DELETE,
        }
    }

    /// Whether this method serves a request. `GET` also serves `HEAD`.
    pub(super) fn takes(self, method: &Method) -> bool {
        method.as_str() == self.name() || (*method == Method::HEAD && self == Verb::Get)
    }
}

/// The types of a call, as JSON Schema.
#[derive(Clone, Copy)]
pub struct Signature {
    /// The name of the parameters' type.
    pub params_name: fn() -> Cow<'static, str>,
    /// The complete schema of the parameters.
    pub params: fn(&mut SchemaGenerator) -> Schema,
    /// The schema of the answer: a reference if the type has a name.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
}

impl Signature {
    pub(super) fn of<P: JsonSchema, A: JsonSchema>() -> Self {
        Self {
            params_name: P::schema_name,
            params: P::json_schema,
            answer: SchemaGenerator::subschema_for::<A>,
        }
    }
}

/// The answer of a call, as JSON.
pub(super) trait JsonAnswer: JsonSchema {
    fn to_json(&self) -> serde_json::Result<String>;
}

impl<T: Serialize + JsonSchema> JsonAnswer for T {
    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

impl Call {
    pub(super) fn new<P, A, W>(
        name: &'static str,
        verb: Verb,
        path: &'static str,
        access: Access,
        handler: impl Fn(Gate, P) -> W + Send + Sync + 'static,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema,
        A: JsonAnswer + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        Self::located(name, verb, path, access, handler, |_| None)
    }

    /// A call that creates a session. Its response also has the path of the session.
    pub(super) fn creating<P, W>(
        name: &'static str,
        path: &'static str,
        access: Access,
        handler: impl Fn(Gate, P) -> W + Send + Sync + 'static,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema,
        W: Future<Output = Result<SessionInfo, Problem>> + Send + 'static,
    {
        let location = |made: &SessionInfo| Some(format!("/api/v1/sessions/{}", made.session_id));
        let call = Self::located(name, Verb::Post, path, access, handler, location);
        Self { status: StatusCode::CREATED, ..call }
    }

    fn located<P, A, W>(
        name: &'static str,
        verb: Verb,
        path: &'static str,
        access: Access,
        handler: impl Fn(Gate, P) -> W + Send + Sync + 'static,
        location: fn(&A) -> Option<String>,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema,
        A: JsonAnswer + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        let begin: Begin = Box::new(move |gate, input| {
            let work = handler(gate, input.read()?);
            Ok(async move {
                let answer = work.await?;
                let json = answer.to_json().map_err(|_| Problem::our_fault())?;
                Ok(CallResult { json, location: location(&answer) })
            }
            .boxed())
        });
        Self {
            name,
            verb,
            path,
            access,
            summary: "",
            status: StatusCode::OK,
            signature: Signature::of::<P, A>(),
            members: LazyLock::new(Box::new(move || TakesMembers::of::<P>(path))),
            stream: None,
            begin,
        }
    }

    /// Sets the summary, in one line.
    pub(super) fn says(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    /// Marks a call that refuses a request without a body, although no member is required: doing something with the
    /// defaults would be more than the caller meant.
    pub(super) fn with_body(self) -> Self {
        Self { members: LazyLock::new(Box::new(|| TakesMembers::Required)), ..self }
    }

    /// Marks a call whose work continues after the answer.
    pub(super) fn accepting(self) -> Self {
        Self { status: StatusCode::ACCEPTED, ..self }
    }

    /// Lets HTTP answer with a stream.
    pub(super) fn streaming(self, stream: StreamHandler) -> Self {
        Self { stream: Some(stream), ..self }
    }

    /// Whether the call has parameters that are not in its path.
    pub(super) fn members(&self) -> TakesMembers {
        *self.members
    }

    /// Reads the parameters. Nothing happens before the returned future is polled.
    pub(super) fn begin(&self, gate: Gate, input: &CallInput<'_>) -> Result<Work, Problem> {
        (self.begin)(gate, input).map_err(|fault| unreadable(self.name, &fault))
    }

    /// Does the work, and finds room for its answer. If there is none, the answer of a call that only reads is dropped,
    /// and made again when there is.
    pub(super) async fn finish(
        &self,
        work: Work,
        again: impl Fn() -> Result<Work, Problem>,
        account: &OutgoAccount,
    ) -> Result<(CallResult, OutgoShare), Problem> {
        let mut share = account.room(0).await;
        let mut result = work.await?;
        while !share.resize(result.json.len()) {
            let bytes = result.json.len();
            if self.verb == Verb::Get {
                drop((share, result));
                share = account.room(bytes).await;
                result = again()?.await?;
            } else {
                drop(share);
                share = account.room(bytes).await;
            }
        }
        Ok((result, share))
    }
}

/// The problem for invalid parameters.
pub(super) fn unreadable(method: &str, fault: &str) -> Problem {
    Problem::invalid(format!("{method}: {fault}"))
}

/// The names in braces of a path.
pub(super) fn path_names(path: &'static str) -> impl Iterator<Item = &'static str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

impl TakesMembers {
    fn of<P: JsonSchema>(path: &'static str) -> Self {
        let schema = P::json_schema(&mut SchemaGenerator::default());
        let in_path = |name: &str| path_names(path).any(|known| known == name);
        let required = schema.get("required").and_then(|names| names.as_array());
        let required = required.into_iter().flatten().filter_map(|name| name.as_str());
        let members = schema.get("properties").and_then(|members| members.as_object());
        match members.into_iter().flatten().any(|(name, _)| !in_path(name)) {
            false => TakesMembers::No,
            true if required.into_iter().all(in_path) => TakesMembers::Optional,
            true => TakesMembers::Required,
        }
    }
}

//! The running model: a handle that the server and its starter share.

use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};
use serde_json::Value;

use super::api::Api;
use super::demand::Demand;
use super::frame::{Delivery, Exchange, ScriptAnswer};
use super::offered_tools::fitted;
use super::player::{LeftStep, ScriptPlayer};
use super::record::{Outcome, Record, RequestEntry, Requests, Ticket, shown_headers};
use super::step::{RequestCue, Script};

/// The listed model of a script that names none.
const DEFAULT_MODEL: &str = "scripted";

/// A scripted model. Clones are handles to the same model, so a test can push steps and read requests while a server
/// serves it.
#[derive(Debug, Clone)]
pub struct Model {
    shared: Arc<SharedModel>,
}

#[derive(Debug)]
struct SharedModel {
    play: Mutex<Playing>,
    answers: AtomicU64,
    record: Arc<Record>,
}

#[derive(Debug)]
struct Playing {
    player: ScriptPlayer,
    models: Vec<String>,
    insists: Vec<Demand>,
}

/// The answer that a request asks for.
pub(super) struct AnswerSpec {
    pub(super) api: Api,
    /// The requested model.
    pub(super) model: Option<String>,
    pub(super) delivery: Delivery,
}

/// The recorded parts of an HTTP request.
pub(super) struct RequestHead {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    /// The length of the body on the wire; 0 until the server has read the body.
    pub(super) size: usize,
}

impl<S: Sync> FromRequestParts<S> for RequestHead {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(RequestHead {
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
            size: 0,
        })
    }
}

impl Model {
    /// A model at the beginning of a script.
    pub fn new(script: Script) -> Self {
        Model::recorded(script, Record::default())
    }

    /// A model that also appends every request to a file, as a line of JSON.
    pub fn with_log(script: Script, path: impl AsRef<Path>) -> std::io::Result<Self> {
        let record = Record::with_file(path.as_ref())?;
        Ok(Model::recorded(script, record))
    }

    fn recorded(script: Script, record: Record) -> Self {
        Model {
            shared: Arc::new(SharedModel {
                play: Mutex::new(Playing::new(script)),
                answers: AtomicU64::new(0),
                record: Arc::new(record),
            }),
        }
    }

    /// Replaces the remaining script.
    pub fn replace(&self, script: Script) {
        *self.lock() = Playing::new(script);
    }

    /// Appends the steps of a script to the remaining steps. The names of the models stay.
    pub fn push(&self, script: Script) {
        self.lock().player.push(script);
    }

    /// The steps that are not used up.
    pub fn left(&self) -> Vec<LeftStep> {
        self.lock().player.left()
    }

    /// The requests so far.
    pub fn requests(&self) -> Requests {
        self.shared.record.requests()
    }

    /// Waits until the requests meet a condition, and returns them: a test waits for the agent's requests,
    /// not for time to pass.
    pub async fn requests_when(&self, condition: impl Fn(&Requests) -> bool) -> Requests {
        let mut changes = self.shared.record.changes();
        loop {
            let requests = self.requests();
            // The sender lives in `self`, so the wait cannot fail. If it did, no further change could come.
            if condition(&requests) || changes.changed().await.is_err() {
                return requests;
            }
        }
    }

    /// The names of the listed models.
    pub fn names(&self) -> Vec<String> {
        self.lock().models.clone()
    }

    /// Answers a request in an API: chooses the step, records both, and renders the answer.
    pub(super) fn answer(
        &self,
        spec: AnswerSpec,
        head: &RequestHead,
        request: Value,
    ) -> (ScriptAnswer, Ticket) {
        let api = spec.api;
        let (text, results) = (api.last_user_text(&request), api.last_results(&request));
        let insists = self.lock().insists.clone();
        let refusal = |demand: Demand| Some((demand.status(), demand.refuses(api, &request)?));
        if let Some((status, why)) = insists.into_iter().find_map(refusal) {
            let headers = HeaderMap::new();
            let body = api.error_body(status, why);
            let answer = ScriptAnswer::Plain { status, headers, before: Vec::new(), body };
            return (answer, self.record(head, request, None, None));
        }
        let heard = RequestCue { text: &text, results: &results, tools: api.offers_tools(&request) };
        let chosen = self.lock().player.next(&heard);
        if chosen.number.is_none() {
            tracing::warn!(path = head.uri.path(), "no step is left for this request");
        }
        let exchange = Exchange {
            number: self.shared.answers.fetch_add(1, Ordering::Relaxed) + 1,
            model: spec.model.unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            created_at: now().as_second(),
            delivery: spec.delivery,
        };
        tracing::debug!(answer = exchange.number, step = chosen.number, "playing a step");
        let answer = api.render(&fitted(&chosen.step, api, &request), &exchange);
        let note = chosen.step.note.clone();
        (answer, self.record(head, request, chosen.number, note))
    }

    /// Records a request. The ticket notes the end of its answer.
    pub(super) fn record(
        &self,
        head: &RequestHead,
        body: Value,
        step: Option<usize>,
        note: Option<String>,
    ) -> Ticket {
        let entry = RequestEntry {
            number: 0,
            at: now().to_string(),
            method: head.method.to_string(),
            path: head.uri.path().to_owned(),
            headers: shown_headers(&head.headers),
            body: Arc::new(body),
            step,
            note,
            outcome: Outcome::Playing,
        };
        let number = self.shared.record.add(entry, head.size);
        Ticket::new(Arc::clone(&self.shared.record), number)
    }

    fn lock(&self) -> MutexGuard<'_, Playing> {
        self.shared.play.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Playing {
    fn new(mut script: Script) -> Self {
        let mut models = std::mem::take(&mut script.models);
        if models.is_empty() {
            models.push(DEFAULT_MODEL.to_owned());
        }
        let insists = std::mem::take(&mut script.insists);
        Playing { player: ScriptPlayer::new(script), models, insists }
    }
}

/// The one place where the scripted model reads the clock.
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

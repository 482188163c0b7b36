//! The routes of the model APIs, each a thin shell around the model.

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::api::Api;
use super::frame::{Delivery, ScriptAnswer};
use super::model::{AnswerSpec, Model, RequestHead};
use super::record::{Outcome, Ticket};
use super::server::Serving;
use super::stream;

/// How many bytes of a body that is no JSON are recorded.
const SHOWN_GARBAGE: usize = 1024;
/// The header that identifies clients of Anthropic's API on shared paths.
const ANTHROPIC_VERSION: &str = "anthropic-version";

/// The routes. The routes of OpenAI and Anthropic also work without `/v1`, because some agents do not add it to their
/// base address.
pub(super) fn of_the_apis() -> Router<Serving> {
    let asks = |api: Api| {
        post(move |State(serving): State<Serving>, head: RequestHead, body| async move {
            respond(serving, api, head, body).await
        })
    };
    let mut routes = Router::new();
    for prefix in ["", "/v1"] {
        routes = routes
            .route(&format!("{prefix}/responses"), asks(Api::Responses))
            .route(&format!("{prefix}/chat/completions"), asks(Api::Chat))
            .route(&format!("{prefix}/messages"), asks(Api::Messages))
            .route(&format!("{prefix}/messages/count_tokens"), post(count_for_messages))
            .route(&format!("{prefix}/models"), get(models));
    }
    routes
        .route("/v1beta/models", get(gemini_models))
        .route("/v1beta/models/{call}", post(gemini))
        .route("/", get(present))
        .fallback(unknown)
}

async fn respond(
    serving: Serving,
    api: Api,
    head: RequestHead,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let (head, request) = match read(&serving.model, api, head, body) {
        Ok(read) => read,
        Err(refusal) => return *refusal,
    };
    let model = request["model"].as_str().map(str::to_owned);
    let spec = AnswerSpec { api, model, delivery: api.delivery(&request) };
    let (answer, ticket) = serving.model.answer(spec, &head, request);
    play(answer, serving.stop, ticket)
}

/// Answers a request of Gemini, whose path has the model and the verb: `gemini-2.5-flash:streamGenerateContent`.
async fn gemini(
    State(serving): State<Serving>,
    Path(call): Path<String>,
    head: RequestHead,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let (model, verb) = call.rsplit_once(':').unwrap_or((&call, ""));
    let delivery = match verb {
        "streamGenerateContent" => Delivery::Stream { usage: true },
        "generateContent" => Delivery::Whole,
        "countTokens" => return count(&serving, Api::Gemini, head, body, "totalTokens"),
        _ => return unknown(State(serving), head).await,
    };
    let (head, request) = match read(&serving.model, Api::Gemini, head, body) {
        Ok(read) => read,
        Err(refusal) => return *refusal,
    };
    let spec = AnswerSpec { api: Api::Gemini, model: Some(model.to_owned()), delivery };
    let (answer, ticket) = serving.model.answer(spec, &head, request);
    play(answer, serving.stop, ticket)
}

/// Parses the JSON of a request. The error is an answer in the form of the API.
fn read(
    model: &Model,
    api: Api,
    mut head: RequestHead,
    body: Result<Bytes, BytesRejection>,
) -> Result<(RequestHead, Value), Box<Response>> {
    let refused = |head: &RequestHead, shown: Value, status: StatusCode, why: &str| {
        Box::new(refuse(model, api, head, shown, status, why))
    };
    let bytes = match body {
        Ok(bytes) => bytes,
        Err(rejection) => {
            return Err(refused(&head, Value::Null, rejection.status(), &rejection.body_text()));
        }
    };
    head.size = bytes.len();
    if head.headers.contains_key(CONTENT_ENCODING) {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(refused(&head, Value::Null, status, "send the body uncompressed"));
    }
    match serde_json::from_slice(&bytes) {
        Ok(request) => Ok((head, request)),
        Err(fault) => {
            let shown = &bytes[..bytes.len().min(SHOWN_GARBAGE)];
            let shown = json!(String::from_utf8_lossy(shown));
            let why = format!("the body is not JSON: {fault}");
            Err(refused(&head, shown, StatusCode::BAD_REQUEST, &why))
        }
    }
}

fn play(answer: ScriptAnswer, stop: watch::Receiver<bool>, mut ticket: Ticket) -> Response {
    match answer {
        ScriptAnswer::Stream { headers, frames } => {
            let mut response = Response::new(stream::body(frames, None, stop, ticket));
            let all = response.headers_mut();
            all.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            all.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            all.extend(headers);
            response
        }
        ScriptAnswer::Plain { status, headers, before, body } => {
            let (kind, text) = match body {
                Value::String(text) => (None, text),
                json => (Some(HeaderValue::from_static("application/json")), json.to_string()),
            };
            let body = match before.is_empty() {
                true => {
                    ticket.ends(Outcome::Played);
                    Body::from(text)
                }
                false => stream::body(before, Some(text.into()), stop, ticket),
            };
            let mut response = Response::new(body);
            *response.status_mut() = status;
            let all = response.headers_mut();
            all.extend(kind.map(|kind| (CONTENT_TYPE, kind)));
            all.extend(headers);
            response
        }
    }
}

async fn count_for_messages(
    State(serving): State<Serving>,
    head: RequestHead,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    count(&serving, Api::Messages, head, body, "input_tokens")
}

/// Counts the tokens of a request, without using a step. An estimate is enough for agents that watch their budget.
fn count(
    serving: &Serving,
    api: Api,
    head: RequestHead,
    body: Result<Bytes, BytesRejection>,
    key: &str,
) -> Response {
    const BYTES_PER_TOKEN: usize = 4;
    match read(&serving.model, api, head, body) {
        Ok((head, request)) => {
            let tokens = head.size / BYTES_PER_TOKEN;
            note(&serving.model, &head, request);
            Json(json!({ key: tokens })).into_response()
        }
        Err(refusal) => *refusal,
    }
}

async fn models(State(serving): State<Serving>, head: RequestHead) -> Json<Value> {
    note(&serving.model, &head, Value::Null);
    let names = serving.model.names();
    Json(match head.headers.contains_key(ANTHROPIC_VERSION) {
        true => {
            let entry = |name: &String| {
                let since = "1970-01-01T00:00:00Z";
                json!({"type": "model", "id": name, "display_name": name, "created_at": since})
            };
            let data: Vec<Value> = names.iter().map(entry).collect();
            json!({"data": data, "has_more": false, "first_id": names.first(), "last_id": names.last()})
        }
        false => {
            let entry = |name| json!({"id": name, "object": "model", "created": 0, "owned_by": "script"});
            let data: Vec<Value> = names.iter().map(entry).collect();
            json!({"object": "list", "data": data})
        }
    })
}

async fn gemini_models(State(serving): State<Serving>, head: RequestHead) -> Json<Value> {
    note(&serving.model, &head, Value::Null);
    let entry = |name| {
        let methods = ["generateContent", "countTokens"];
        json!({"name": format!("models/{name}"), "displayName": name, "supportedGenerationMethods": methods})
    };
    let models: Vec<Value> = serving.model.names().into_iter().map(entry).collect();
    Json(json!({"models": models}))
}

/// Answers agents that check for a server before their first request.
async fn present(State(serving): State<Serving>, head: RequestHead) -> &'static str {
    note(&serving.model, &head, Value::Null);
    "a scripted model\n"
}

async fn unknown(State(serving): State<Serving>, head: RequestHead) -> Response {
    let why = format!("the scripted model does not know {}", head.uri.path());
    refuse(&serving.model, Api::Responses, &head, Value::Null, StatusCode::NOT_FOUND, &why)
}

/// Records a request that no step answers.
fn note(model: &Model, head: &RequestHead, body: Value) {
    let mut ticket = model.record(head, body, None, None);
    ticket.ends(Outcome::Played);
}

/// Refuses a request that no step can answer. The record shows what the agent wanted.
fn refuse(
    model: &Model,
    api: Api,
    head: &RequestHead,
    shown: Value,
    status: StatusCode,
    why: &str,
) -> Response {
    tracing::warn!(path = head.uri.path(), status = status.as_u16(), why, "refused a request");
    note(model, head, shown);
    error(api, status, why)
}

/// An error in the form of an API.
pub(super) fn error(api: Api, status: StatusCode, message: &str) -> Response {
    (status, Json(api.error_body(status, message))).into_response()
}

//! The server: routes on loopback, each a thin shell around the model.

use std::future::Future;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::api::Api;
use super::frame::Answer;
use super::model::{Asked, Model};
use super::record::{Outcome, Requests, Ticket};
use super::step::Script;
use super::stream;

/// The largest request body. Agents send their whole history with every request, images in it.
pub const BODY_LIMIT: usize = 32 * 1024 * 1024;
/// How long a stop waits for connections that do not read what they asked for.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// How much of a body that is not JSON is recorded.
const SHOWN_GARBAGE: usize = 1024;

/// Serves a script until `shutdown`, with every request appended to `log` as a line of JSON. The listener must
/// be on loopback.
pub async fn serve(
    listener: TcpListener,
    script: Script,
    log: Option<PathBuf>,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let model = match &log {
        Some(path) => Model::with_log(script, path)
            .with_context(|| format!("cannot write requests to {}", path.display()))?,
        None => Model::new(script),
    };
    model.serve(listener, shutdown).await
}

impl Model {
    /// Serves this model until `shutdown`. Streams that still play then are cut.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> anyhow::Result<()> {
        let address = listener.local_addr().context("the listener has no address")?;
        // Whoever reaches it decides what the agents on this machine do.
        anyhow::ensure!(
            address.ip().is_loopback(),
            "the scripted model serves loopback only, not {address}; listen on 127.0.0.1"
        );
        let (stop, mut stopped) = watch::channel(false);
        let router = router(Serving { model: self, stop: stopped.clone() });
        let listener = listener.tap_io(|connection| {
            // Without this, the kernel would hold back small deltas and spoil the script's pace.
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "a connection keeps its delay");
            }
        });
        let served = axum::serve(listener, router).with_graceful_shutdown(async move {
            shutdown.await;
            stop.send_replace(true);
        });
        let given_up = async {
            stream::stopped(&mut stopped).await;
            tokio::time::sleep(STOP_GRACE).await;
        };
        tokio::select! {
            result = served.into_future() => result.context("the scripted model stopped serving"),
            () = given_up => Ok(()),
        }
    }
}

#[derive(Clone)]
struct Serving {
    model: Model,
    stop: watch::Receiver<bool>,
}

fn router(serving: Serving) -> Router {
    Router::new()
        .route("/v1/responses", post(respond))
        .route("/responses", post(respond))
        .route("/v1/models", get(models))
        .route("/models", get(models))
        .route("/_script", post(replace_script))
        .route("/_push", post(push_steps))
        .route("/_requests", get(requests))
        .route("/_left", get(left))
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(refuse_browsers))
        .with_state(serving)
}

/// A page in a browser of this machine can reach loopback too, and what it posted here would steer an agent.
/// Agents and tests send no `Origin` and ask for a loopback `Host`.
async fn refuse_browsers(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let foreign_host = headers.get(HOST).is_some_and(|host| !is_loopback(host));
    if foreign_host || headers.contains_key(ORIGIN) {
        let why = "only programs on this machine may ask: no Origin header, and a loopback Host";
        return error(StatusCode::FORBIDDEN, why);
    }
    next.run(request).await
}

fn is_loopback(host: &HeaderValue) -> bool {
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return false;
    };
    let name = authority.host().trim_matches(['[', ']']);
    let address = name.parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

async fn respond(
    State(serving): State<Serving>,
    mut asked: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let bytes = match body {
        Ok(bytes) => bytes,
        Err(rejection) => {
            let (status, why) = (rejection.status(), rejection.body_text());
            return refuse(&serving.model, &asked, Value::Null, status, &why);
        }
    };
    asked.size = bytes.len();
    if asked.headers.contains_key(CONTENT_ENCODING) {
        let (status, why) = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "send the body uncompressed");
        return refuse(&serving.model, &asked, Value::Null, status, why);
    }
    match serde_json::from_slice(&bytes) {
        Ok(request) => {
            let (answer, ticket) = serving.model.answer(Api::Responses, &asked, request);
            play(answer, serving.stop, ticket)
        }
        Err(fault) => {
            let shown = &bytes[..bytes.len().min(SHOWN_GARBAGE)];
            let shown = json!(String::from_utf8_lossy(shown));
            let why = format!("the body is not JSON: {fault}");
            refuse(&serving.model, &asked, shown, StatusCode::BAD_REQUEST, &why)
        }
    }
}

fn play(answer: Answer, stop: watch::Receiver<bool>, mut ticket: Ticket) -> Response {
    match answer {
        Answer::Stream { headers, frames } => {
            let mut response = Response::new(stream::body(frames, stop, ticket));
            let all = response.headers_mut();
            all.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            all.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            all.extend(headers);
            response
        }
        Answer::Plain { status, headers, body } => {
            ticket.ends(Outcome::Played);
            let mut response = match body {
                Value::String(text) => Response::new(Body::from(text)),
                json => Json(json).into_response(),
            };
            *response.status_mut() = status;
            response.headers_mut().extend(headers);
            response
        }
    }
}

async fn models(State(serving): State<Serving>, asked: Asked) -> Json<Value> {
    let mut ticket = serving.model.record(&asked, Value::Null, None, None);
    ticket.ends(Outcome::Played);
    let entry = |name| json!({"id": name, "object": "model", "created": 0, "owned_by": "script"});
    let data: Vec<Value> = serving.model.names().into_iter().map(entry).collect();
    Json(json!({"object": "list", "data": data}))
}

async fn unknown(State(serving): State<Serving>, asked: Asked) -> Response {
    let why = format!("the scripted model does not know {}", asked.uri.path());
    refuse(&serving.model, &asked, Value::Null, StatusCode::NOT_FOUND, &why)
}

async fn replace_script(State(serving): State<Serving>, text: String) -> Response {
    steer(&text, |script| serving.model.replace(script))
}

async fn push_steps(State(serving): State<Serving>, text: String) -> Response {
    steer(&text, |script| serving.model.push(script))
}

fn steer(text: &str, apply: impl FnOnce(Script)) -> Response {
    match Script::parse(text) {
        Ok(script) => {
            let steps = script.steps.len();
            apply(script);
            Json(json!({"steps": steps})).into_response()
        }
        Err(fault) => error(StatusCode::BAD_REQUEST, &fault.to_string()),
    }
}

async fn requests(State(serving): State<Serving>) -> Json<Requests> {
    Json(serving.model.requests())
}

async fn left(State(serving): State<Serving>) -> Json<Value> {
    Json(json!({"steps": serving.model.left()}))
}

/// Answers a request that no step can answer, and records it: it tells what an agent wanted.
fn refuse(model: &Model, asked: &Asked, shown: Value, status: StatusCode, why: &str) -> Response {
    tracing::warn!(path = asked.uri.path(), status = status.as_u16(), why, "refused a request");
    let mut ticket = model.record(asked, shown, None, None);
    ticket.ends(Outcome::Played);
    error(status, why)
}

fn error(status: StatusCode, message: &str) -> Response {
    let body = json!({"error": {"message": message, "type": "invalid_request_error"}});
    (status, Json(body)).into_response()
}

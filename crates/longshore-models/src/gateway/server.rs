//! The routes of the gateway, on loopback.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use futures_util::stream;
use longshore_model::service::ModelApi;
use serde_json::json;
use tokio::net::TcpListener;

use super::answer::{Exchange, GatewayAnswer};
use super::model_request::read;
use super::refusal::GatewayRefusal;
use super::upstream::{GatewayError, Reading, Upstream};
use crate::loopback::{self, ServeError};
use crate::script::{BODY_LIMIT, refuse_browsers};

/// How long the client may get nothing while the service is silent: some clients treat silence as the end.
const PULSE: Duration = Duration::from_secs(15);
/// A comment, which every reader of server-sent events skips.
const STILL_THERE: &[u8] = b": still there\n\n";

/// The APIs of models on top of a service that speaks one of them.
#[derive(Clone)]
pub struct Gateway {
    upstream: Arc<Upstream>,
    /// The first part of all answers' ids. A number follows.
    stem: u32,
    answers: Arc<AtomicU64>,
    pulse: Duration,
}

impl Gateway {
    /// A gateway on top of the service at `url`, with this key or with the keys of the clients.
    pub fn new(url: &str, api: ModelApi, key: Option<String>) -> Result<Self, GatewayError> {
        let upstream = Arc::new(Upstream::new(url, api, key)?);
        let stem = getrandom::u32().map_err(GatewayError::NoRandomness)?;
        Ok(Self { upstream, stem, answers: Arc::default(), pulse: PULSE })
    }

    /// Sets the time after which a client of a silent service gets a comment.
    #[must_use]
    pub fn with_pulse(self, pulse: Duration) -> Self {
        Self { pulse, ..self }
    }

    /// Serves until `shutdown`. The listener must be on loopback, because every client of the gateway uses
    /// the key.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        loopback::serve("the gateway", listener, router(self), shutdown).await
    }

    fn exchange(&self) -> Exchange {
        let number = self.answers.fetch_add(1, Ordering::Relaxed) + 1;
        Exchange { id: format!("{:08x}_{number}", self.stem), created_at: jiff::Timestamp::now().as_second() }
    }
}

type BodyResult = Result<Bytes, BytesRejection>;

fn router(gateway: Gateway) -> Router {
    let asks = |api: ModelApi| {
        post(
            move |State(gateway): State<Gateway>, uri: Uri, headers: HeaderMap, body: BodyResult| async move {
                let answered = respond(&gateway, api, &uri, &headers, body).await;
                answered.unwrap_or_else(|refusal| refusal.response(api))
            },
        )
    };
    let mut routes = Router::new();
    for prefix in ["", "/v1"] {
        routes = routes
            .route(&format!("{prefix}/responses"), asks(ModelApi::Responses))
            .route(&format!("{prefix}/chat/completions"), asks(ModelApi::Chat))
            .route(&format!("{prefix}/messages"), asks(ModelApi::Messages))
            .route(&format!("{prefix}/messages/count_tokens"), post(count))
            .route(&format!("{prefix}/models"), get(models))
            .route(&format!("{prefix}/models/{{id}}"), get(models));
    }
    routes
        .route("/", get(|| async { "a gateway to a model\n" }))
        .fallback(unknown)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(middleware::from_fn(refuse_browsers))
        .with_state(gateway)
}

async fn respond(
    gateway: &Gateway,
    api: ModelApi,
    uri: &Uri,
    headers: &HeaderMap,
    body: BodyResult,
) -> Result<Response, GatewayRefusal> {
    let body = taken(body)?;
    let upstream = &gateway.upstream;
    if api == upstream.api() {
        return upstream.pass(Method::POST, &below(uri), headers, body).await;
    }
    if headers.contains_key(CONTENT_ENCODING) {
        let why = "send the body uncompressed: it is translated here";
        return Err(GatewayRefusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let request = read(api, &body)?;
    drop(body);
    tracing::debug!(model = request.request.model, streamed = request.streamed, "a request is translated");
    let streamed = request.streamed;
    let mut reading = upstream.ask(headers, &request).await?;
    let mut answer = GatewayAnswer::new(api, upstream.service.clone(), request, gateway.exchange());
    if streamed {
        let writing = Writing { answer, reading, pulse: gateway.pulse };
        let body = Body::from_stream(stream::unfold(writing, Writing::next));
        let kind = HeaderValue::from_static("text/event-stream");
        let fresh = HeaderValue::from_static("no-cache");
        return Ok(([(CONTENT_TYPE, kind), (CACHE_CONTROL, fresh)], body).into_response());
    }
    loop {
        let events = reading.next().await;
        if events.is_empty() {
            return Ok(Json(answer.whole()?).into_response());
        }
        events.into_iter().for_each(|event| answer.tell(event));
        // The answer is not streamed, so its frames have no reader.
        drop(answer.frames());
    }
}

/// An answer on its way from the service's stream to the client's stream. The gateway reads the next piece when the
/// client has taken the previous one.
struct Writing {
    answer: GatewayAnswer,
    reading: Reading,
    pulse: Duration,
}

impl Writing {
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        loop {
            let frames = self.answer.frames();
            if !frames.is_empty() {
                return Some((Ok(frames.into()), self));
            }
            let Ok(events) = tokio::time::timeout(self.pulse, self.reading.next()).await else {
                return Some((Ok(Bytes::from_static(STILL_THERE)), self));
            };
            if events.is_empty() {
                return None;
            }
            events.into_iter().for_each(|event| self.answer.tell(event));
        }
    }
}

fn taken(body: BodyResult) -> Result<Bytes, GatewayRefusal> {
    body.map_err(|rejection| GatewayRefusal::new(rejection.status(), rejection.body_text()))
}

/// The part of an address below the service's own address, which contains the version.
fn below(uri: &Uri) -> String {
    let all = uri.path_and_query().map_or("", |all| all.as_str());
    let below = all.strip_prefix("/v1").filter(|rest| rest.starts_with('/')).unwrap_or(all);
    below.to_owned()
}

async fn models(State(gateway): State<Gateway>, uri: Uri, headers: HeaderMap) -> Response {
    let passed = gateway.upstream.pass(Method::GET, &below(&uri), &headers, Bytes::new()).await;
    passed.unwrap_or_else(|refusal| refusal.response(ModelApi::Responses))
}

/// Counts the tokens of a request. If the service cannot count, an estimate is enough for agents that watch their
/// budget.
async fn count(State(gateway): State<Gateway>, uri: Uri, headers: HeaderMap, body: BodyResult) -> Response {
    const BYTES_PER_TOKEN: usize = 4;
    let counted = async {
        let body = taken(body)?;
        match gateway.upstream.api() {
            ModelApi::Messages => gateway.upstream.pass(Method::POST, &below(&uri), &headers, body).await,
            ModelApi::Chat | ModelApi::Responses => {
                Ok(Json(json!({ "input_tokens": body.len() / BYTES_PER_TOKEN })).into_response())
            }
        }
    };
    counted.await.unwrap_or_else(|refusal| refusal.response(ModelApi::Messages))
}

async fn unknown(uri: Uri) -> Response {
    let why = format!(
        "the gateway does not know {}; it serves /v1/responses, /v1/chat/completions, /v1/messages and /v1/models",
        uri.path()
    );
    GatewayRefusal::new(StatusCode::NOT_FOUND, why).response(ModelApi::Responses)
}

//! The service over HTTP: a request goes out, a stream of events comes in.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use longshore_model::service::ModelApi;
use reqwest::Client;
use tokio::time::Instant;

use super::model_request::ModelRequest;
use super::refusal::GatewayRefusal;
use super::sealed::Service;
use crate::api::{Event, Failure, FailureKind, SharedStrict, Stream, Strict};
use crate::http::{self, NoAddress, Redirected};

/// How long the connection to the service may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// How long the service may be silent. A large model on a small machine reads for long before its first word.
const PATIENCE: Duration = Duration::from_secs(600);
/// The setting with the address of the service.
const SETTING: &str = "--upstream";
/// How many bytes of a refusal the gateway reads.
const REFUSAL_BYTES: usize = 1 << 20;
/// Headers for one connection only. The gateway does not pass them on.
const OF_THE_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// The reason why there is no gateway to a service.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The address is invalid, or has a query.
    #[error(transparent)]
    NoAddress(#[from] NoAddress),
    /// The HTTP client cannot be built.
    #[error("cannot speak HTTP: {0}")]
    Http(#[source] reqwest::Error),
    /// The system returned no random number.
    #[error("the system gives no random number: {0}")]
    NoRandomness(#[source] getrandom::Error),
}

/// A service, with the way to speak to it.
pub(super) struct Upstream {
    client: Client,
    pub(super) service: Service,
    base: String,
    key: Option<String>,
    learnt: SharedStrict,
}

impl Upstream {
    pub(super) fn new(url: &str, api: ModelApi, key: Option<String>) -> Result<Self, GatewayError> {
        let base = http::service_address(url)?;
        let client = http::client(CONNECT_WITHIN).build().map_err(GatewayError::Http)?;
        let service = Service::new(api, url);
        Ok(Self { client, service, base, key, learnt: SharedStrict::default() })
    }

    /// The API of the service.
    pub(super) fn api(&self) -> ModelApi {
        self.service.api
    }

    /// Sends a request in the service's own API, for a client with these headers. Returns when the answer begins.
    pub(super) async fn ask(
        &self,
        client: &HeaderMap,
        model_request: &ModelRequest,
    ) -> Result<Reading, GatewayRefusal> {
        let mut strict = self.learnt.known();
        loop {
            match self.ask_once(client, model_request, strict).await {
                Ok(reading) => return Ok(reading),
                Err(refusal) => {
                    let Some(more) = strict.after(&refusal.failure) else { return Err(refusal) };
                    self.learnt.learn(more);
                    strict = more;
                }
            }
        }
    }

    async fn ask_once(
        &self,
        client: &HeaderMap,
        model_request: &ModelRequest,
        strict: Strict,
    ) -> Result<Reading, GatewayRefusal> {
        let url = format!("{}{}", self.base, self.api().path());
        let body = model_request.body_for(&self.service, strict);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        self.sign(client, &mut headers);
        let request = self.client.post(url).headers(headers).body(body);
        let response = self.sent(request, self.api().path()).await?;
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        if let Some(told) = http::web_page(&response, SETTING) {
            return Err(Failure::new(FailureKind::Refused, told).into());
        }
        let stream = Stream::offering(self.api(), &model_request.request.tools);
        let begun = Vec::new();
        let mut reading = Reading { response, stream, begun, heard: Instant::now(), over: false };
        reading.begun = reading.next().await;
        // Before the first event, a failure becomes a refusal.
        let failed = |event: &Event<'static>| match event {
            Event::Failed(failure) => Some(failure.clone()),
            _ => None,
        };
        match reading.begun.iter().find_map(failed) {
            Some(failure) => Err(failure.into()),
            None => Ok(reading),
        }
    }

    /// Passes on a request and its answer unchanged.
    pub(super) async fn pass(
        &self,
        method: Method,
        path: &str,
        client: &HeaderMap,
        body: Bytes,
    ) -> Result<Response, GatewayRefusal> {
        let mut headers = of_the_ends(client);
        headers.remove(HOST);
        headers.remove(CONTENT_LENGTH);
        if self.key.is_some() {
            headers.remove(AUTHORIZATION);
            headers.remove(X_API_KEY);
            self.sign(client, &mut headers);
        }
        let request = self.client.request(method, format!("{}{path}", self.base)).headers(headers).body(body);
        let answered = self.sent(request, path).await?;
        let (status, headers) = (answered.status(), of_the_ends(answered.headers()));
        let mut response = Response::new(Body::from_stream(answered.bytes_stream()));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }

    async fn sent(
        &self,
        request: reqwest::RequestBuilder,
        path: &str,
    ) -> Result<reqwest::Response, GatewayRefusal> {
        let sent = tokio::time::timeout(PATIENCE, request.send()).await.map_err(|_| silent())?;
        let answer = sent.map_err(|error| self.unreachable(&error, path))?;
        match Redirected::of_answer(&answer) {
            Some(redirected) => Err(Failure::new(FailureKind::Refused, redirected.told(SETTING, "")).into()),
            None => Ok(answer),
        }
    }

    /// Adds the key in the header that the service needs: the gateway's own key or, without one, the client's key.
    fn sign(&self, client: &HeaderMap, headers: &mut HeaderMap) {
        if self.api() == ModelApi::Messages {
            headers.insert(ANTHROPIC_VERSION, client.get(ANTHROPIC_VERSION).cloned().unwrap_or(VERSION));
        }
        let key = self.key.clone().or_else(|| key_of(client));
        let carried = key.and_then(|key| match self.api() {
            ModelApi::Chat | ModelApi::Responses => {
                Some((AUTHORIZATION, HeaderValue::try_from(format!("Bearer {key}")).ok()?))
            }
            ModelApi::Messages => Some((X_API_KEY, HeaderValue::try_from(key).ok()?)),
        });
        if let Some((name, mut value)) = carried {
            value.set_sensitive(true);
            headers.insert(name, value);
        }
    }

    /// Why the service cannot be reached, with all causes: the outermost error only says that the request failed.
    fn unreachable(&self, error: &reqwest::Error, path: &str) -> Failure {
        if let Some(redirected) = Redirected::of_error(error) {
            return Failure::new(
                FailureKind::Refused,
                redirected.told(SETTING, path.split('?').next().unwrap_or(path)),
            );
        }
        let mut words = vec![format!("the model's service at {} cannot be reached", self.base)];
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
        while let Some(inner) = cause {
            words.push(inner.to_string());
            cause = inner.source();
        }
        words.dedup();
        Failure::new(FailureKind::Network, words.join(": "))
    }
}

/// The key of a client, from either header.
fn key_of(client: &HeaderMap) -> Option<String> {
    let text = |name: HeaderName| client.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    text(X_API_KEY).or(bearer).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty())
}

fn of_the_ends(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    OF_THE_CONNECTION.iter().for_each(|name| drop(headers.remove(*name)));
    headers
}

fn silent() -> Failure {
    let seconds = PATIENCE.as_secs();
    Failure::new(FailureKind::Network, format!("the model's service has been silent for {seconds} s"))
}

/// The refusal in an answer that is no success.
async fn refused(mut response: reqwest::Response) -> GatewayRefusal {
    let status = response.status();
    let said = |name: HeaderName| response.headers().get(&name).cloned().map(|value| (name, value));
    let headers: Vec<_> = [RETRY_AFTER, RETRY_AFTER_MS].into_iter().filter_map(said).collect();
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() > REFUSAL_BYTES {
                break;
            }
        }
    };
    // After the timeout, the part that arrived is used.
    let _ = tokio::time::timeout(CONNECT_WITHIN, reading).await;
    let failure = Failure::of_answer(status.as_u16(), &String::from_utf8_lossy(&body), None);
    let headers = if headers.is_empty() { GatewayRefusal::in_header(&failure) } else { headers };
    // For the client, an answer that is neither a success nor an error is an error.
    let status = if status.as_u16() >= 400 { status } else { StatusCode::BAD_GATEWAY };
    GatewayRefusal { status, failure, headers }
}

/// An answer that the gateway reads. Dropping it cancels the request.
pub(super) struct Reading {
    response: reqwest::Response,
    stream: Stream,
    /// The first events, until `next` returns them.
    begun: Vec<Event<'static>>,
    /// When the service last sent something.
    heard: Instant,
    over: bool,
}

impl Reading {
    /// The next events. Returns none at the end of the answer. A caller can cancel the wait without losing an event.
    pub(super) async fn next(&mut self) -> Vec<Event<'static>> {
        let mut events = std::mem::take(&mut self.begun);
        while events.is_empty() && !self.over {
            match tokio::time::timeout_at(self.heard + PATIENCE, self.response.chunk()).await {
                Ok(Ok(Some(bytes))) => self.read(&bytes, &mut events),
                Ok(Ok(None)) => self.end(&mut events),
                Ok(Err(error)) => {
                    tracing::debug!(%error, "a stream broke");
                    self.end(&mut events);
                }
                Err(_) => self.fail(silent(), &mut events),
            }
            self.over |= self.stream.is_over();
        }
        events
    }

    fn read(&mut self, bytes: &Bytes, events: &mut Vec<Event<'static>>) {
        self.heard = Instant::now();
        self.stream.feed(bytes, |event| events.push(event.into_owned()));
    }

    fn end(&mut self, events: &mut Vec<Event<'static>>) {
        self.stream.end(|event| events.push(event.into_owned()));
        self.over = true;
    }

    fn fail(&mut self, failure: Failure, events: &mut Vec<Event<'static>>) {
        events.push(Event::Failed(failure));
        self.over = true;
    }
}

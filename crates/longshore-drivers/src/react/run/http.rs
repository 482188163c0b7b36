//! The model's service over HTTP: a request goes out, a stream of events comes in.

use std::sync::Arc;
use std::time::Duration;

use longshore_model::capability::ModelInfo;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use tokio::sync::mpsc;

use super::{Happened, seconds};
use crate::react::api::{
    self, Event, Failure, FailureKind, Learnt, Request, Stream, Strict, Wishes, retry_after,
};
use crate::react::machine::Input;
use crate::react::settings::{Api, Settings};
use crate::{clock, http};

/// How long it may take to reach the service.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// How long a list of models may take.
const LIST_WITHIN: Duration = Duration::from_secs(10);
/// How much of an answer that is no stream is read.
const PLAIN_BYTES: usize = 8 << 20;

/// A service, and how to speak with it.
#[derive(Clone)]
pub(super) struct Service {
    client: Client,
    api: Api,
    base: String,
    patience: Duration,
    learnt: Arc<Learnt>,
}

impl Service {
    pub(super) fn new(settings: &Settings, key: Option<String>) -> Result<Self, reqwest::Error> {
        let api = settings.api();
        let mut headers = HeaderMap::new();
        let mut carry = |name: &str, value: &str| {
            let parsed = (HeaderName::try_from(name), HeaderValue::try_from(value));
            if let (Ok(name), Ok(mut value)) = parsed {
                value.set_sensitive(true);
                headers.insert(name, value);
            } else {
                tracing::warn!(name, "a header cannot be sent");
            }
        };
        if api == Api::Messages {
            carry("anthropic-version", "2023-06-01");
        }
        if let Some(key) = key {
            match api {
                Api::Chat | Api::Responses => carry("authorization", &format!("Bearer {}", key.trim())),
                Api::Messages => carry("x-api-key", key.trim()),
            }
        }
        for (name, value) in &settings.headers {
            carry(name, value);
        }
        let client = http::client(CONNECT_WITHIN).default_headers(headers).build()?;
        let base = settings.base_url.trim_end_matches('/').to_owned();
        let patience = Duration::from_secs(settings.patience_s.max(1));
        Ok(Self { client, api, base, patience, learnt: Arc::default() })
    }

    /// Asks the model, and tells what it says. The answer has exactly one end.
    pub(super) fn ask(
        &self,
        number: u64,
        request: Box<Request>,
        tell: mpsc::Sender<Happened>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let service = self.clone();
        async move {
            let mut strict = service.learnt.known();
            while let Err(failure) = service.stream(number, &request, strict, &tell).await {
                let Some(more) = strict.after(&failure) else {
                    let event = Event::Failed(failure);
                    let _ = tell.send(Happened::To(Input::Model { number, event })).await;
                    return;
                };
                service.learnt.learn(more);
                strict = more;
            }
        }
    }

    /// Until the answer is over. What is wrong before it begins, or ends it from outside, is an error.
    async fn stream(
        &self,
        number: u64,
        request: &Request,
        strict: Strict,
        tell: &mpsc::Sender<Happened>,
    ) -> Result<(), Failure> {
        let wishes = Wishes { strict, ..Wishes::default() };
        let body = api::body_with(self.api, request, &wishes);
        let mut stream = Stream::offering(self.api, &request.tools);
        let url = format!("{}{}", self.base, self.api.path());
        let asking = self.client.post(&url).header("content-type", "application/json").body(body);
        let sent = tokio::time::timeout(self.patience, asking.send()).await.map_err(|_| self.silent())?;
        let mut response = sent.map_err(|error| unreachable(&error))?;
        if !response.status().is_success() {
            return Err(refused(response, self.patience).await);
        }
        let (mut events, mut begun) = (Vec::new(), false);
        while !stream.is_over() {
            let chunk =
                tokio::time::timeout(self.patience, response.chunk()).await.map_err(|_| self.silent())?;
            match chunk {
                Ok(Some(bytes)) => stream.feed(&bytes, |event| events.push(event.into_owned())),
                Ok(None) => stream.end(|event| events.push(event.into_owned())),
                Err(error) => {
                    tracing::debug!(%error, "a stream broke");
                    stream.end(|event| events.push(event.into_owned()));
                }
            }
            if let (false, [Event::Failed(failure)]) = (begun, events.as_slice()) {
                return Err(failure.clone());
            }
            begun |= !events.is_empty();
            pass_on(number, &mut events, tell).await?;
        }
        Ok(())
    }

    fn silent(&self) -> Failure {
        let seconds = self.patience.as_secs();
        Failure::new(FailureKind::Network, format!("the model's service has said nothing for {seconds} s"))
    }

    /// The models that the service lists. The one that is set comes first, whether it is listed or not.
    pub(super) async fn models(&self, set: Option<&str>) -> Result<Vec<ModelInfo>, String> {
        let request = self.client.get(format!("{}/models", self.base)).timeout(LIST_WITHIN);
        let listed = async {
            let response = request.send().await.map_err(|error| unreachable(&error).message)?;
            if !response.status().is_success() {
                return Err(refused(response, LIST_WITHIN).await.message);
            }
            let text = text(response, LIST_WITHIN).await;
            api::models_of(&text).map_err(|error| format!("its list cannot be read: {error}"))
        };
        match (listed.await, set) {
            (Ok(mut models), Some(set)) => {
                let at = models.iter().position(|model| model.id == set);
                let own = at.map_or_else(|| api::model_called(set), |at| models.remove(at));
                models.insert(0, ModelInfo { default: true, ..own });
                Ok(models)
            }
            (Ok(models), None) => Ok(models),
            (Err(_), Some(set)) => Ok(vec![ModelInfo { default: true, ..api::model_called(set) }]),
            (Err(error), None) => Err(error),
        }
    }
}

async fn pass_on(
    number: u64,
    events: &mut Vec<Event<'static>>,
    tell: &mpsc::Sender<Happened>,
) -> Result<(), Failure> {
    for event in events.drain(..) {
        let told = tell.send(Happened::To(Input::Model { number, event })).await;
        told.map_err(|_| Failure::cut())?;
    }
    Ok(())
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

async fn refused(response: Response, patience: Duration) -> Failure {
    let status = response.status().as_u16();
    let millis = header(&response, "retry-after-ms").and_then(|value| value.parse().ok());
    let after =
        || header(&response, "retry-after").and_then(|value| retry_after(value, seconds(clock::now())));
    let after = millis.map(Duration::from_millis).or_else(after);
    Failure::of_answer(status, &text(response, patience).await, after)
}

/// The text of an answer, as far as it comes and as much as is reasonable.
async fn text(mut response: Response, patience: Duration) -> String {
    let mut all = Vec::new();
    let reading = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            all.extend_from_slice(&bytes);
            if all.len() > PLAIN_BYTES {
                break;
            }
        }
    };
    // What came in time is told.
    let _ = tokio::time::timeout(patience, reading).await;
    String::from_utf8_lossy(&all).into_owned()
}

/// Why a service cannot be reached, down to the cause: the outermost error only says that it cannot.
fn unreachable(error: &reqwest::Error) -> Failure {
    let mut words = vec![error.to_string()];
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(inner) = cause {
        words.push(inner.to_string());
        cause = inner.source();
    }
    words.dedup();
    Failure::new(FailureKind::Network, format!("the model's service cannot be reached: {}", words.join(": ")))
}

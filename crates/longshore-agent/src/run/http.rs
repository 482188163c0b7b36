//! The model's service over HTTP: a request goes out, a stream of events comes in.

use std::sync::Arc;
use std::time::Duration;

use longshore_model::capability::ModelInfo;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use tokio::sync::mpsc;

use super::{OutsideEvent, RunError, seconds};
use crate::machine::MachineInput;
use longshore_drivers::clock;
use longshore_drivers::react::settings::ReactSettings;
use longshore_model::service::ModelApi;
use longshore_models::api::{
    self, Event, Failure, FailureKind, NeutralRequest, RequestOptions, SharedStrict, Stream, Strict,
    retry_after,
};
use longshore_models::http;
use longshore_models::http::Redirected;

/// How long the connection to the service may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
/// The path of the service's list of models.
const MODELS: &str = "/models";
/// How long the service may take to send its list of models.
const LIST_WITHIN: Duration = Duration::from_secs(10);
/// The setting with the address of the service.
const SETTING: &str = "base_url";
/// The settings that may be wrong if the service answers 404.
const WRONG: &str = "base_url and model";
/// How many bytes of an answer that is no stream the agent reads.
const PLAIN_BYTES: usize = 8 << 20;

/// A service of models, with the way to speak to it.
#[derive(Clone)]
pub(super) struct Service {
    client: Client,
    api: ModelApi,
    base: String,
    patience: Duration,
    learnt: Arc<SharedStrict>,
}

impl Service {
    pub(super) fn new(settings: &ReactSettings, key: Option<String>) -> Result<Self, RunError> {
        let base = http::service_address(&settings.base_url)?;
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
        if api == ModelApi::Messages {
            carry("anthropic-version", "2023-06-01");
        }
        if let Some(key) = key {
            match api {
                ModelApi::Chat | ModelApi::Responses => {
                    carry("authorization", &format!("Bearer {}", key.trim()))
                }
                ModelApi::Messages => carry("x-api-key", key.trim()),
            }
        }
        for (name, value) in &settings.headers {
            carry(name, value);
        }
        let client = http::client(CONNECT_WITHIN).default_headers(headers).build()?;
        let patience = Duration::from_secs(settings.patience_s.max(1));
        Ok(Self { client, api, base, patience, learnt: Arc::default() })
    }

    /// Sends a request to the model, and passes on the events of the answer. Exactly one event ends the answer.
    pub(super) fn ask(
        &self,
        number: u64,
        request: Box<NeutralRequest>,
        tell: mpsc::Sender<OutsideEvent>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let service = self.clone();
        async move {
            let mut strict = service.learnt.known();
            while let Err(failure) = service.stream(number, &request, strict, &tell).await {
                let Some(more) = strict.after(&failure) else {
                    let event = Event::Failed(failure);
                    let _ = tell.send(OutsideEvent::To(MachineInput::Model { number, event })).await;
                    return;
                };
                service.learnt.learn(more);
                strict = more;
            }
        }
    }

    /// Sends a request, and passes on the events until the answer ends. Returns an error if the request fails before
    /// the first event, or if the service falls silent.
    async fn stream(
        &self,
        number: u64,
        request: &NeutralRequest,
        strict: Strict,
        tell: &mpsc::Sender<OutsideEvent>,
    ) -> Result<(), Failure> {
        let options = RequestOptions { strict, ..RequestOptions::default() };
        let body = api::body_with(self.api, request, &options);
        let mut stream = Stream::offering(self.api, &request.tools);
        let url = format!("{}{}", self.base, self.api.path());
        let asking = self.client.post(&url).header("content-type", "application/json").body(body);
        let sent = tokio::time::timeout(self.patience, asking.send()).await.map_err(|_| self.silent())?;
        let mut response = sent.map_err(|error| unreachable(&error, self.api.path()))?;
        if !response.status().is_success() {
            return Err(refused(response, self.patience).await);
        }
        if let Some(told) = http::web_page(&response, SETTING) {
            return Err(Failure::new(FailureKind::Refused, told));
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
        Failure::new(FailureKind::Network, format!("the model's service has been silent for {seconds} s"))
    }

    /// The models that the service lists. The model of the settings comes first, whether the service lists it or not:
    /// some services have no list. It is an error if the service cannot be used at all.
    pub(super) async fn models(&self, set: Option<&str>) -> Result<Vec<ModelInfo>, String> {
        match (self.listed().await, set) {
            (Ok(mut models), Some(set)) => {
                let at = models.iter().position(|model| model.id == set);
                let own = at.map_or_else(|| api::model_called(set), |at| models.remove(at));
                models.insert(0, ModelInfo { default: true, ..own });
                Ok(models)
            }
            (Ok(models), None) => Ok(models),
            (Err(NoList::Answered(_)), Some(set)) => {
                Ok(vec![ModelInfo { default: true, ..api::model_called(set) }])
            }
            (Err(NoList::Answered(why) | NoList::NoService(why)), _) => Err(why),
        }
    }

    async fn listed(&self) -> Result<Vec<ModelInfo>, NoList> {
        let request = self.client.get(format!("{}{MODELS}", self.base)).timeout(LIST_WITHIN);
        let sent = request.send().await;
        let response = sent.map_err(|error| NoList::NoService(unreachable(&error, MODELS).message))?;
        if let Some(redirected) = Redirected::of_answer(&response) {
            return Err(NoList::NoService(redirected.told(SETTING, "")));
        }
        if !response.status().is_success() {
            let is_key = response.status() == StatusCode::UNAUTHORIZED;
            let why = refused(response, LIST_WITHIN).await.message;
            return Err(if is_key { NoList::NoService(why) } else { NoList::Answered(why) });
        }
        if let Some(told) = http::web_page(&response, SETTING) {
            return Err(NoList::NoService(told));
        }
        let text = text(response, LIST_WITHIN).await;
        api::models_of(&text).map_err(|error| NoList::Answered(format!("its list cannot be read: {error}")))
    }
}

/// The reason why there is no list of models.
enum NoList {
    /// The service answers, but without a list.
    Answered(String),
    /// The service cannot answer requests to models either.
    NoService(String),
}

async fn pass_on(
    number: u64,
    events: &mut Vec<Event<'static>>,
    tell: &mpsc::Sender<OutsideEvent>,
) -> Result<(), Failure> {
    for event in events.drain(..) {
        let told = tell.send(OutsideEvent::To(MachineInput::Model { number, event })).await;
        told.map_err(|_| Failure::cut())?;
    }
    Ok(())
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

async fn refused(response: Response, patience: Duration) -> Failure {
    if let Some(redirected) = Redirected::of_answer(&response) {
        return Failure::new(FailureKind::Refused, redirected.told(SETTING, ""));
    }
    let (status, address) = (response.status().as_u16(), http::shown(response.url()));
    let page = http::web_page(&response, WRONG);
    let millis = header(&response, "retry-after-ms").and_then(|value| value.parse().ok());
    let after =
        || header(&response, "retry-after").and_then(|value| retry_after(value, seconds(clock::now())));
    let after = millis.map(Duration::from_millis).or_else(after);
    let mut failure = Failure::of_answer(status, &text(response, patience).await, after);
    if status == 404 {
        let said = failure.message.trim_end_matches('.');
        let at = format!("{said}; Longshore asked {address}: check {WRONG}.");
        failure.message = page.unwrap_or(at);
    }
    failure
}

/// The text of an answer, up to `PLAIN_BYTES`.
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
    // After the timeout, the part that arrived is used.
    let _ = tokio::time::timeout(patience, reading).await;
    String::from_utf8_lossy(&all).into_owned()
}

/// Why a service cannot be reached, with all causes: the outermost error only says that the request failed.
fn unreachable(error: &reqwest::Error, path: &str) -> Failure {
    if let Some(redirected) = Redirected::of_error(error) {
        return Failure::new(FailureKind::Refused, redirected.told(SETTING, path));
    }
    let mut words = vec![error.to_string()];
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(inner) = cause {
        words.push(inner.to_string());
        cause = inner.source();
    }
    words.dedup();
    Failure::new(FailureKind::Network, format!("the model's service cannot be reached: {}", words.join(": ")))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// A service that answers every request with this text.
    async fn answering(answer: String) -> (Service, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 4096]).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        let settings = ReactSettings { base_url: base_url.clone(), ..ReactSettings::default() };
        (Service::new(&settings, None).unwrap(), base_url)
    }

    fn page(head: &str, body: &str) -> String {
        let length = body.len();
        format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
    }

    /// The failure of a request to this service.
    async fn failed(service: &Service) -> Failure {
        let (tell, mut heard) = mpsc::channel(8);
        let request = NeutralRequest {
            model: "m".to_owned(),
            instructions: "".into(),
            history: Vec::new(),
            tools: [].into(),
            max_output: None,
            effort: None,
        };
        service.ask(1, Box::new(request), tell).await;
        match heard.recv().await {
            Some(OutsideEvent::To(MachineInput::Model { event: Event::Failed(failure), .. })) => failure,
            _ => panic!("it did not fail"),
        }
    }

    #[test]
    fn what_is_no_address_is_refused_before_anything_is_asked() {
        for base_url in ["127.0.0.1:11434/v1", "localhost:11434/v1"] {
            let settings = ReactSettings { base_url: base_url.to_owned(), ..ReactSettings::default() };
            let error = Service::new(&settings, None).err().unwrap().to_string();
            assert_eq!(
                error,
                format!(
                    "base_url cannot be used: {base_url} is no address of a service; it looks like \
                     http://127.0.0.1:11434/v1"
                )
            );
        }
    }

    #[tokio::test]
    async fn a_web_page_fails_for_good_and_says_what_to_check() {
        let (service, base) =
            answering(page("200 OK\r\ncontent-type: text/html; charset=utf-8", "<html></html>")).await;
        let failure = failed(&service).await;
        assert_eq!(failure.kind, FailureKind::Refused);
        assert_eq!(
            failure.message,
            format!(
                "the service at {base}/chat/completions answered with a web page (content-type text/html), not with an \
                 answer of a model; check base_url."
            )
        );
    }

    #[tokio::test]
    async fn what_is_not_found_is_told_with_its_address() {
        let (service, base) = answering(page("404 Not Found", "")).await;
        assert_eq!(
            failed(&service).await.message,
            format!(
                "the model's service answered 404; Longshore asked {base}/chat/completions: check base_url and model."
            )
        );
        let (service, base) = answering(page("404 Not Found\r\ncontent-type: text/html", "<html>")).await;
        let told = failed(&service).await.message;
        assert!(
            told.starts_with(&format!("the service at {base}/chat/completions answered 404 with a")),
            "{told}"
        );
        assert!(told.ends_with("check base_url and model."), "{told}");
    }

    #[tokio::test]
    async fn a_model_that_is_set_hides_no_service_that_is_none() {
        let cases = [
            (page("200 OK\r\ncontent-type: text/html", "<html>"), Some("web page")),
            (page("307 Moved\r\nlocation: http://127.0.0.1:1/v1/models", ""), Some("another port")),
            (page("401 Unauthorized", r#"{"error":"no such key"}"#), Some("no such key")),
            (page("404 Not Found", ""), None),
            (page("200 OK\r\ncontent-type: application/json", r#"{"data":[{"id":"m"}]}"#), None),
        ];
        for (answer, told) in cases {
            let (service, _) = answering(answer).await;
            match (service.models(Some("m")).await, told) {
                (Ok(models), None) => assert_eq!(models.len(), 1),
                (Err(why), Some(told)) => assert!(why.contains(told), "{why}"),
                (found, told) => panic!("{found:?} instead of {told:?}"),
            }
        }
        let dead = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let settings = ReactSettings { base_url: format!("http://{dead}/v1"), ..ReactSettings::default() };
        let service = Service::new(&settings, None).unwrap();
        let why = service.models(Some("m")).await.unwrap_err();
        assert!(why.contains("cannot be reached"), "{why}");
    }

    #[tokio::test]
    async fn a_redirect_that_is_not_followed_fails_for_good_and_says_what_to_do() {
        let cases = [
            (
                "\r\nlocation: http://127.0.0.1:1/v2/chat/completions",
                "put http://127.0.0.1:1/v2 into base_url.",
            ),
            ("\r\nlocation: /v1/again", "redirected more than 5 times"),
            ("", "redirected (307) to an address that cannot be read: it has no Location; check base_url."),
        ];
        for (location, told) in cases {
            let (service, _) = answering(page(&format!("307 Moved{location}"), "")).await;
            let failure = failed(&service).await;
            assert_eq!(failure.kind, FailureKind::Refused, "{}", failure.message);
            assert!(failure.message.contains(told), "{}", failure.message);
            let listed = service.models(None).await.unwrap_err();
            assert!(listed.contains("redirected"), "{listed}");
        }
    }
}

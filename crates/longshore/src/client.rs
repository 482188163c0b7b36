//! A client of a hub: JSON-RPC over its socket. All verbs that talk to a hub go through it.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use futures_util::{SinkExt, StreamExt};
use longshore_facades::auth::{Challenge, Token};
use longshore_model::event::Event;
use longshore_model::id::{Seq, SessionId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};

use crate::dial::{self, Trust, Wire};
use crate::proof::{self, Proof};

/// How long a hub may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A refusal of the hub. Its code is stable, and decides the exit code.
#[derive(Clone, Debug, Deserialize, thiserror::Error)]
#[error("{title}")]
pub struct Refused {
    /// The stable word.
    pub code: String,
    /// What went wrong.
    pub title: String,
    /// What to do about it.
    #[serde(default)]
    pub hint: Option<String>,
    /// What else there is to know.
    #[serde(default)]
    pub details: Value,
}

/// No hub answers.
#[derive(Debug, thiserror::Error)]
#[error("no hub answers at {url}")]
pub struct Unreachable {
    /// Where it was looked for.
    pub url: String,
}

/// Another program listens at the address, not the hub of this token. The token was not sent.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotOurHub {
    /// A hub that does not know the token.
    #[error(
        "another hub listens at {url}: it does not know the token of this data folder. The token was not sent"
    )]
    Another {
        /// Where.
        url: String,
    },
    /// Something else, or a hub that cannot show that it knows the token.
    #[error(
        "another program listens at {url}: it cannot prove that it knows the hub's token. The token was not sent"
    )]
    Stranger {
        /// Where.
        url: String,
    },
}

/// A notification of the hub.
#[derive(Clone, Debug)]
pub enum HubNotification {
    /// An event of a session that was subscribed to: as it came, and read.
    Event(String, Box<Event>),
    /// A subscription ended; it can be taken up again after this seq.
    Resume(SessionId, Seq),
}

/// A connection to a hub.
pub struct Client {
    socket: WebSocketStream<Box<dyn Wire>>,
    next_id: u64,
    news: VecDeque<HubNotification>,
}

impl Client {
    /// Connects. `url` is the hub's, as in `http://127.0.0.1:8790`.
    pub async fn connect(url: &str, token: &str) -> Result<Self> {
        Self::connect_to(url, token, &Trust::default()).await
    }

    /// The same, with additional trust for `https`.
    pub async fn connect_to(url: &str, token: &str, trust: &Trust) -> Result<Self> {
        let address = format!("{}/api/v1/socket", url.replacen("http", "ws", 1));
        let mut request = address
            .as_str()
            .into_client_request()
            .context("the hub's address is not a URL; check LONGSHORE_URL")?;
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse()?);
        let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let secure = request.uri().scheme_str() == Some("wss");
        let host =
            request.uri().host().context("the hub's address has no host; check LONGSHORE_URL")?.to_owned();
        let port = request.uri().port_u16().unwrap_or(if secure { 443 } else { 80 });
        let unreachable = |error: anyhow::Error| match error.downcast_ref::<std::io::Error>() {
            Some(_) => Unreachable { url: url.to_owned() }.into(),
            None => error,
        };
        let mut wire = dial::connect(&host, port, secure.then_some(trust)).await.map_err(unreachable)?;
        if let Some(challenge) = Challenge::of(&Token::new(token)) {
            let named = request.uri().authority().map_or(host.as_str(), |named| named.as_str());
            let proof = proof::ask(&mut wire, named, &challenge).await.map_err(unreachable)?;
            let url = url.to_owned();
            match proof {
                Proof::Given => {}
                Proof::AnotherHub => return Err(NotOurHub::Another { url }.into()),
                Proof::Wrong | Proof::None => return Err(NotOurHub::Stranger { url }.into()),
            }
        }
        match tokio_tungstenite::client_async_with_config(request, wire, Some(config)).await {
            Ok((socket, _)) => Ok(Self { socket, next_id: 0, news: VecDeque::new() }),
            Err(tungstenite::Error::Http(response)) => Err(refused_by(&response)),
            Err(_) => Err(Unreachable { url: url.to_owned() }.into()),
        }
    }

    /// Calls a method and waits for its answer. What else comes meanwhile is kept for [`Client::news`].
    pub async fn call<T: DeserializeOwned>(&mut self, method: &str, params: Value) -> Result<T> {
        let id = self.send(method, params).await?;
        let answer = tokio::time::timeout(ANSWER_WITHIN, self.answer(id));
        let value = answer.await.map_err(|_| anyhow!("the hub did not answer `{method}` in time"))??;
        serde_json::from_value(value)
            .with_context(|| format!("this program does not understand the hub's answer to `{method}`; check with `longshore doctor` that both have the same version"))
    }

    /// Calls a method without waiting; the answer is dropped.
    pub async fn send(&mut self, method: &str, params: Value) -> Result<u64> {
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.socket.send(Message::text(request.to_string())).await.context("the hub has stopped")?;
        Ok(self.next_id)
    }

    async fn answer(&mut self, id: u64) -> Result<Value> {
        loop {
            let frame = self.read().await?;
            if frame.id == Some(id) {
                return frame.outcome();
            }
            if let Some(news) = frame.into_news()? {
                self.news.push_back(news);
            }
        }
    }

    /// The next notification of the hub. Cancelling it loses nothing.
    pub async fn news(&mut self) -> Result<HubNotification> {
        if let Some(news) = self.news.pop_front() {
            return Ok(news);
        }
        loop {
            let frame = self.read().await?;
            if let Some(news) = frame.into_news()? {
                return Ok(news);
            }
        }
    }

    async fn read(&mut self) -> Result<RpcFrame> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text)
                        .context("the hub sent a message that is not JSON-RPC");
                }
                Some(Ok(Message::Close(_))) | None => {
                    return Err(anyhow!("the hub has closed the connection"));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error).context("the connection to the hub broke"),
            }
        }
    }
}

#[derive(Deserialize)]
struct RpcFrame {
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Box<serde_json::value::RawValue>>,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    message: String,
    #[serde(default)]
    data: Value,
}

impl RpcFrame {
    fn outcome(self) -> Result<Value> {
        let Some(error) = self.error else { return Ok(self.result) };
        Err(serde_json::from_value::<Refused>(error.data).map_or_else(|_| anyhow!(error.message), Into::into))
    }

    fn into_news(self) -> Result<Option<HubNotification>> {
        let params = self.params.as_ref().map_or("{}", |params| params.get());
        match self.method.as_deref() {
            Some("event") => {
                let event = serde_json::from_str(params).context("this program does not understand an event of the hub; check with `longshore doctor` that both have the same version")?;
                Ok(Some(HubNotification::Event(params.to_owned(), Box::new(event))))
            }
            Some("resume") => {
                #[derive(Deserialize)]
                struct Resume {
                    session: SessionId,
                    after: Seq,
                }
                let Resume { session, after } = serde_json::from_str(params)?;
                Ok(Some(HubNotification::Resume(session, after)))
            }
            _ => Ok(None),
        }
    }
}

fn refused_by(response: &tungstenite::http::Response<Option<Vec<u8>>>) -> anyhow::Error {
    let body = response.body().as_deref().unwrap_or_default();
    match serde_json::from_slice::<Refused>(body) {
        Ok(refused) => refused.into(),
        Err(_) => anyhow!("the hub answered with the status {}", response.status()),
    }
}

//! A client as the web UI of Codex Pocket: its requests, its order, its framing, and its screens.

use std::collections::HashMap;
use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use longshore_model::id::SessionId;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::Response;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::screen::Screen;
use crate::rig::{Rig, TOKEN, WITHIN, soon};

/// How a socket that is no longer wanted ends.
pub(crate) const DISMISSED: (u16, &str) = (1000, "token rotated");

pub(crate) struct Pocket {
    wire: WebSocketStream<TcpStream>,
    next_id: u64,
    screens: HashMap<SessionId, Screen>,
    /// All that came, oldest first.
    pub(crate) heard: Vec<Value>,
    /// The cookie of the connection.
    pub(crate) cookie: Option<String>,
}

/// A token as an address has it.
pub(crate) fn escaped(token: &str) -> String {
    token.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

impl Pocket {
    pub(crate) async fn connect(rig: &Rig) -> Self {
        Self::with(rig.at, TOKEN).await.unwrap()
    }

    /// Opens the socket as a page of the hub does.
    pub(crate) async fn with(at: SocketAddr, token: &str) -> Result<Self, (u16, String)> {
        let address = format!("ws://{at}/ws?token={}&clientId=7d5a", escaped(token));
        let mut request = address.into_client_request().unwrap();
        request.headers_mut().insert("origin", format!("http://{at}").parse().unwrap());
        let tcp = TcpStream::connect(at).await.unwrap();
        match soon("a socket opens", tokio_tungstenite::client_async(request, tcp)).await {
            Ok((wire, response)) => {
                let cookie =
                    response.headers().get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
                let (screens, heard) = (HashMap::new(), Vec::new());
                Ok(Self { wire, next_id: 0, screens, heard, cookie })
            }
            Err(Error::Http(response)) => Err(refusal(&response)),
            Err(error) => panic!("no socket: {error}"),
        }
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.write(Message::text(message.to_string())).await;
    }

    pub(crate) async fn write(&mut self, message: Message) {
        soon("the hub reads", self.wire.send(message)).await.unwrap();
    }

    /// The next text, letter by letter.
    pub(crate) async fn text(&mut self) -> Option<String> {
        soon("the hub says something", async {
            loop {
                match self.wire.next().await? {
                    Ok(Message::Text(text)) => return Some(text.to_string()),
                    Ok(Message::Close(_)) | Err(_) => return None,
                    Ok(_) => {}
                }
            }
        })
        .await
    }

    pub(crate) async fn read(&mut self) -> Value {
        let text = self.text().await.expect("the socket ended");
        let frame: Value = serde_json::from_str(&text).unwrap();
        for screen in self.screens.values_mut() {
            screen.hear(&frame);
        }
        self.heard.push(frame.clone());
        frame
    }

    /// Reads until such a message comes.
    pub(crate) async fn until(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let waiting = async {
            loop {
                let frame = self.read().await;
                if fits(&frame) {
                    return frame;
                }
            }
        };
        let waited = tokio::time::timeout(WITHIN, waiting).await;
        waited.unwrap_or_else(|_| panic!("{what} never came"))
    }

    pub(crate) async fn notified(&mut self, method: &str) -> Value {
        self.until(method, |frame| frame["method"] == method).await["params"].clone()
    }

    pub(crate) async fn asked(&mut self) -> Value {
        self.until("a request", |frame| frame["method"].is_string() && frame["id"].is_string()).await
    }

    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        self.say(json!({ "method": method, "id": self.next_id, "params": params })).await;
        self.next_id
    }

    /// Sends again if it must, under a name of its own.
    pub(crate) async fn reliably(&mut self, key: &str, method: &str, params: Value) -> Result<Value, Value> {
        self.next_id += 1;
        let id = self.next_id;
        self.say(json!({ "method": method, "id": id, "params": params, "clientRequestId": key })).await;
        self.response(id).await
    }

    pub(crate) async fn response(&mut self, id: impl Into<Value>) -> Result<Value, Value> {
        let id = id.into();
        let frame =
            self.until("a response", |frame| frame["id"] == id && frame.get("method").is_none()).await;
        match frame.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(frame["result"].clone()),
        }
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        self.response(id).await
    }

    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> i64 {
        self.call(method, params).await.unwrap_err()["code"].as_i64().unwrap()
    }

    /// Opens a thread as the UI does: it asks for the thread twice, and then reads it.
    pub(crate) async fn open(&mut self, thread: SessionId) {
        self.screens.insert(thread, Screen::new(thread));
        for _ in 0..2 {
            self.say(json!({ "type": "orbit.subscribe", "threadId": thread })).await;
        }
        // Who may only look is refused, and goes on.
        if let Ok(resumed) = self.call("thread/resume", json!({ "threadId": thread })).await {
            assert_eq!(resumed["thread"]["id"], json!(thread));
        }
        self.reload(thread).await;
    }

    pub(crate) async fn reload(&mut self, thread: SessionId) {
        let params = json!({
            "threadId": thread,
            "includeTurns": true, "include_turns": true, "includeItems": true, "include_items": true,
        });
        let read = self.call("thread/read", params).await.unwrap();
        if let Some(turns) = read["thread"].get("turns") {
            self.screens.get_mut(&thread).unwrap().load(turns);
        }
    }

    /// Comes back after the connection was lost, with the screens that it had.
    pub(crate) async fn back(&mut self, at: SocketAddr, token: &str) {
        let mut next = Self::with(at, token).await.unwrap();
        next.screens = std::mem::take(&mut self.screens);
        for thread in next.screens.keys().copied().collect::<Vec<_>>() {
            next.say(json!({ "type": "orbit.subscribe", "threadId": thread })).await;
        }
        *self = next;
    }

    pub(crate) fn screen(&self, thread: SessionId) -> &Screen {
        &self.screens[&thread]
    }

    /// Reads until the screen of a thread is as it should be.
    pub(crate) async fn see(&mut self, thread: SessionId, what: &str, fits: impl Fn(&Screen) -> bool) {
        let waiting = async {
            while !fits(&self.screens[&thread]) {
                self.read().await;
            }
        };
        if tokio::time::timeout(WITHIN, waiting).await.is_err() {
            panic!("{what} was never seen: {:#?}", self.screens[&thread]);
        }
    }

    /// Waits for the answer to a question that comes after all that was sent before.
    pub(crate) async fn settle(&mut self) {
        self.call("collaborationMode/list", json!({})).await.unwrap();
    }

    /// How the hub ends the connection.
    pub(crate) async fn ended(&mut self) -> Option<(u16, String)> {
        soon("the hub ends the connection", async {
            loop {
                match self.wire.next().await {
                    Some(Ok(Message::Close(frame))) => {
                        return frame.map(|frame| (frame.code.into(), frame.reason.to_string()));
                    }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                }
            }
        })
        .await
    }
}

/// The status and the body of a refused upgrade.
pub(crate) fn refusal(response: &Response<Option<Vec<u8>>>) -> (u16, String) {
    let body = response.body().as_deref().unwrap_or_default();
    (response.status().as_u16(), String::from_utf8_lossy(body).into_owned())
}

impl Pocket {
    /// Sends what the hub will not take, and waits for the end that it comes to.
    pub(crate) async fn shout(&mut self, text: String) {
        let _ = soon("the hub reads or hangs up", self.wire.send(Message::text(text))).await;
        self.ended().await;
    }
}

//! The OpenAgents app against the hub: its own frames, to the byte, and what it would draw of the answers.

mod clients;
mod door;
mod frames;
mod sessions;
mod work_tree;

use std::collections::VecDeque;
use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::rig::{Rig, TOKEN, soon};

/// The first frame of the app, as it sends it.
pub(crate) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol_version":"0.2.2","client_capabilities":{"fs":{"read_text_file":false,"write_text_file":false},"terminal":false},"client_info":{"name":"openagents-ios","title":"OpenAgents iOS","version":"0.1.0"}}}"#;

/// The app: it drops what has no literal `"jsonrpc":"2.0"`, and dies of what is longer than 1 MiB.
pub(crate) struct OpenAgentsApp {
    wire: WebSocketStream<TcpStream>,
    next_id: u64,
    /// Updates that nobody looked at, with their sessions.
    news: VecDeque<(String, Value)>,
}

pub(crate) fn request(at: SocketAddr, path: &str) -> Request<()> {
    format!("ws://{at}{path}").into_client_request().unwrap()
}

impl OpenAgentsApp {
    /// Connects and says nothing yet. The error is the status.
    pub(crate) async fn connect(at: SocketAddr, request: Request<()>) -> Result<Self, u16> {
        let tcp = TcpStream::connect(at).await.unwrap();
        match soon("a socket opens", tokio_tungstenite::client_async(request, tcp)).await {
            Ok((wire, _)) => Ok(Self { wire, next_id: 1, news: VecDeque::new() }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("no socket: {error}"),
        }
    }

    /// With a token, at the hub's own port, after the handshake.
    pub(crate) async fn with(rig: &Rig, token: &str) -> Self {
        let mut request = request(rig.at, "/openagents");
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let mut app = Self::connect(rig.at, request).await.unwrap();
        app.shake_hands().await;
        app
    }

    pub(crate) async fn of_owner(rig: &Rig) -> Self {
        Self::with(rig, TOKEN).await
    }

    pub(crate) async fn shake_hands(&mut self) -> Value {
        self.write(HELLO).await;
        let answer = self.answer(&json!(1)).await;
        // What the app's decoder must find, or it closes the connection.
        let result = &answer["result"];
        assert!(result["protocol_version"].as_str().unwrap().starts_with("0.2"), "{result}");
        let can = &result["agent_capabilities"];
        for (of, name) in [("prompt_capabilities", "image"), ("prompt_capabilities", "audio")]
            .into_iter()
            .chain([("prompt_capabilities", "embedded_context"), ("mcp_capabilities", "http")])
            .chain([("mcp_capabilities", "sse")])
        {
            assert!(can[of][name].is_boolean(), "{can}");
        }
        assert!(can["load_session"].is_boolean() && result["auth_methods"] == json!([]), "{result}");
        assert!(result["agent_info"]["name"].is_string() && result["agent_info"]["version"].is_string());
        result.clone()
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.send(Message::text(text)).await;
    }

    pub(crate) async fn send(&mut self, message: Message) {
        soon("the hub reads", self.wire.send(message)).await.unwrap();
    }

    /// Asks as the app does: with a text for an id, and `\/` in methods.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = format!("{method}-{}-0000-0000-000000000000", self.next_id).replace(['/', '.'], "-");
        let request = json!({ "params": params, "id": id, "method": method, "jsonrpc": "2.0" }).to_string();
        self.write(&request.replace('/', "\\/")).await;
        self.answer(&json!(id)).await
    }

    /// The result of a call. The app waits for ever where an error comes.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert!(answer.get("error").is_none(), "the app would wait for ever: {answer}");
        answer["result"].clone()
    }

    /// The number of an error, and its words.
    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let answer = self.ask(method, params).await;
        let error = &answer["error"];
        (
            error["code"].as_i64().unwrap_or_else(|| panic!("{answer}")),
            error["message"].as_str().unwrap().to_owned(),
        )
    }

    /// A request without an id.
    pub(crate) async fn tell(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
    }

    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let frame = self.frame().await.expect("the socket ended");
            match frame.get("method") {
                Some(_) => self.keep(&frame),
                None if frame["id"] == *id => return frame,
                None => panic!("an answer to nobody: {frame}"),
            }
        }
    }

    fn keep(&mut self, frame: &Value) {
        assert!(frame.get("id").is_none(), "this client is never asked: {frame}");
        assert_eq!(frame["method"], "session/update");
        let session = frame["params"]["session_id"].as_str().unwrap().to_owned();
        self.news.push_back((session, frame["params"]["update"].clone()));
    }

    /// The next frame. None when the hub has ended the connection.
    pub(crate) async fn frame(&mut self) -> Option<Value> {
        let next = async {
            loop {
                match self.wire.next().await? {
                    Ok(Message::Text(text)) => {
                        assert!(text.contains(r#""jsonrpc":"2.0""#), "the app loses this: {text:.200}");
                        assert!(text.len() < 900_000, "{}", text.len());
                        return Some(serde_json::from_str(&text).unwrap());
                    }
                    Ok(Message::Close(_)) | Err(_) => return None,
                    Ok(_) => {}
                }
            }
        };
        soon("a frame", next).await
    }

    /// How the hub ends the connection.
    pub(crate) async fn ended(&mut self) -> Option<u16> {
        soon("the hub ends the connection", async {
            loop {
                match self.wire.next().await {
                    Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code.into()),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                }
            }
        })
        .await
    }

    /// The next update, whatever it is.
    pub(crate) async fn update(&mut self) -> (String, Value) {
        loop {
            if let Some(news) = self.news.pop_front() {
                return news;
            }
            let frame = self.frame().await.expect("the socket ended");
            self.keep(&frame);
        }
    }

    /// The next update of a kind, and what is nested in it. Others are passed over.
    pub(crate) async fn next(&mut self, kind: &str) -> Value {
        loop {
            let (_, update) = self.update().await;
            if update["sessionUpdate"] == kind {
                return match kind {
                    "tool_call" | "tool_call_update" | "plan" => update[kind].clone(),
                    "current_mode_update" => update["current_mode_id"].clone(),
                    _ => update["content"]["content"]["text"].clone(),
                };
            }
        }
    }

    /// All chunks up to one with these words in it, with their kinds.
    pub(crate) async fn until(&mut self, words: &str) -> Vec<(String, String)> {
        let mut heard = Vec::new();
        loop {
            let (_, update) = self.update().await;
            let Some(text) = update["content"]["content"]["text"].as_str() else { continue };
            heard.push((update["sessionUpdate"].as_str().unwrap().to_owned(), text.to_owned()));
            if text.contains(words) {
                return heard;
            }
        }
    }

    /// A new session, and what it answered to its first prompt.
    pub(crate) async fn start(&mut self, prompt: &str) -> String {
        let session = self.call("session/new", json!({ "cwd": "/w" })).await["session_id"].clone();
        let session = session.as_str().unwrap().to_owned();
        assert_eq!(self.prompt(&session, prompt).await, json!({ "status": "started" }));
        session
    }

    pub(crate) async fn prompt(&mut self, session: &str, text: &str) -> Value {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.call("session/prompt", json!({ "session_id": session, "prompt": prompt })).await
    }
}

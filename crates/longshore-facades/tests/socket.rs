//! A client of the socket that folds what it hears, and waits for what should become of it.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use longshore_model::event::Event;
use longshore_model::id::SessionId;
use longshore_model::timeline::Timeline;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::rig::{TOKEN, WITHIN, soon};

/// How many of the last frames are shown when something does not come.
const SHOWN: usize = 20;

pub(crate) struct Socket {
    wire: WebSocketStream<TcpStream>,
    next_id: u64,
    followed: HashMap<SessionId, Followed>,
    /// Notifications that are no events, oldest first.
    news: VecDeque<Value>,
    last: VecDeque<String>,
}

#[derive(Default)]
struct Followed {
    cursor: u64,
    timeline: Timeline,
}

/// The request that opens a socket.
pub(crate) fn request(at: SocketAddr) -> Request<()> {
    format!("ws://{at}/api/v1/socket").into_client_request().unwrap()
}

/// Opens a socket, or says with which status and which code that was refused.
pub(crate) async fn open(at: SocketAddr, request: Request<()>) -> Result<Socket, (u16, String)> {
    let tcp = TcpStream::connect(at).await.unwrap();
    open_over(tcp, request).await
}

pub(crate) async fn open_over(tcp: TcpStream, request: Request<()>) -> Result<Socket, (u16, String)> {
    let connecting = tokio_tungstenite::client_async(request, tcp);
    match soon("a socket opens", connecting).await {
        Ok((wire, _)) => Ok(Socket {
            wire,
            next_id: 0,
            followed: HashMap::new(),
            news: VecDeque::new(),
            last: VecDeque::new(),
        }),
        Err(Error::Http(response)) => {
            let body = response.body().as_deref().unwrap_or_default();
            let problem: Value = serde_json::from_slice(body).unwrap_or_default();
            Err((response.status().as_u16(), problem["code"].as_str().unwrap_or_default().to_owned()))
        }
        Err(error) => panic!("no socket: {error}"),
    }
}

/// With the token.
pub(crate) fn allowed(at: SocketAddr) -> Request<()> {
    let mut request = request(at);
    request.headers_mut().insert("authorization", format!("Bearer {TOKEN}").parse().unwrap());
    request
}

impl Socket {
    pub(crate) async fn connect(at: SocketAddr) -> Self {
        open(at, allowed(at)).await.unwrap()
    }

    /// Calls a method: its result, or the problem.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        let answer = self.answer(&json!(id)).await;
        match answer.get("error") {
            Some(error) => {
                crate::docs::check(&error["data"]);
                Err(error["data"].clone())
            }
            None => Ok(answer["result"].clone()),
        }
    }

    /// The code of the problem that a call comes to.
    pub(crate) async fn refused(&mut self, method: &str, params: Value) -> String {
        match self.call(method, params).await {
            Err(problem) => problem["code"].as_str().unwrap().to_owned(),
            Ok(result) => panic!("`{method}` was not refused: {result}"),
        }
    }

    /// Calls without waiting for the answer.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.write(Message::text(request.to_string())).await;
        self.next_id
    }

    pub(crate) async fn write(&mut self, message: Message) {
        soon("the hub reads", self.wire.send(message)).await.unwrap();
    }

    /// The answer to a request. Whatever else comes is folded or kept.
    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        soon("an answer", async {
            loop {
                let frame = self.read().await.expect("the socket ended");
                if frame.get("id") == Some(id) {
                    assert_eq!(frame["jsonrpc"], "2.0");
                    return frame;
                }
            }
        })
        .await
    }

    pub(crate) async fn subscribe(&mut self, session: SessionId, after: u64) {
        self.followed.insert(session, Followed { cursor: after, timeline: Timeline::default() });
        let params = json!({ "session": session, "after": after });
        let answer = self.call("subscribe", params.clone()).await.unwrap();
        assert_eq!(answer, params);
    }

    /// Waits until the timeline of a session is as it should be.
    pub(crate) async fn until(&mut self, session: SessionId, fits: impl Fn(&Timeline) -> bool) -> &Timeline {
        let waiting = async {
            while !self.followed.get(&session).is_some_and(|followed| fits(&followed.timeline)) {
                self.read().await.expect("the socket ended");
            }
        };
        if tokio::time::timeout(WITHIN, waiting).await.is_err() {
            let timeline = self.followed.get(&session).map(|followed| &followed.timeline);
            panic!("it never came; the timeline is {timeline:#?}\nand the last frames were {:#?}", self.last);
        }
        &self.followed[&session].timeline
    }

    /// The last event of a session that was heard.
    pub(crate) fn cursor(&self, session: SessionId) -> u64 {
        self.followed[&session].cursor
    }

    /// The next notification of a method that is not `event`.
    pub(crate) async fn news(&mut self, method: &str) -> Value {
        let waiting = async {
            loop {
                while let Some(news) = self.news.pop_front() {
                    if news["method"] == method {
                        return news["params"].clone();
                    }
                }
                self.read().await.expect("the socket ended");
            }
        };
        soon(method, waiting).await
    }

    /// Reads a frame: folds it if it is an event. None when the hub has ended the connection.
    pub(crate) async fn read(&mut self) -> Option<Value> {
        let text = loop {
            match self.wire.next().await? {
                Ok(Message::Text(text)) => break text,
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        };
        self.last.push_back(text.chars().take(300).collect());
        if self.last.len() > SHOWN {
            self.last.pop_front();
        }
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["method"] == "event" {
            let event: Event = serde_json::from_value(frame["params"].clone()).unwrap();
            let followed = self.followed.get_mut(&event.session).expect("nobody follows this session");
            assert_eq!(event.seq.0, followed.cursor + 1, "no gap, no double");
            followed.cursor = event.seq.0;
            followed.timeline.apply(&event);
        } else if frame.get("method").is_some() {
            self.news.push_back(frame.clone());
        }
        Some(frame)
    }

    /// How the hub ends the connection: with a code, or just so.
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

    /// Says farewell and waits for the answer to that: true when it came.
    pub(crate) async fn farewell(mut self) -> bool {
        self.wire.close(None).await.unwrap();
        soon("a farewell", async {
            loop {
                match self.wire.next().await {
                    Some(Ok(_)) => {}
                    None => return true,
                    Some(Err(_)) => return false,
                }
            }
        })
        .await
    }

    /// Speaks to a connection that the hub may have ended.
    pub(crate) async fn knock(&mut self) {
        let _ = self.wire.send(Message::text("knock")).await;
    }

    /// Sends what will not be taken, and waits for the end that it comes to.
    pub(crate) async fn shout(&mut self, text: String) {
        // The hub may hang up before it has read all of it.
        let _ = soon("the hub reads or hangs up", self.wire.send(Message::text(text))).await;
        self.ended().await;
    }
}

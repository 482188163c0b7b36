//! A client with one session: it opens the session, sends prompts, and checks that every delta arrives once and in
//! order.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use longshore_bench::marker::{self, Marker};
use longshore_bench::script::DeltaScript;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use crate::server::{BenchServer, Kind, TOKEN};
use crate::tally::{Seen, Tally};

/// How long an answer may take, and a turn beyond its own length.
const PATIENCE: Duration = Duration::from_secs(60);

/// The texts by which the client distinguishes a server's frames without parsing them.
struct Dialect {
    path: &'static str,
    delta: &'static str,
    turn_end: &'static str,
    /// The text of the event that the agent is ready. None if the answer to `open` says so.
    ready: Option<&'static str>,
}

impl Dialect {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Longshore => Self {
                path: "/api/v1/socket",
                delta: "\"type\":\"message_delta\"",
                turn_end: "\"type\":\"turn_finished\"",
                ready: Some("\"type\":\"session_ready\""),
            },
            Kind::Reference => Self {
                path: "/",
                delta: "\"kind\":\"item/agentMessage/delta\"",
                turn_end: "\"kind\":\"turn/completed\"",
                ready: None,
            },
        }
    }
}

/// A client that follows one session.
pub(crate) struct BenchClient {
    socket: WebSocketStream<TcpStream>,
    dialect: Dialect,
    session: String,
    calls: u64,
}

impl BenchClient {
    /// Opens a session and follows it from its beginning. Returns when its agent is ready.
    pub(crate) async fn open(server: &BenchServer) -> Result<Self> {
        let mut client = Self::connect(server, String::new()).await?;
        let opened = client.call("open", json!({"agent": "codex", "cwd": server.work_tree()})).await?;
        client.session = opened["sessionId"].as_str().context("a session without a name")?.to_owned();
        client.subscribe().await?;
        if let Some(ready) = client.dialect.ready {
            let listens = async {
                while !client.frame().await?.contains(ready) {}
                Ok::<_, anyhow::Error>(())
            };
            timeout(PATIENCE, listens).await.context("the agent was not ready in time")??;
        }
        Ok(client)
    }

    /// Another client of the same session, which has read nothing yet.
    pub(crate) async fn another(&self, server: &BenchServer) -> Result<Self> {
        Self::connect(server, self.session.clone()).await
    }

    async fn connect(server: &BenchServer, session: String) -> Result<Self> {
        let dialect = Dialect::of(server.kind);
        let stream = TcpStream::connect(&server.address).await?;
        stream.set_nodelay(true)?;
        let url = format!("ws://{}{}?token={TOKEN}", server.address, dialect.path);
        let (socket, _) = tokio_tungstenite::client_async(url, stream).await?;
        Ok(Self { socket, dialect, session, calls: 0 })
    }

    /// Sends a prompt and reads the whole turn.
    pub(crate) async fn turn(&mut self, script: DeltaScript) -> Result<Seen> {
        let prompt = json!({"session": self.session, "content": script.to_string()});
        self.send("prompt", prompt).await?;
        self.watch(script).await
    }

    /// Reads a session with one finished turn from its beginning. Returns how long that took.
    pub(crate) async fn replay(&mut self, script: DeltaScript) -> Result<(Seen, Duration)> {
        let began = Instant::now();
        self.send("subscribe", json!({"session": self.session, "after": 0})).await?;
        let seen = self.watch(script).await?;
        Ok((seen, began.elapsed()))
    }

    /// Reads up to the end of a turn. Fails if a delta is missing, comes twice, or is out of order.
    async fn watch(&mut self, script: DeltaScript) -> Result<Seen> {
        let length = Duration::from_secs(script.deltas.checked_div(script.rate).unwrap_or_default());
        timeout(length + PATIENCE, self.watch_for_ever(script.deltas))
            .await
            .context("the turn did not end")?
    }

    async fn watch_for_ever(&mut self, deltas: u64) -> Result<Seen> {
        let mut tally = Tally::default();
        loop {
            let frame = self.frame().await?;
            tally.events += u64::from(frame.contains("\"method\":\"event\""));
            if frame.contains(self.dialect.delta) {
                let read = marker::now();
                tally.take(Marker::find(&frame).context("a delta without a marker")?, read)?;
            } else if frame.contains(self.dialect.turn_end) {
                return tally.end(deltas);
            }
        }
    }

    async fn subscribe(&mut self) -> Result<()> {
        self.call("subscribe", json!({"session": self.session, "after": 0})).await.map(drop)
    }

    /// Sends a request and waits for its response. It skips all other frames, so it is only for the time before
    /// `subscribe`.
    async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.send(method, params).await?;
        let answered = async {
            loop {
                let answer: Value = serde_json::from_str(&self.frame().await?)?;
                if answer["id"] == id {
                    return Ok::<_, anyhow::Error>(answer["result"].clone());
                }
            }
        };
        timeout(PATIENCE, answered).await.with_context(|| format!("no answer to {method}"))?
    }

    async fn send(&mut self, method: &str, params: Value) -> Result<u64> {
        self.calls += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params});
        self.socket.send(Message::Text(request.to_string().into())).await?;
        Ok(self.calls)
    }

    async fn frame(&mut self) -> Result<Utf8Bytes> {
        loop {
            match self.socket.next().await.context("the server hung up")?? {
                Message::Text(text) if text.contains("\"error\":{\"code\"") => bail!("refused: {text}"),
                Message::Text(text) => return Ok(text),
                Message::Close(_) => bail!("the server hung up"),
                Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}

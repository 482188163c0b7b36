//! The reference relay: it shows how fast this machine can run a hub that does only what every hub must do.
//!
//! It reads the agent's pipe in chunks, parses each line in place, and commits all waiting lines in one SQLite
//! transaction (WAL, `synchronous=FULL`). Only then it sends the lines as WebSocket frames, with one flush. It has no
//! sleeping sessions, no approvals, no search, no raw frames and no tokens. It is only for measurements.
//!
//! It implements only those methods of the hub's socket that the benchmark uses: `open`, `subscribe`, `prompt`,
//! `event`.

mod session;
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use session::{Cursor, Sessions};
use store::Store;

/// More bytes than the head of any request of the benchmark has.
const HEAD: usize = 4096;

#[derive(Deserialize)]
struct RelayRequest {
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(data), Some(agent), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        bail!("usage: reference <data folder> <agent>");
    };
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(data, agent))
}

async fn serve(data: PathBuf, agent: PathBuf) -> Result<()> {
    let sessions = Arc::new(Sessions::new(Store::open(&data.join("reference.db"))?, agent));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("reference is up at http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        let sessions = Arc::clone(&sessions);
        // An error only ends this client. A client that misses a frame reports it itself.
        tokio::spawn(async move { drop(answer(stream, &sessions).await) });
    }
}

async fn answer(mut stream: TcpStream, sessions: &Arc<Sessions>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut head = [0; HEAD];
    let length = stream.peek(&mut head).await?;
    if head[..length].starts_with(b"GET /health ") {
        let _ = stream.read(&mut head).await?;
        let body = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
        return Ok(stream.write_all(body.as_bytes()).await?);
    }
    // Clients send little, and each read first clears a buffer of this size.
    let config = WebSocketConfig::default().read_buffer_size(HEAD);
    let socket = tokio_tungstenite::accept_async_with_config(stream, Some(config)).await?;
    RelayClient { socket, cursor: None }.serve(sessions).await
}

struct RelayClient {
    socket: WebSocketStream<TcpStream>,
    cursor: Option<Cursor>,
}

impl RelayClient {
    async fn serve(mut self, sessions: &Arc<Sessions>) -> Result<()> {
        loop {
            tokio::select! {
                message = self.socket.next() => match message {
                    Some(Ok(Message::Text(text))) => self.received(&text, sessions).await?,
                    Some(Ok(Message::Close(_))) | None => return Ok(()),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Err(error.into()),
                },
                frames = next(&mut self.cursor) => self.send(frames?).await?,
            }
        }
    }

    async fn received(&mut self, text: &str, sessions: &Arc<Sessions>) -> Result<()> {
        let RelayRequest { id, method, params } = serde_json::from_str(text)?;
        let session = || {
            let name = params["session"].as_str().and_then(|name| name.parse().ok());
            name.and_then(|name| sessions.find(name)).context("no such session")
        };
        let result = match method.as_str() {
            "open" => json!({ "sessionId": sessions.open().await?.to_string() }),
            "subscribe" => {
                self.cursor = Some(session()?.after(params["after"].as_u64().unwrap_or_default()));
                json!({})
            }
            "prompt" => {
                session()?.prompt(params["content"].as_str().unwrap_or_default()).await?;
                json!({})
            }
            _ => bail!("no method `{method}`"),
        };
        self.send([json!({ "id": id, "result": result }).to_string().into()]).await
    }

    async fn send(&mut self, frames: impl IntoIterator<Item = Utf8Bytes>) -> Result<()> {
        for frame in frames {
            self.socket.feed(Message::Text(frame)).await?;
        }
        Ok(self.socket.flush().await?)
    }
}

async fn next(cursor: &mut Option<Cursor>) -> Result<Vec<Utf8Bytes>> {
    match cursor {
        Some(cursor) => cursor.next().await,
        None => std::future::pending().await,
    }
}

//! One agent process per session, and a client's cursor.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::store::{Append, Store};

/// How many bytes are read from a pipe at once.
const CHUNK: usize = 64 * 1024;
/// How many committed batches a client may be behind before it reads the store instead.
const LIVE: usize = 64;
/// How many frames are read from the store at once.
const PAGE: usize = 512;
/// The id of the relay's request whose answer names the thread.
const THREAD_START: u64 = 2;

/// All sessions since the start.
pub(crate) struct Sessions {
    store: Arc<Store>,
    agent: PathBuf,
    open: Mutex<HashMap<u64, Arc<Session>>>,
}

impl Sessions {
    pub(crate) fn new(store: Store, agent: PathBuf) -> Self {
        Self { store: Arc::new(store), agent, open: Mutex::default() }
    }

    pub(crate) fn find(&self, name: u64) -> Option<Arc<Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned()
    }

    /// Starts an agent. Returns when the session is ready.
    pub(crate) async fn open(&self) -> Result<u64> {
        let mut child = Command::new(&self.agent)
            .arg("app-server")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (mut stdin, mut stdout) = (stdin.context("no stdin")?, stdout.context("no stdout")?);
        let hello = [
            json!({"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "reference"}}}),
            json!({"method": "initialized"}),
            json!({"id": THREAD_START, "method": "thread/start", "params": {}}),
        ];
        stdin.write_all(hello.map(|line| format!("{line}\n")).concat().as_bytes()).await?;
        let mut read = Vec::with_capacity(2 * CHUNK);
        let thread = loop {
            if stdout.read_buf(&mut read).await? == 0 {
                bail!("the agent ended before it began");
            }
            if let Some(thread) = thread_in(&read) {
                break thread;
            }
        };
        let session = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let name = open.len() as u64 + 1;
            let store = Arc::clone(&self.store);
            let stdin = tokio::sync::Mutex::new(stdin);
            let session =
                Arc::new(Session { name, thread, stdin, live: broadcast::Sender::new(LIVE), store });
            open.insert(name, Arc::clone(&session));
            session
        };
        tokio::spawn(relay(Arc::clone(&session), child, stdout, read));
        Ok(session.name)
    }
}

/// The thread that the agent named, if it has answered.
fn thread_in(read: &[u8]) -> Option<String> {
    read.split(|byte| *byte == b'\n').find_map(|line| {
        let line: Value = serde_json::from_slice(line).ok()?;
        (line["id"] == THREAD_START).then(|| line["result"]["thread"]["id"].as_str().map(str::to_owned))?
    })
}

/// Passes whole lines to the store, a chunk at a time, until the agent closes its output.
async fn relay(session: Arc<Session>, child: Child, mut stdout: ChildStdout, mut read: Vec<u8>) {
    let _killed_when_dropped = child;
    let mut next = 1;
    loop {
        if let Some(end) = read.iter().rposition(|byte| *byte == b'\n') {
            let mut rest = Vec::with_capacity(2 * CHUNK);
            rest.extend_from_slice(&read[end + 1..]);
            read.truncate(end + 1);
            let Ok(text) = String::from_utf8(std::mem::replace(&mut read, rest)) else { return };
            let append = Append { session: Arc::clone(&session), first: next, text };
            next += append.lines().count() as u64;
            if session.store.append(append).await.is_err() {
                return;
            }
        }
        read.reserve(CHUNK);
        match stdout.read_buf(&mut read).await {
            Ok(count) if count > 0 => {}
            Ok(_) | Err(_) => return,
        }
    }
}

/// One agent and its output.
pub(crate) struct Session {
    pub(crate) name: u64,
    thread: String,
    stdin: tokio::sync::Mutex<ChildStdin>,
    live: broadcast::Sender<Arc<FrameBatch>>,
    store: Arc<Store>,
}

/// Frames that were committed together.
pub(crate) struct FrameBatch {
    pub(crate) first: u64,
    pub(crate) frames: Vec<Utf8Bytes>,
}

impl Session {
    /// Sends frames that are now in the store to the clients. The store calls this in order.
    pub(crate) fn publish(&self, batch: FrameBatch) {
        // This fails if no client follows the session.
        let _ = self.live.send(Arc::new(batch));
    }

    pub(crate) async fn prompt(&self, text: &str) -> Result<()> {
        let params = json!({"threadId": self.thread, "input": [{"type": "text", "text": text}]});
        let line = format!("{}\n", json!({"id": 3, "method": "turn/start", "params": params}));
        Ok(self.stdin.lock().await.write_all(line.as_bytes()).await?)
    }

    /// A cursor over all frames after a seq, and then over new frames.
    pub(crate) fn after(self: Arc<Self>, seq: u64) -> Cursor {
        Cursor { live: self.live.subscribe(), session: self, last: seq, behind: true }
    }
}

/// A client's place in a session.
pub(crate) struct Cursor {
    session: Arc<Session>,
    live: broadcast::Receiver<Arc<FrameBatch>>,
    last: u64,
    /// Whether the cursor must read the store before the live frames.
    behind: bool,
}

impl Cursor {
    /// The next frames. A caller can cancel the wait without losing a frame.
    pub(crate) async fn next(&mut self) -> Result<Vec<Utf8Bytes>> {
        loop {
            let frames = if self.behind {
                let page = self.session.store.read(self.session.name, self.last, PAGE).await?;
                self.behind = !page.is_empty();
                page
            } else {
                match self.live.recv().await {
                    Ok(batch) if batch.first > self.last + 1 => {
                        self.behind = true;
                        continue;
                    }
                    Ok(batch) => {
                        let known = usize::try_from(self.last + 1 - batch.first).unwrap_or(usize::MAX);
                        batch.frames.get(known..).unwrap_or_default().to_vec()
                    }
                    Err(RecvError::Lagged(_)) => {
                        self.behind = true;
                        continue;
                    }
                    Err(RecvError::Closed) => bail!("the session is gone"),
                }
            };
            if !frames.is_empty() {
                self.last += frames.len() as u64;
                return Ok(frames);
            }
        }
    }
}

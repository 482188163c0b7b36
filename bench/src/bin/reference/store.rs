//! The store: one thread that parses waiting lines, commits them in one transaction, and then sends them to the
//! clients.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use longshore_bench::marker;
use rusqlite::{Connection, params};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::session::{FrameBatch, Session};

/// How many chunks may wait. Beyond that, the relay does not read the agents' pipes.
const WAITING: usize = 16;

/// Whole lines of one agent.
pub(crate) struct Append {
    pub(crate) session: Arc<Session>,
    pub(crate) first: u64,
    pub(crate) text: String,
}

impl Append {
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter(|line| !line.is_empty())
    }
}

pub(crate) struct Store {
    chunks: mpsc::Sender<Append>,
    reader: Arc<Mutex<Connection>>,
}

/// The fields of a line that a relay needs to store it.
#[derive(Default, Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow, default)]
    turn_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
}

impl Store {
    pub(crate) fn open(file: &Path) -> Result<Self> {
        let connection = Connection::open(file)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.execute_batch(
            "CREATE TABLE events (session INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, \
             kind TEXT NOT NULL, turn TEXT, frame TEXT NOT NULL, PRIMARY KEY (session, seq)) WITHOUT ROWID",
        )?;
        let reader = Arc::new(Mutex::new(Connection::open(file)?));
        let (chunks, waiting) = mpsc::channel(WAITING);
        std::thread::Builder::new().name("store".into()).spawn(move || write(connection, waiting))?;
        Ok(Self { chunks, reader })
    }

    pub(crate) async fn append(&self, append: Append) -> Result<()> {
        self.chunks.send(append).await.map_err(|_| anyhow!("the store is gone"))
    }

    pub(crate) async fn read(&self, session: u64, after: u64, limit: usize) -> Result<Vec<Utf8Bytes>> {
        let reader = Arc::clone(&self.reader);
        let read = move || -> Result<Vec<Utf8Bytes>> {
            let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            let mut select = reader.prepare_cached(
                "SELECT frame FROM events WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            )?;
            let frames = select.query_map(params![session as i64, after as i64, limit as i64], |row| {
                row.get::<_, String>(0).map(Utf8Bytes::from)
            })?;
            Ok(frames.collect::<Result<_, _>>()?)
        };
        tokio::task::spawn_blocking(read).await?
    }
}

fn write(mut connection: Connection, mut waiting: mpsc::Receiver<Append>) {
    let mut group = Vec::with_capacity(WAITING);
    while waiting.blocking_recv_many(&mut group, WAITING) > 0 {
        match commit(&mut connection, &group) {
            Ok(batches) => {
                for (append, batch) in group.drain(..).zip(batches) {
                    append.session.publish(batch);
                }
            }
            // Lines that are not stored must not be sent. Clients miss them and report it.
            Err(error) => {
                eprintln!("the store failed: {error}");
                return;
            }
        }
    }
}

fn commit(connection: &mut Connection, group: &[Append]) -> rusqlite::Result<Vec<FrameBatch>> {
    let at = (marker::now() / 1_000) as i64;
    let transaction = connection.transaction()?;
    let mut batches = Vec::with_capacity(group.len());
    {
        let mut insert = transaction.prepare_cached(
            "INSERT INTO events (session, seq, at, kind, turn, frame) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        for append in group {
            let mut frames = Vec::new();
            for (seq, line) in (append.first..).zip(append.lines()) {
                let parsed: Line<'_> = serde_json::from_str(line).unwrap_or_default();
                let (kind, params) = (parsed.method.as_ref(), parsed.params.as_ref());
                let turn = params.and_then(|params| params.turn_id.as_deref());
                let (name, content) = match params.and_then(|params| params.delta) {
                    Some(delta) => ("text", delta.get()),
                    None => ("line", line),
                };
                let frame = format!(
                    "{{\"method\":\"event\",\"params\":{{\"seq\":{seq},\"at\":{at},\"kind\":\"{kind}\",\"{name}\":{content}}}}}"
                );
                insert.execute(params![append.session.name as i64, seq as i64, at, kind, turn, frame])?;
                frames.push(Utf8Bytes::from(frame));
            }
            batches.push(FrameBatch { first: append.first, frames });
        }
    }
    transaction.commit()?;
    Ok(batches)
}

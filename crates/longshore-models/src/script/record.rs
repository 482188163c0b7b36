//! The requests to the model: the newest in memory, all in a file if one is named.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::HeaderMap;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

/// How many requests are kept in memory.
const MOST_ENTRIES: usize = 1_000;
/// How many bytes of request bodies are kept in memory.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Headers whose values are secrets. An agent's settings may contain a real key.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie"];

/// One request.
#[derive(Debug, Clone, Serialize)]
pub struct RequestEntry {
    /// The number of the request on this server, from 1.
    pub number: u64,
    /// The time of the request, in the form of RFC 3339.
    pub at: String,
    /// The HTTP method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The headers, without secret values.
    pub headers: BTreeMap<String, String>,
    /// The body: its JSON or, if it is no JSON, its beginning as text.
    pub body: Arc<Value>,
    /// The number of the step that answered the request. None if no step did.
    pub step: Option<usize>,
    /// The note of that step.
    pub note: Option<String>,
    /// How the answer ended.
    pub outcome: Outcome,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The answer has not ended.
    Playing,
    /// The server sent everything.
    Played,
    /// The script dropped the connection.
    Cut,
    /// The client left before the end.
    Hangup,
    /// The server stopped before the end.
    Stopped,
}

/// The requests in memory.
#[derive(Debug, Clone, Serialize)]
pub struct Requests {
    /// How many older requests were dropped to bound the memory.
    pub dropped: u64,
    /// The newest requests, the oldest of them first.
    pub requests: Vec<RequestEntry>,
}

impl Requests {
    /// How many requests arrived, including the dropped ones.
    pub fn count(&self) -> u64 {
        self.dropped + self.requests.len() as u64
    }
}

/// A line of the file.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum RequestLogLine<'a> {
    Request(&'a RequestEntry),
    Outcome { number: u64, outcome: Outcome },
}

/// The record of one server.
#[derive(Debug, Default)]
pub(super) struct Record {
    state: Mutex<RecordState>,
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct RecordState {
    entries: VecDeque<(usize, RequestEntry)>,
    bytes: usize,
    added: u64,
    dropped: u64,
    file: Option<File>,
}

impl Record {
    /// A record that also appends to a file. Only the file's owner may read it, because prompts are private.
    pub(super) fn with_file(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).mode(0o600).open(path)?;
        let record = Record::default();
        record.lock().file = Some(file);
        Ok(record)
    }

    /// Adds a request, and returns its number. `size` is the length of its body.
    pub(super) fn add(&self, mut entry: RequestEntry, size: usize) -> u64 {
        let mut state = self.lock();
        state.added += 1;
        entry.number = state.added;
        let number = entry.number;
        state.write(&RequestLogLine::Request(&entry));
        state.bytes += size;
        state.entries.push_back((size, entry));
        while state.entries.len() > MOST_ENTRIES || state.bytes > MOST_BYTES {
            let Some((size, _)) = state.entries.pop_front() else {
                break;
            };
            state.bytes -= size;
            state.dropped += 1;
        }
        self.changes.send_replace(());
        number
    }

    /// Records the end of an answer.
    pub(super) fn finish(&self, number: u64, outcome: Outcome) {
        let mut state = self.lock();
        state.write(&RequestLogLine::Outcome { number, outcome });
        let mut newest_first = state.entries.iter_mut().rev();
        if let Some((_, entry)) = newest_first.find(|(_, entry)| entry.number == number) {
            entry.outcome = outcome;
        }
        self.changes.send_replace(());
    }

    /// Reports every later request and every later end of an answer.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    pub(super) fn requests(&self) -> Requests {
        let state = self.lock();
        Requests {
            dropped: state.dropped,
            requests: state.entries.iter().map(|(_, entry)| entry.clone()).collect(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RecordState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordState {
    /// Appends a line. A full disk only causes a warning, because it must not change the answer to the agent.
    fn write(&mut self, line: &RequestLogLine<'_>) {
        let Some(file) = &mut self.file else {
            return;
        };
        let written = serde_json::to_string(line)
            .map_err(io::Error::from)
            .and_then(|text| file.write_all(format!("{text}\n").as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, "a request could not be written to the record");
        }
    }
}

/// The recorded form of headers: secrets are hidden, bytes that are no text are replaced.
pub(super) fn shown_headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let shown = |name: &str, value: &[u8]| match SECRET_HEADERS.contains(&name) {
        true => "(hidden)".to_owned(),
        false => String::from_utf8_lossy(value).into_owned(),
    };
    headers.iter().map(|(name, value)| (name.to_string(), shown(name.as_str(), value.as_bytes()))).collect()
}

/// Records the end of one answer. If a ticket is dropped without an outcome, the client has left.
#[derive(Debug)]
pub(super) struct Ticket {
    record: Arc<Record>,
    number: u64,
    outcome: Outcome,
}

impl Ticket {
    pub(super) fn new(record: Arc<Record>, number: u64) -> Self {
        Ticket { record, number, outcome: Outcome::Hangup }
    }

    pub(super) fn ends(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.record.finish(self.number, self.outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> RequestEntry {
        RequestEntry {
            number: 0,
            at: String::new(),
            method: "POST".into(),
            path: path.into(),
            headers: BTreeMap::new(),
            body: Arc::new(Value::Null),
            step: None,
            note: None,
            outcome: Outcome::Playing,
        }
    }

    #[test]
    fn the_oldest_are_dropped_by_count_and_by_bytes() {
        let record = Record::default();
        for _ in 0..MOST_ENTRIES + 2 {
            record.add(entry("/small"), 1);
        }
        assert_eq!(record.requests().dropped, 2);
        assert_eq!(record.requests().requests[0].number, 3);

        record.add(entry("/huge"), MOST_BYTES);
        let kept = record.requests();
        assert_eq!(kept.requests.len(), 1);
        assert_eq!(kept.requests[0].path, "/huge");
        assert_eq!(kept.dropped, MOST_ENTRIES as u64 + 2);
    }

    #[test]
    fn secrets_are_hidden() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer key".parse().unwrap());
        headers.insert("user-agent", "agent/1".parse().unwrap());
        let shown = shown_headers(&headers);
        assert_eq!(shown["authorization"], "(hidden)");
        assert_eq!(shown["user-agent"], "agent/1");
    }
}

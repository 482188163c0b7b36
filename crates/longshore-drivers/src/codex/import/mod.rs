//! Reads Codex's rollouts, one per thread: `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl`, and archived
//! ones in `archived_sessions`.
//!
//! A rollout has lines `{"timestamp", "ordinal", "type", "payload"}`. It begins with `session_meta`. Lines of
//! the type `event_msg` are events. Lines of the type `response_item` are the model's input and output, which
//! repeat most of the events. The rollout of a fork contains only the lines after the fork. Its
//! `history_base` names the other rollout, and says how much of it comes before.

mod calls;
mod items;
mod reader;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use longshore_model::event::Raw;
use longshore_model::lifecycle::NativeId;
use longshore_model::session::title_of;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::discover::Surroundings;
use crate::import::{Base, Head, RecordReader, Records};

pub use reader::Rollout;

/// How many bytes of the list of titles are read.
const TITLES: u64 = 16 << 20;
/// How many characters a thread's id has.
const UUID: usize = 36;

/// The rollouts of Codex.
#[derive(Clone, Copy, Debug)]
pub struct Rollouts;

/// One line of a rollout.
#[derive(Deserialize)]
struct RolloutLine<'a> {
    #[serde(borrow, default)]
    timestamp: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
}

/// The type of a payload.
#[derive(Default, Deserialize)]
struct PayloadKind<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'a, str>,
}

/// `session_meta`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Meta {
    timestamp: String,
    cwd: String,
    /// `{"subagent":{"thread_spawn":{"parent_thread_id":..}}}` for a thread that another thread spawned.
    source: Value,
    parent_thread_id: Option<String>,
    history_mode: String,
    history_base: Option<HistoryBase>,
    git: Option<Git>,
}

#[derive(Debug, Deserialize)]
struct HistoryBase {
    thread_id: String,
    end_byte_offset: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Git {
    branch: Option<String>,
    commit_hash: Option<String>,
    repository_url: Option<String>,
}

impl Rollouts {
    fn home(around: &Surroundings) -> Option<PathBuf> {
        let set = around.var("CODEX_HOME").map(PathBuf::from);
        set.or_else(|| around.home().map(|home| home.join(".codex")))
    }
}

impl Records for Rollouts {
    fn home_variable(&self) -> &'static str {
        "CODEX_HOME"
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let below = |home: PathBuf| [home.join("sessions"), home.join("archived_sessions")];
        Self::home(around).into_iter().flat_map(below).collect()
    }

    fn native(&self, file: &Path) -> Option<NativeId> {
        let name = file.file_name()?.to_str()?.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
        let thread = name.get(name.len().checked_sub(UUID)?..)?;
        let is_uuid = thread.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
        is_uuid.then(|| thread.to_owned())
    }

    fn look(&self, _: &Path, lines: &mut dyn Iterator<Item = Raw>) -> Option<Head> {
        let mut head: Option<Head> = None;
        for text in lines {
            let Ok(line) = serde_json::from_str::<RolloutLine<'_>>(&text) else { continue };
            match (&mut head, &*line.kind) {
                (None, "session_meta") => head = Some(head_of(&line)?),
                (Some(head), "event_msg") => {
                    let title = reader::first_words(line.payload).map(|words| title_of(&words));
                    head.title = title.filter(|title| !title.is_empty());
                    if head.title.is_some() {
                        break;
                    }
                }
                (None | Some(_), _) => {}
            }
        }
        head
    }

    fn titles(&self, around: &Surroundings) -> BTreeMap<NativeId, String> {
        #[derive(Deserialize)]
        struct ThreadTitle {
            id: String,
            thread_name: String,
        }
        let file = Self::home(around).and_then(|home| File::open(home.join("session_index.jsonl")).ok());
        let lines = file.map(|file| BufReader::new(file.take(TITLES)).lines().map_while(Result::ok));
        let named =
            lines.into_iter().flatten().filter_map(|line| serde_json::from_str::<ThreadTitle>(&line).ok());
        // Each renaming of a thread adds a line. An empty title does not count.
        let mut titles: BTreeMap<NativeId, String> =
            named.map(|ThreadTitle { id, thread_name }| (id, thread_name)).collect();
        titles.retain(|_, title| !title.trim().is_empty());
        titles
    }

    fn reader(&self, native: &str) -> Box<dyn RecordReader> {
        Box::new(Rollout::new(native))
    }
}

fn head_of(line: &RolloutLine<'_>) -> Option<Head> {
    let meta: Meta = serde_json::from_str(line.payload.get()).ok()?;
    let spawned = meta.source["subagent"]["thread_spawn"]["parent_thread_id"].as_str().map(str::to_owned);
    let created_at = meta.timestamp.parse().or_else(|_| line.timestamp.parse()).unwrap_or_default();
    (!meta.cwd.is_empty()).then_some(Head {
        cwd: meta.cwd,
        title: None,
        created_at,
        parent: meta.parent_thread_id.or(spawned),
        base: meta.history_base.map(|base| Base { native: base.thread_id, until: base.end_byte_offset }),
        closed: false,
    })
}

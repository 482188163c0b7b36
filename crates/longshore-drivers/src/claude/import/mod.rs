//! Reads Claude Code's transcripts: `projects/<folder>/<session>.jsonl`, and its sub-agents' transcripts in
//! `projects/<folder>/<session>/subagents/agent-<agent>.jsonl`.
//!
//! A transcript has one line per block of a message; lines of one message have the same `message.id`. No line
//! marks the end of a turn: a turn ends with a message whose `stop_reason` is an end, or with the next
//! message of a person. Between them are lines of the program itself: queue operations, attachments,
//! snapshots, titles.

mod branches;
mod line;
mod reader;
mod tools;

use std::path::{Path, PathBuf};

use longshore_model::event::Raw;
use longshore_model::lifecycle::NativeId;
use longshore_model::session::title_of;
use serde::Deserialize;

use crate::discover::Surroundings;
use crate::import::{Head, RecordReader, Records};

pub use reader::Transcript;

/// The folder of sub-agents, beside the session's own transcript.
const CHILDREN: &str = "subagents";

/// The transcripts of Claude Code.
#[derive(Clone, Copy, Debug)]
pub struct Transcripts;

impl Records for Transcripts {
    fn home_variable(&self) -> &'static str {
        "CLAUDE_CONFIG_DIR"
    }

    fn folders(&self, around: &Surroundings) -> Vec<PathBuf> {
        let set = around.var("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let home = set.or_else(|| around.home().map(|home| home.join(".claude")));
        home.map(|home| home.join("projects")).into_iter().collect()
    }

    fn native(&self, file: &Path) -> Option<NativeId> {
        let name = file.file_name()?.to_str()?.strip_suffix(".jsonl")?;
        match parent_of(file) {
            Some(_) => name.strip_prefix("agent-").map(str::to_owned),
            // Old versions kept sub-agents beside the sessions, and did not name their sessions.
            None => (!name.is_empty() && !name.starts_with("agent-")).then(|| name.to_owned()),
        }
    }

    fn look(&self, file: &Path, lines: &mut dyn Iterator<Item = Raw>) -> Option<Head> {
        let parent = parent_of(file);
        let mut head = Head { closed: parent.is_some(), parent, ..Head::default() };
        if head.parent.is_some() {
            head.title = told_title(file);
        }
        for text in lines {
            let Ok(line) = serde_json::from_str::<line::TranscriptLine>(&text) else { continue };
            if head.created_at == Default::default() {
                head.created_at = line.timestamp.parse().unwrap_or_default();
            }
            if head.cwd.is_empty() {
                head.cwd = line.cwd.clone().unwrap_or_default();
            }
            if head.title.is_none() {
                head.title = line.prompt().map(|prompt| title_of(&prompt)).filter(|title| !title.is_empty());
            }
            if head.title.is_some() && !head.cwd.is_empty() {
                break;
            }
        }
        (!head.cwd.is_empty() && head.title.is_some()).then_some(head)
    }

    fn reader(&self, native: &str) -> Box<dyn RecordReader> {
        Box::new(Transcript::new(native))
    }
}

/// The session of a sub-agent's transcript.
fn parent_of(file: &Path) -> Option<NativeId> {
    let folder = file.parent()?;
    let session = folder.parent()?.file_name()?.to_str()?;
    (folder.file_name()? == CHILDREN).then(|| session.to_owned())
}

/// The description of a sub-agent's task. It is in a file beside the transcript.
fn told_title(file: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct Meta {
        description: String,
    }
    let told = std::fs::read(file.with_extension("meta.json")).ok()?;
    serde_json::from_slice::<Meta>(&told).ok().map(|meta| meta.description)
}

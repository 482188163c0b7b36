//! Conversations from elsewhere. The anchor finds them in the agents' own records, and reads them from there.
//!
//! | module | holds |
//! |---|---|
//! | this module | an agent's records, and their readers |
//! | `lines` | a record as lines with their positions; the record of a fork with the shared part |
//! | `index` | the index of all records; updating it costs one look at the folders |
//! | `watch` | the tasks: one looks for records, two read |
//! | `served` | one more task for each agent that the anchor must ask: when it asks, and for what |
//! | `outside` | the part of a record that our own driver did not report |
//! | `served_index` | the conversations that these agents have reported |
//!
//! The driver of an agent knows its records: [`crate::codex::import`], [`crate::claude::import`], and
//! [`crate::opencode::import`]. Only OpenCode itself can read its own records, so the anchor asks it.
//!
//! | queue | bound | when it is full |
//! |---|---|---|
//! | records that are known | [`RECORDS`] | the oldest are left out, with a warning |
//! | records to be read | one place per record | a second request for the same record is the same request |
//! | from a record to the hub | two batches of about [`BATCH`] events | reading waits |
//!
//! | questions to agents | one for each task that looks or reads | the task waits |
//! | a conversation from an asked agent | [`LONGEST`] bytes | it is left out, with a warning |
//!
//! The import has its own tasks and threads: it waits for no running agent, and no running agent waits for it. Only
//! conversations that an agent must report wait for that agent.

mod index;
mod lines;
mod outside;
mod read_queue;
mod served;
mod served_index;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use longshore_model::event::{Body, Draft, Raw, RawFault};
use longshore_model::id::{ItemId, PromptId, TurnId};
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;

use crate::discover::Surroundings;

pub use lines::{RecordLine, RecordLines, RecordPart};
pub(crate) use read_queue::ReadRequest;
pub(crate) use served::AgentErrand;
pub(crate) use watch::Watcher;

/// How many records the index may have.
pub const RECORDS: usize = 200_000;
/// How many events a batch has.
pub const BATCH: usize = 500;
/// How many bytes a conversation may have if the agent must report it.
pub const LONGEST: usize = 256 << 20;

/// Whether and how the anchor looks for records.
#[derive(Clone, Debug, Default)]
pub struct WatchPast {
    /// How often it looks. If none, it looks only on request.
    pub every: Option<Duration>,
    /// It ignores records that nobody has written for this long.
    pub oldest: Option<Duration>,
}

/// An agent's own records of its conversations: one file of lines for each conversation. The files only grow.
pub trait Records: fmt::Debug + Send + Sync {
    /// The environment variable with the folder in which the agent keeps all of its files.
    fn home_variable(&self) -> &'static str;

    /// The folders that contain records, directly or in subfolders.
    fn folders(&self, around: &Surroundings) -> Vec<PathBuf>;

    /// The conversation of a record file, from the file's name.
    fn native(&self, file: &Path) -> Option<NativeId>;

    /// Reads the beginning of a record. None if it contains no conversation yet.
    fn look(&self, file: &Path, lines: &mut dyn Iterator<Item = Raw>) -> Option<Head>;

    /// The titles of conversations, if the agent keeps them apart from the records.
    fn titles(&self, around: &Surroundings) -> BTreeMap<NativeId, String> {
        let _ = around;
        BTreeMap::new()
    }

    /// A new reader of a record, at its beginning.
    fn reader(&self, native: &str) -> Box<dyn RecordReader>;
}

/// The conversations of an agent that only the agent itself can read. The agent must have one process for all
/// sessions ([`AgentSpec::shared`](crate::spec::AgentSpec::shared)), which answers for its conversations and
/// their messages.
///
/// The process is costly. It starts for questions about conversations when the hub starts, when a person
/// asks, and otherwise at most every five minutes while the files change. While the process runs for a
/// session of the hub, the anchor asks it after every change of the files.
pub trait ServedRecords: fmt::Debug + Send + Sync {
    /// The environment variables with the folders in which the agent keeps its files.
    fn home_variables(&self) -> &'static [&'static str];

    /// The files that change when a conversation continues. None if there has been no conversation.
    fn files(&self, around: &Surroundings) -> Vec<PathBuf>;

    /// The place of each message, in milliseconds since 1970. A message that is added later gets a place
    /// behind all earlier messages. Messages with the same place belong together. If a message is unfinished,
    /// the list ends before it, and the anchor waits for it. `rest` is the time of the last change, if that
    /// was long ago. Then the anchor expects no more messages.
    fn places(&self, messages: &[Raw], rest: Option<u64>) -> Vec<u64>;

    /// A new reader of a conversation, at its beginning. It reads a line for each message.
    fn reader(&self, native: &str) -> Box<dyn RecordReader>;
}

/// The beginning of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The work tree.
    pub cwd: String,
    /// The title of the conversation.
    pub title: Option<String>,
    /// When the conversation began.
    pub created_at: Timestamp,
    /// The conversation that delegated to this one.
    pub parent: Option<NativeId>,
    /// The part of another record that comes before this one.
    pub base: Option<Base>,
    /// Whether the agent itself would refuse to continue the conversation.
    pub closed: bool,
}

/// A part of another record that is the beginning of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The conversation of the other record.
    pub native: NativeId,
    /// How many bytes of the other record belong to this one.
    pub until: u64,
}

/// Reads a record line by line. The result depends only on the lines, so reading a record in pieces gives the
/// same result as reading it at once. Every line gives at least one draft with the line in `raw`.
pub trait RecordReader: Send {
    /// Reads the next line.
    fn line(&mut self, line: &Raw, fault: Option<RawFault>, reading: &mut Reading);

    /// Nobody has written to the record for a long time. The reader closes what is still open, because the
    /// record will not do so.
    fn rest(&mut self, reading: &mut Reading);

    /// Whether the last line is likely to be an end, although no line says so. Then the anchor calls
    /// [`RecordReader::rest`] sooner.
    fn seems_done(&self) -> bool {
        false
    }
}

/// The drafts of a reader, and the time of its last line.
#[derive(Debug, Default)]
pub struct Reading {
    /// The time of the last line.
    pub at: Timestamp,
    /// The drafts.
    pub drafts: Vec<(Timestamp, Draft)>,
    /// The prompt that began a turn in the last line, if the record contains the sender's id of the prompt.
    pub prompt: Option<PromptId>,
    /// Whether the last line began a turn that the agent's program answers without the model. Programs also
    /// record such turns after a change of a setting, so perhaps nobody sent a prompt.
    pub by_program: bool,
}

impl Reading {
    /// Sets the time from a line. An unreadable time changes nothing.
    pub fn at(&mut self, moment: &str) {
        if let Ok(at) = moment.parse() {
            self.at = at;
        }
    }

    /// Adds a draft with the time of the line.
    pub fn say(&mut self, draft: Draft) {
        self.drafts.push((self.at, draft));
    }

    /// Keeps a line that has no counterpart among the events.
    pub fn keep(&mut self, kind: impl Into<String>, fault: Option<RawFault>, line: &Raw) {
        self.say(Draft::new(Body::Raw { kind: kind.into(), fault }).raw(Raw::clone(line)));
    }
}

/// Makes our ids from the names in a record. The same name always gives the same id, so that reading twice
/// gives the same events.
#[derive(Clone, Debug)]
pub struct RecordNames {
    agent: &'static str,
    native: NativeId,
}

impl RecordNames {
    /// The ids of one conversation.
    pub fn of(agent: &'static str, native: &str) -> Self {
        Self { agent, native: native.to_owned() }
    }

    /// The id of a turn.
    pub fn turn(&self, name: &str) -> TurnId {
        TurnId::of_words(&[self.agent, &self.native, "turn", name])
    }

    /// The id of an item in a turn.
    pub fn item(&self, turn: &str, name: &str) -> ItemId {
        ItemId::of_words(&[self.agent, &self.native, "item", turn, name])
    }
}

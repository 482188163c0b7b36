//! Conversations from elsewhere: found in the agents' own records, and read from there.
//!
//! | module | holds |
//! |---|---|
//! | this module | an agent's records, and their readers |
//! | `lines` | a record as lines with their positions, a fork's with the shared part |
//! | `index` | the index of all records; updating it costs one look at the folders |
//! | `watch` | the tasks: one looks for records, two read |
//! | `served` | one more task for each agent that must be asked: when, and what for |
//! | `outside` | the part of a record that our own driver did not report |
//! | `served_index` | the conversations that asked agents have reported |
//!
//! The driver of an agent knows its records: [`crate::codex::import`], [`crate::claude::import`], and
//! [`crate::opencode::import`], whose records only OpenCode itself reads, so it is asked.
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

/// How many records are known at once.
pub const RECORDS: usize = 200_000;
/// How many events a batch has.
pub const BATCH: usize = 500;
/// How many bytes a conversation may have that an agent is asked for.
pub const LONGEST: usize = 256 << 20;

/// Whether and how records are looked for.
#[derive(Clone, Debug, Default)]
pub struct WatchPast {
    /// How often; none looks only when asked to.
    pub every: Option<Duration>,
    /// Records that nobody has written for this long are ignored.
    pub oldest: Option<Duration>,
}

/// What an agent keeps of its conversations: files of lines that only grow, one for each conversation.
pub trait Records: fmt::Debug + Send + Sync {
    /// The environment variable that says where the agent keeps everything.
    fn home_variable(&self) -> &'static str;

    /// The folders that have records in them, or in folders below.
    fn folders(&self, around: &Surroundings) -> Vec<PathBuf>;

    /// The conversation that a file is the record of, told by the file's name.
    fn native(&self, file: &Path) -> Option<NativeId>;

    /// What the beginning of a record tells; none when there is no conversation in it yet.
    fn look(&self, file: &Path, lines: &mut dyn Iterator<Item = Raw>) -> Option<Head>;

    /// The titles that conversations were given, where the agent keeps them apart from the records.
    fn titles(&self, around: &Surroundings) -> BTreeMap<NativeId, String> {
        let _ = around;
        BTreeMap::new()
    }

    /// Somebody who reads a record from its beginning.
    fn reader(&self, native: &str) -> Box<dyn RecordReader>;
}

/// The conversations of an agent that only the agent itself can read. The agent must have one process for all
/// sessions ([`AgentSpec::shared`](crate::spec::AgentSpec::shared)), which answers for its conversations and
/// their messages.
///
/// This process is costly. It starts for that purpose when the hub starts, when a person asks for it, and
/// otherwise at most every five minutes while the files change. While it runs for a session of ours, it is
/// asked whenever the files have changed.
pub trait ServedRecords: fmt::Debug + Send + Sync {
    /// The environment variables that say where the agent keeps everything.
    fn home_variables(&self) -> &'static [&'static str];

    /// The files that change when something is said. None when nothing was ever said.
    fn files(&self, around: &Surroundings) -> Vec<PathBuf>;

    /// Where each message stands, in milliseconds since 1970: a message that is added later stands behind all that were
    /// there, and those that stand at the same place belong together. There are fewer places than messages when one of
    /// them is yet to be finished, which is waited for. `rest` is when something last happened, if that was long
    /// ago: then nothing more is to come.
    fn places(&self, messages: &[Raw], rest: Option<u64>) -> Vec<u64>;

    /// Somebody who reads a conversation from its beginning, a line for each message.
    fn reader(&self, native: &str) -> Box<dyn RecordReader>;
}

/// The beginning of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The work tree.
    pub cwd: String,
    /// The title of the conversation.
    pub title: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// The conversation that delegated to this one.
    pub parent: Option<NativeId>,
    /// The part of another record that comes before this one.
    pub base: Option<Base>,
    /// Whether the agent itself would not continue the conversation.
    pub closed: bool,
}

/// A part of another record that is the beginning of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The conversation of the record.
    pub native: NativeId,
    /// How many bytes of the record.
    pub until: u64,
}

/// Reads a record line by line. The result depends only on the lines, so a record that is read in pieces
/// gives the same as one that is read at once. Every line gives at least one draft with the line in `raw`.
pub trait RecordReader: Send {
    /// The next line.
    fn line(&mut self, line: &Raw, fault: Option<RawFault>, reading: &mut Reading);

    /// Nobody has written to the record for long: what is still open in it will not be closed there.
    fn rest(&mut self, reading: &mut Reading);

    /// Whether what was read last is likely to be an end, though nothing says so: then that comes sooner.
    fn seems_done(&self) -> bool {
        false
    }
}

/// The result of a reader, and its time.
#[derive(Debug, Default)]
pub struct Reading {
    /// The moment that the lines speak of.
    pub at: Timestamp,
    /// The drafts.
    pub drafts: Vec<(Timestamp, Draft)>,
    /// The prompt that began a turn in the last line, if the record has the sender's id of it.
    pub prompt: Option<PromptId>,
    /// Whether the last line began a turn that the agent's program answers alone, without the model. Programs
    /// also record such turns when a setting changes, so perhaps nobody sent a message.
    pub by_program: bool,
}

impl Reading {
    /// Sets the time of the line. An unreadable time changes nothing.
    pub fn at(&mut self, moment: &str) {
        if let Ok(at) = moment.parse() {
            self.at = at;
        }
    }

    /// Something happened.
    pub fn say(&mut self, draft: Draft) {
        self.drafts.push((self.at, draft));
    }

    /// Keeps a line for which the vocabulary has no word.
    pub fn keep(&mut self, kind: impl Into<String>, fault: Option<RawFault>, line: &Raw) {
        self.say(Draft::new(Body::Raw { kind: kind.into(), fault }).raw(Raw::clone(line)));
    }
}

/// Our names for what a record names: a function of its own, so that reading twice gives the same.
#[derive(Clone, Debug)]
pub struct RecordNames {
    agent: &'static str,
    native: NativeId,
}

impl RecordNames {
    /// The names of one conversation.
    pub fn of(agent: &'static str, native: &str) -> Self {
        Self { agent, native: native.to_owned() }
    }

    /// A turn.
    pub fn turn(&self, name: &str) -> TurnId {
        TurnId::of_words(&[self.agent, &self.native, "turn", name])
    }

    /// An item of a turn.
    pub fn item(&self, turn: &str, name: &str) -> ItemId {
        ItemId::of_words(&[self.agent, &self.native, "item", turn, name])
    }
}

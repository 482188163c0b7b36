//! Conversations that were held elsewhere: found in the agents' own records, and read from there.
//!
//! | module | holds |
//! |---|---|
//! | this one | what is known of an agent's records, and what reads them |
//! | [`codex`], [`claude`] | the records of these two: pure, line by line |
//! | [`opencode`] | what OpenCode keeps, which only OpenCode reads: it is asked |
//! | `lines` | a record as lines with their places in it, a fork's with the part that it shares |
//! | `index` | every record that there is; a look at it costs a look at the folders |
//! | `watch` | the tasks: one looks for records, two read |
//! | `served` | one more task for each agent that is asked: when it is, and what for |
//! | `outside` | how much of a record our own driver did not tell |
//! | `served_index` | what agents that are asked have said of their conversations |
//!
//! | queue | bound | when it is full |
//! |---|---|---|
//! | records that are known | [`RECORDS`] | the oldest are left out, and the log says so |
//! | records to be read | one place for each that is known | asked for twice it is read once |
//! | from a record to the hub | two batches of about [`BATCH`] events | reading waits |
//!
//! | questions to agents | one for each that looks or reads | it waits |
//! | a conversation that is asked for | [`LONGEST`] bytes | it is left alone, and the log says so |
//!
//! Nothing of it waits for an agent and no agent waits for it: records are read by tasks and threads of their own. Only
//! what an agent has to be asked for waits for that one.

pub mod claude;
pub mod codex;
mod index;
mod lines;
pub mod opencode;
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
pub(crate) use served::AgentQuery;
pub(crate) use watch::Watcher;

/// How many records are known at once.
pub const RECORDS: usize = 200_000;
/// How many events are told at once.
pub const BATCH: usize = 500;
/// How many bytes a conversation may have that an agent is asked for.
pub const LONGEST: usize = 256 << 20;

/// Whether and how records are looked for.
#[derive(Clone, Debug, Default)]
pub struct WatchPast {
    /// How often; none looks only when asked to.
    pub every: Option<Duration>,
    /// Records that nobody has written to for so long are left alone.
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

/// What an agent keeps of its conversations in a form of its own, which it alone reads. It must have one process for all
/// sessions ([`AgentSpec::shared`](crate::spec::AgentSpec::shared)), which is asked for its conversations and for
/// their messages.
///
/// Such a process is costly. It is started to be asked when the hub starts, when somebody wants to know now, and after that
/// at most every five minutes while the files change. While it runs for the sake of a session of ours, it is asked
/// whenever the files have changed.
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

/// What the beginning of a record tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The work tree.
    pub cwd: String,
    /// What it is about.
    pub title: Option<String>,
    /// When it began.
    pub created_at: Timestamp,
    /// The conversation that delegated to this one.
    pub parent: Option<NativeId>,
    /// The part of another record that comes before this one.
    pub base: Option<Base>,
    /// The agent would not go on with it by itself.
    pub closed: bool,
}

/// A part of another record that is the beginning of this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Whose record.
    pub native: NativeId,
    /// How many bytes of it.
    pub until: u64,
}

/// Reads a record line by line. What it says depends on the lines and on nothing else, so that a record that is read in
/// pieces says what it says when it is read at once. Every line leaves at least one draft that has the line in `raw`.
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

/// What a reader has told, and when it happened.
#[derive(Debug, Default)]
pub struct Reading {
    /// The moment that the lines speak of.
    pub at: Timestamp,
    /// What was told.
    pub drafts: Vec<(Timestamp, Draft)>,
    /// The prompt with which the last line began a turn, where the record has the name that whoever said it gave it.
    pub prompt: Option<PromptId>,
    /// The last line began a turn that the agent's program answers alone, without the model. Programs write such turns down
    /// by themselves when they are told to change a setting, so that nobody need have said anything.
    pub by_program: bool,
}

impl Reading {
    /// The line speaks of another moment. What cannot be read leaves it as it is.
    pub fn at(&mut self, moment: &str) {
        if let Ok(at) = moment.parse() {
            self.at = at;
        }
    }

    /// Something happened.
    pub fn say(&mut self, draft: Draft) {
        self.drafts.push((self.at, draft));
    }

    /// A line that says nothing we have a word for.
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

//! A recording, heard again: each run of `codex exec` as the prompt of a session of ours.
//!
//! A run that resumes a thread which an earlier one named is the next turn of the same session, in a driver that knows
//! only what a revived session knows.

use std::collections::HashMap;
use std::sync::Arc;

use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, Ids, PromptId, SessionId, TurnId};
use longshore_model::lifecycle::{Ready, Sleep};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::{Exec, TITLE, name};
use crate::capture::{Capture, Direction, Entry, Step};

/// When recordings begin: a moment like any other, so that the same recording always gives the same events.
const BEGINNING: i64 = 1_794_768_000_000_000;
/// The work tree of recordings that name none.
const SOMEWHERE: &str = "/home/dev/project";
/// Flags of `codex exec` that are followed by a value.
const WITH_VALUE: [&str; 12] =
    ["-c", "--config", "-i", "--image", "-m", "--model", "-p", "--profile", "-s", "--sandbox", "-C", "-o"];

/// Has a driver hear a recording.
pub fn replay(capture: &Capture) -> Vec<Step> {
    let mut player = Player::new();
    for (at, entry) in capture.entries.iter().enumerate() {
        player.play(entry, &capture.entries[at + 1..]);
    }
    player.steps
}

/// Whether this is the start of such a process.
pub fn is_run(entry: &Entry) -> bool {
    entry.dir == Direction::Spawn && words_of(entry).iter().any(|word| word == "exec")
}

/// Whoever sits between a recording and a driver.
#[derive(Debug)]
pub struct Player {
    /// All that has happened so far.
    pub steps: Vec<Step>,
    driver: Option<Exec>,
    ids: Ids,
    now: Timestamp,
    /// Threads that are sessions.
    sessions: HashMap<String, SessionId>,
    /// What the process wrote to stderr.
    stderr: Vec<String>,
}

impl Default for Player {
    fn default() -> Self {
        Self::new()
    }
}

impl Player {
    /// A new one. It always makes the same ids.
    pub fn new() -> Self {
        Self {
            steps: Vec::new(),
            driver: None,
            ids: Ids::seeded(2),
            now: Timestamp::from_micros(BEGINNING),
            sessions: HashMap::new(),
            stderr: Vec::new(),
        }
    }

    /// One entry of a recording. What follows it is looked at only to see what a process was told.
    pub fn play(&mut self, entry: &Entry, ahead: &[Entry]) {
        let micros = (entry.t * 1_000_000.0) as i64;
        self.wait_until(Timestamp::from_micros(BEGINNING.saturating_add(micros)));
        match entry.dir {
            Direction::Spawn => self.spawn(&words_of(entry), ahead),
            Direction::FromAgent => {
                if self.driver.is_none() {
                    self.spawn(&[], ahead);
                }
                self.feed(Input::Line(Arc::from(entry.line())));
            }
            Direction::Stderr => self.stderr.push(entry.line()),
            Direction::Exit => self.exit(entry),
            // What it was told was looked at when it was started.
            Direction::ToAgent | Direction::Note => {}
        }
    }

    /// Lets time pass: at each deadline of the driver it is told so.
    pub fn wait(&mut self, seconds: f64) {
        self.wait_until(self.now.plus_millis((seconds * 1_000.0) as i64));
    }

    /// Whether the driver waits for something that has a deadline.
    pub fn waits(&self) -> bool {
        self.driver.as_ref().is_some_and(|driver| driver.deadline().is_some())
    }

    fn wait_until(&mut self, until: Timestamp) {
        // Every tick ends at least one wait, of which there are not many.
        for _ in 0..1_000 {
            let due = self.driver.as_ref().and_then(Driver::deadline);
            let Some(due) = due.filter(|due| *due <= until) else { break };
            self.now = self.now.max(due);
            self.feed(Input::Tick);
        }
        self.now = self.now.max(until);
    }

    /// A process starts: a session is opened, or revived, and its prompt is what the process was told.
    fn spawn(&mut self, words: &[String], ahead: &[Entry]) {
        let process: Vec<&Entry> = ahead.iter().take_while(|entry| entry.dir != Direction::Spawn).collect();
        let told: Vec<String> = process
            .iter()
            .filter(|entry| entry.dir == Direction::ToAgent)
            .map(|entry| entry.line())
            .collect();
        let Told { flags, plain } = Told::of(words);
        let mut plain = plain.into_iter();
        let (start, prompt) = match plain.next() {
            Some(verb) if verb == "resume" || verb == "fork" => {
                let last = words.iter().any(|word| word == "--last");
                let native = if last { thread_in(&process) } else { plain.next() };
                let start = match (verb.as_str(), native) {
                    ("fork", Some(native)) => Start::Fork { native },
                    (_, Some(native)) => Start::Resume { native },
                    (_, None) => Start::New,
                };
                (start, plain.next())
            }
            prompt => (Start::New, prompt),
        };
        let text = prompt.filter(|prompt| prompt != "-").unwrap_or_else(|| told.join("\n"));
        let flag = |names: [&str; 2]| {
            flags
                .iter()
                .rev()
                .find(|(name, _)| names.contains(&name.as_str()))
                .map(|(_, value)| value.clone())
        };
        let mode = match flag(["-s", "--sandbox"]).as_deref() {
            Some("danger-full-access") => Mode::Full,
            Some("workspace-write") => Mode::AutoEdit,
            Some(_) | None => Mode::Plan,
        };
        let known = match &start {
            Start::Resume { native } => self.sessions.get(native).copied(),
            Start::New | Start::Told { .. } | Start::Fork { .. } => None,
        };
        let session = known.unwrap_or_else(|| SessionId(self.ids.next(self.now)));
        let (cwd, model) = (SOMEWHERE.to_owned(), flag(["-m", "--model"]));
        self.driver = Some(Exec::new());
        self.stderr.clear();
        let mcp_servers = Vec::new();
        self.feed(Input::Open(Launch { session, agent: name(), cwd, mode, model, mcp_servers, start }));
        let turn = TurnId(self.ids.next(self.now));
        let prompt = PromptId(self.ids.next(self.now));
        self.tell(session, AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() });
    }

    /// A session tells its agent something.
    pub fn tell(&mut self, session: SessionId, command: AgentCommand) {
        self.steps.push(Step::Told { session, command: command.clone() });
        self.feed(Input::Tell { session, command });
    }

    fn exit(&mut self, entry: &Entry) {
        let said: Value = serde_json::from_str(entry.msg.get()).unwrap_or_default();
        let code = said["exit"].as_i64().or_else(|| said["code"].as_i64());
        let exit_code = code.and_then(|code| i32::try_from(code).ok());
        let stderr = std::mem::take(&mut self.stderr);
        let last = stderr.iter().rev().find(|line| !line.trim().is_empty());
        let reason = match (exit_code, last) {
            (Some(0), _) => format!("{TITLE} ended"),
            (Some(code), Some(last)) => format!("{TITLE} ended with code {code}: {last}"),
            (Some(code), None) => format!("{TITLE} ended with code {code}"),
            (None, _) => format!("{TITLE} is gone"),
        };
        let sleep = Sleep { exit_code, stderr: stderr.join("\n"), ..Sleep::default() };
        self.feed(Input::Ended { sleep, reason });
    }

    /// Has the driver do something, and takes down what comes of it.
    fn feed(&mut self, input: Input) {
        let Some(driver) = &mut self.driver else { return };
        let mut out = Output::default();
        driver.handle(input, &mut Context { now: self.now, ids: &mut self.ids }, &mut out);
        for (session, draft) in out.said {
            self.note_ready(session, &draft);
            self.steps.push(Step::Said { session, draft: Box::new(draft) });
        }
        if let Some(run) = out.run {
            let run = json!({"type": "run", "arguments": run.arguments, "input": run.input});
            self.steps.push(Step::Wrote(run.to_string()));
        }
        if out.halt {
            self.steps.push(Step::Wrote(json!({"type": "halt"}).to_string()));
        }
        self.steps.extend(out.finished.map(Step::Finished));
    }

    fn note_ready(&mut self, session: SessionId, draft: &Draft) {
        if let Body::SessionReady(Ready { native: Some(native), .. }) = &draft.body {
            self.sessions.insert(native.clone(), session);
        }
    }
}

/// What a process was started with.
fn words_of(entry: &Entry) -> Vec<String> {
    let spawn: Value = serde_json::from_str(entry.msg.get()).unwrap_or_default();
    let words = spawn["spawn"].as_array().or_else(|| spawn["argv"].as_array());
    words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The words after `exec`.
#[derive(Default)]
struct Told {
    /// Flags that have a value.
    flags: Vec<(String, String)>,
    /// What is no flag.
    plain: Vec<String>,
}

impl Told {
    fn of(words: &[String]) -> Self {
        let mut told = Self::default();
        let mut words = words.iter().skip_while(|word| *word != "exec").skip(1);
        while let Some(word) = words.next() {
            if WITH_VALUE.contains(&word.as_str()) {
                told.flags.extend(words.next().map(|value| (word.clone(), value.clone())));
            } else if word == "-" || !word.starts_with('-') {
                told.plain.push(word.clone());
            }
        }
        told
    }
}

/// What a process calls its thread.
fn thread_in(process: &[&Entry]) -> Option<String> {
    process.iter().filter(|entry| entry.dir == Direction::FromAgent).find_map(|entry| {
        let said: Value = serde_json::from_str(entry.msg.get()).ok()?;
        said["thread_id"].as_str().map(str::to_owned)
    })
}

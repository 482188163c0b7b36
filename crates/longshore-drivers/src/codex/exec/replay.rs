//! Replays a recording: each run of `codex exec` becomes a prompt of a session of ours.
//!
//! If a run resumes the thread of an earlier run, it becomes the next turn of the same session. It gets a new
//! driver, which knows only what the driver of a revived session knows.

use std::sync::Arc;

use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::Input;
use longshore_model::id::{PromptId, TurnId};
use longshore_model::lifecycle::Sleep;
use serde_json::Value;

use super::{Exec, TITLE, name};
use crate::capture::{Capture, CaptureEntry, DEFAULT_CWD, Direction, Harness, Player, ReplayStep};

/// Flags of `codex exec` that have a value.
const WITH_VALUE: [&str; 12] =
    ["-c", "--config", "-i", "--image", "-m", "--model", "-p", "--profile", "-s", "--sandbox", "-C", "-o"];

/// Replays a recording through a driver.
pub fn replay(capture: &Capture) -> Vec<ReplayStep> {
    ExecPlayer::default().hear(capture)
}

/// Whether this entry starts a process of `codex exec`.
pub fn is_run(entry: &CaptureEntry) -> bool {
    words_of(entry).iter().any(|word| word == "exec")
}

/// Replays a recording for a driver.
#[derive(Debug)]
pub struct ExecPlayer {
    stand: Harness<Exec>,
    /// The lines of stderr of the process.
    stderr: Vec<String>,
}

impl Default for ExecPlayer {
    fn default() -> Self {
        // One recording may also contain `codex app-server`. Another seed gives this driver other ids.
        Self { stand: Harness::seeded(2), stderr: Vec::new() }
    }
}

impl Player for ExecPlayer {
    type Driver = Exec;

    fn harness(&mut self) -> &mut Harness<Exec> {
        &mut self.stand
    }

    fn begins(&mut self, _said: &Value) -> bool {
        false
    }

    fn client_said(&mut self, _said: &Value, _ahead: &[CaptureEntry]) {
        // The input of the process was already read at its start.
    }

    fn agent_said(&mut self, line: &str) {
        self.feed(Input::Line(Arc::from(line)));
    }

    fn other_entry(&mut self, entry: &CaptureEntry) {
        match entry.dir {
            Direction::Stderr => self.stderr.push(entry.line()),
            Direction::Exit => self.exit(entry),
            Direction::Spawn
            | Direction::ToAgent
            | Direction::FromAgent
            | Direction::Note
            | Direction::Told => {}
        }
    }

    /// Starts a process: opens or revives a session, and sends the input of the process as its prompt.
    fn spawn(&mut self, entry: &CaptureEntry, ahead: &[CaptureEntry]) {
        let words = words_of(entry);
        let process: Vec<&CaptureEntry> =
            ahead.iter().take_while(|entry| entry.dir != Direction::Spawn).collect();
        let told: Vec<String> = process
            .iter()
            .filter(|entry| entry.dir == Direction::ToAgent)
            .map(|entry| entry.line())
            .collect();
        let ExecArguments { flags, plain } = ExecArguments::of(&words);
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
        let session = self.stand.session_for(&start);
        let (cwd, model) = (DEFAULT_CWD.to_owned(), flag(["-m", "--model"]));
        self.stand.start(Exec::new());
        self.stderr.clear();
        let mcp_servers = Vec::new();
        self.feed(Input::Open(Launch {
            session,
            agent: name(),
            cwd,
            mode,
            model,
            effort: None,
            deepest: false,
            mcp_servers,
            start,
        }));
        let turn = TurnId::mint(&mut self.stand.cx());
        let prompt = PromptId::mint(&mut self.stand.cx());
        self.tell(session, AgentCommand::Prompt { turn, prompt, text, attachments: Vec::new() });
    }
}

impl ExecPlayer {
    fn exit(&mut self, entry: &CaptureEntry) {
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
}

/// The command line with which a process was started, if the entry is a start.
fn words_of(entry: &CaptureEntry) -> Vec<String> {
    let spawn = entry.spawn();
    let words = spawn["spawn"].as_array().or_else(|| spawn["argv"].as_array());
    words.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The arguments after `exec`.
#[derive(Default)]
struct ExecArguments {
    /// Flags with their values.
    flags: Vec<(String, String)>,
    /// Arguments without a flag.
    plain: Vec<String>,
}

impl ExecArguments {
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

/// The id of the thread that a process reports.
fn thread_in(process: &[&CaptureEntry]) -> Option<String> {
    process.iter().filter(|entry| entry.dir == Direction::FromAgent).find_map(|entry| {
        let said: Value = serde_json::from_str(entry.msg.get()).ok()?;
        said["thread_id"].as_str().map(str::to_owned)
    })
}

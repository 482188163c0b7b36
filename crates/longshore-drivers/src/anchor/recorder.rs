//! Records the messages between an anchor and one agent process.

use std::collections::HashMap;
use std::path::Path;

use longshore_model::driver::{Http as HttpInput, Input, Request, Run};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use crate::capture::{Direction, Tape};
use crate::transport::{ChildExit, Spawn};

/// The wire of one process. Without a tape it costs nothing.
pub(crate) struct Recorder {
    tape: Option<Tape>,
    /// None if each turn has its own process.
    pid: Option<i32>,
    /// Whether the agent is a server. The lines of a server do not belong to the wire of its driver.
    server: bool,
    /// Requests without an answer.
    asked: HashMap<u64, (&'static str, String)>,
}

impl Recorder {
    pub(crate) fn new(tape: Option<Tape>, pid: Option<i32>, server: bool) -> Self {
        let tape = tape.map(|tape| tape.of_process());
        Self { tape, pid, server, asked: HashMap::new() }
    }

    /// Records the start of the driver, with the seed of its ids.
    pub(crate) fn begins(&self, agent: &str, seed: u64) {
        if let Some(tape) = &self.tape {
            tape.begins(agent, seed, self.server);
        }
    }

    /// Records an input of the driver. A line or an event of the agent is recorded as the wire itself, and
    /// any other input as a message to the driver.
    pub(crate) fn handed(&mut self, input: &Input, now: Timestamp) {
        let Some(tape) = &self.tape else { return };
        match input {
            Input::Line(line) if !self.server => tape.note_at(now, Direction::FromAgent, line),
            Input::Line(text) | Input::Garbled { text, .. } => {
                tape.note_at(now, Direction::Note, text);
                tape.told(now, input);
            }
            Input::Http(HttpInput::Event(event)) => tape.note_at(now, Direction::FromAgent, event),
            Input::Http(
                said @ (HttpInput::Connected | HttpInput::Disconnected | HttpInput::Response { .. }),
            ) => {
                tape.told(now, input);
                self.said(said);
            }
            Input::Open(_)
            | Input::Ask { .. }
            | Input::Tell { .. }
            | Input::Ended { .. }
            | Input::Close { .. }
            | Input::WorkDone { .. }
            | Input::Tick => tape.told(now, input),
        }
    }

    pub(crate) fn spawned(&self, spawn: &Spawn) {
        let Some(tape) = &self.tape else { return };
        let name = spawn.program.file_name().unwrap_or_default().to_string_lossy();
        let words: Vec<&str> =
            std::iter::once(&*name).chain(spawn.arguments.iter().map(String::as_str)).collect();
        let cwd = spawn.cwd.as_deref().map(Path::display).map(|cwd| cwd.to_string());
        tape.note(Direction::Spawn, &json!({ "spawn": words, "cwd": cwd, "pid": self.pid }).to_string());
    }

    /// Records the start of a turn's process.
    pub(crate) fn ran(&self, run: &Run) {
        let Some(tape) = &self.tape else { return };
        tape.note(Direction::Spawn, &json!({ "spawn": run.arguments }).to_string());
        if !run.input.is_empty() {
            tape.note(Direction::ToAgent, &run.input);
        }
    }

    pub(crate) fn wrote(&self, lines: &[String]) {
        let Some(tape) = &self.tape else { return };
        lines.iter().for_each(|line| tape.note(Direction::ToAgent, line));
    }

    /// Records a line that no driver reads any more.
    pub(crate) fn unheard(&self, line: &str) {
        let dir = if self.server { Direction::Note } else { Direction::FromAgent };
        if let Some(tape) = &self.tape {
            tape.note(dir, line);
        }
    }

    pub(crate) fn asked(&mut self, requests: &[Request]) {
        let Some(tape) = &self.tape else { return };
        for Request { id, method, path, body, .. } in requests {
            let body = body.as_deref().map_or(Value::Null, as_json);
            self.asked.insert(*id, (method.as_str(), path.clone()));
            let said = json!({ "method": method.as_str(), "path": path, "body": body });
            tape.note(Direction::ToAgent, &said.to_string());
        }
    }

    fn said(&mut self, said: &HttpInput) {
        let Some(tape) = &self.tape else { return };
        match said {
            HttpInput::Connected => tape.note(Direction::Note, r#"{"events":"connected"}"#),
            HttpInput::Disconnected => tape.note(Direction::Note, r#"{"events":"disconnected"}"#),
            HttpInput::Event(_) => {}
            HttpInput::Response { id, result } => {
                let (method, path) = self.asked.remove(id).unwrap_or_default();
                match result {
                    Ok(answer) => {
                        let body = as_json(&answer.body);
                        let said =
                            json!({ "method": method, "path": path, "status": answer.status, "body": body });
                        tape.note(Direction::FromAgent, &said.to_string());
                    }
                    Err(why) => {
                        let said = json!({ "method": method, "path": path, "failed": why });
                        tape.note(Direction::Note, &said.to_string());
                    }
                }
            }
        }
    }

    pub(crate) fn ended(&self, ended: &ChildExit) {
        let Some(tape) = &self.tape else { return };
        ended.stderr.lines().for_each(|line| tape.note(Direction::Stderr, line));
        let code = ended.status.and_then(|status| status.code());
        tape.note(Direction::Exit, &json!({ "code": code, "pid": self.pid }).to_string());
    }
}

/// A body in the form that captures use.
fn as_json(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| json!({ "_raw": body }))
}

//! An agent that speaks just enough of `codex app-server` for the Codex driver, as fast as its prompt says.
//!
//! It answers `initialize`, `thread/start` and `turn/start`, and answers `{}` to every other request. It has one
//! thread. During a turn it reads nothing, so only the pipe can slow it down.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

use longshore_bench::marker::{self, Marker};
use longshore_bench::script::DeltaScript;
use serde::Deserialize;
use serde_json::{Value, json};

/// How many bytes are written at once without a rate: the size of a Linux pipe.
const CHUNK: usize = 64 * 1024;

const THREAD: &str = "01990000-0000-7000-8000-00000000beef";

#[derive(Deserialize)]
struct CodexRequest {
    id: Option<Value>,
    #[serde(default)]
    method: String,
    #[serde(default)]
    params: Value,
}

fn main() -> io::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("--version") => {
            println!("codex-cli 0.166.0");
            Ok(())
        }
        Some("app-server") => {
            let out = io::BufWriter::with_capacity(CHUNK, io::stdout().lock());
            Agent { out, turns: 0 }.serve()
        }
        _ => Err(io::Error::other("usage: fake-codex app-server | --version")),
    }
}

struct Agent<W: Write> {
    out: W,
    turns: u64,
}

impl<W: Write> Agent<W> {
    fn serve(mut self) -> io::Result<()> {
        for line in io::stdin().lock().lines() {
            let Ok(request) = serde_json::from_str::<CodexRequest>(&line?) else { continue };
            let Some(id) = request.id else { continue };
            match request.method.as_str() {
                "initialize" => {
                    let agent = "longshore/0.166.0 (bench)";
                    self.answer(&id, json!({"userAgent": agent, "platformFamily": "unix"}))?;
                }
                "thread/start" => self.start_thread(&id, &request.params)?,
                "turn/start" => self.start_turn(&id, &request.params)?,
                _ => self.answer(&id, json!({}))?,
            }
            self.out.flush()?;
        }
        Ok(())
    }

    fn start_thread(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        let thread = json!({"id": THREAD, "cwd": params["cwd"], "status": {"type": "idle"}, "turns": []});
        self.answer(id, json!({"thread": thread, "model": "bench", "cwd": params["cwd"]}))?;
        self.notify("thread/started", json!({"thread": thread}))
    }

    fn start_turn(&mut self, id: &Value, params: &Value) -> io::Result<()> {
        self.turns += 1;
        let turn = format!("01990000-0000-7000-8000-{:012}", self.turns);
        let item = format!("msg_{}", self.turns);
        let prompt = params["input"][0]["text"].as_str().unwrap_or_default();
        self.answer(id, json!({"turn": {"id": turn, "status": "inProgress"}}))?;
        let begun = json!({"threadId": THREAD, "turn": {"id": turn, "status": "inProgress"}});
        self.notify("turn/started", begun)?;
        let message = json!({"type": "agentMessage", "id": item, "text": ""});
        self.notify("item/started", json!({"threadId": THREAD, "turnId": turn, "item": message}))?;

        let said = match DeltaScript::parse(prompt) {
            Some(script) => self.speak(&turn, &item, script)?,
            None => "bench deltas=<n> rate=<per second, 0 = unpaced> bytes=<n>".to_owned(),
        };

        let message = json!({"type": "agentMessage", "id": item, "text": said});
        self.notify("item/completed", json!({"threadId": THREAD, "turnId": turn, "item": message}))?;
        let ended = json!({"id": turn, "status": "completed", "error": null, "items": []});
        self.notify("turn/completed", json!({"threadId": THREAD, "turn": ended}))
    }

    /// Sends all deltas of a script. Returns the whole text.
    fn speak(&mut self, turn: &str, item: &str, script: DeltaScript) -> io::Result<String> {
        let filler = "x".repeat(script.bytes);
        let mut whole = String::new();
        let began = Instant::now();
        for index in 0..script.deltas {
            if let Some(due) = due(script.rate, index) {
                pause_until(began + due);
            }
            let delta = format!("{}{filler}", Marker { index, written: marker::now() });
            writeln!(
                self.out,
                "{{\"method\":\"item/agentMessage/delta\",\"params\":{{\"threadId\":\"{THREAD}\",\"turnId\":\"{turn}\",\
                 \"itemId\":\"{item}\",\"delta\":\"{delta}\"}},\"emittedAtMs\":{}}}",
                marker::now() / 1_000_000,
            )?;
            if script.rate > 0 {
                self.out.flush()?;
            }
            whole.push_str(&delta);
        }
        Ok(whole)
    }

    fn answer(&mut self, id: &Value, result: Value) -> io::Result<()> {
        writeln!(self.out, "{}", json!({"id": id, "result": result}))
    }

    fn notify(&mut self, method: &str, params: Value) -> io::Result<()> {
        let at = marker::now() / 1_000_000;
        writeln!(self.out, "{}", json!({"method": method, "params": params, "emittedAtMs": at}))
    }
}

/// When a delta is due after the beginning of its turn. None without a rate.
fn due(rate: u64, index: u64) -> Option<Duration> {
    (rate > 0).then(|| Duration::from_secs_f64(index as f64 / rate as f64))
}

#[allow(
    clippy::disallowed_methods,
    reason = "an agent's pace is its own, and there is no runtime here to block"
)]
fn pause_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}

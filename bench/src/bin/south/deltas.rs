//! The most frequent lines of an agent: the deltas of a message.

use anyhow::{Context as _, Result, bail};
use longshore_drivers::codex::Codex;
use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Raw};
use longshore_model::id::{Context, Ids, PromptId, SessionId, TurnId};
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use crate::cpu::Cpu;

const THREAD: &str = "01990000-0000-7000-8000-00000000beef";
const TURN: &str = "01990000-0000-7000-8000-00000000cafe";
/// How many lines the driver gets before its drafts are taken: about a chunk of a pipe.
const AT_ONCE: usize = 256;

/// The Codex driver in the middle of a turn.
struct Stage {
    driver: Codex,
    ids: Ids,
    out: Output,
}

impl Stage {
    fn hear(&mut self, input: Input) {
        let mut cx = Context { now: Timestamp::default(), ids: &mut self.ids };
        self.driver.handle(input, &mut cx, &mut self.out);
    }

    fn line(&mut self, line: &Value) {
        self.hear(Input::Line(Raw::from(line.to_string())));
    }

    /// Answers the driver's requests until it sends no more.
    fn answer(&mut self) -> Result<()> {
        while !self.out.lines.is_empty() {
            for line in std::mem::take(&mut self.out.lines) {
                let request: Value = serde_json::from_str(&line)?;
                let Some(method) = request["method"].as_str().filter(|_| !request["id"].is_null()) else {
                    continue;
                };
                let result = match method {
                    "initialize" => json!({"userAgent": "longshore/0.166.0 (bench)"}),
                    "thread/start" => {
                        json!({"thread": {"id": THREAD, "cwd": "/w", "turns": []}, "model": "m", "cwd": "/w"})
                    }
                    "turn/start" => json!({"turn": {"id": TURN, "status": "inProgress"}}),
                    _ => json!({}),
                };
                self.line(&json!({"id": request["id"], "result": result}));
            }
        }
        Ok(())
    }
}

/// How many deltas the Codex driver translates per second.
pub(crate) fn translate(seconds: f64) -> Result<Vec<(&'static str, f64)>> {
    let mut stage = Stage { driver: Codex::new(), ids: Ids::seeded(1), out: Output::default() };
    let now = Timestamp::default();
    let session = SessionId(stage.ids.next(now));
    let (turn, prompt) = (TurnId(stage.ids.next(now)), PromptId(stage.ids.next(now)));
    stage.hear(Input::Open(Launch {
        session,
        agent: "codex".into(),
        cwd: "/w".to_owned(),
        mode: Mode::Ask,
        model: None,
        effort: None,
        deepest: false,
        mcp_servers: Vec::new(),
        start: Start::New,
    }));
    stage.answer()?;
    let command = AgentCommand::Prompt { turn, prompt, text: "go".to_owned(), attachments: Vec::new() };
    stage.hear(Input::Tell { session, command });
    stage.answer()?;
    let turn = json!({"id": TURN, "status": "inProgress"});
    stage.line(&json!({"method": "turn/started", "params": {"threadId": THREAD, "turn": turn}}));
    let item = json!({"type": "agentMessage", "id": "msg_1", "text": ""});
    stage.line(
        &json!({"method": "item/started", "params": {"threadId": THREAD, "turnId": TURN, "item": item}}),
    );

    let params = json!({"threadId": THREAD, "turnId": TURN, "itemId": "msg_1", "delta": "a few words "});
    let delta =
        json!({"method": "item/agentMessage/delta", "params": params, "emittedAtMs": 1_794_768_000_000_u64});
    let delta = delta.to_string();
    stage.out.said.clear();
    let (cpu, mut heard) = (Cpu::of_thread(), 0_usize);
    while cpu.seconds() < seconds {
        for _ in 0..AT_ONCE {
            // Each delta is a new line, as it would come from the pipe.
            stage.hear(Input::Line(Raw::from(delta.as_str())));
        }
        heard += AT_ONCE;
        let (_, last) = stage.out.said.last().context("codex' driver says nothing")?;
        if stage.out.said.len() != AT_ONCE || !matches!(last.body, Body::MessageDelta) {
            bail!("codex' driver does not say deltas: {:?}", last.body);
        }
        stage.out.said.clear();
    }
    Ok(vec![("codex: deltas", heard as f64 / cpu.seconds())])
}

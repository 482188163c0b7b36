//! `longshore prompt`: sends a prompt to an existing session.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::{PromptId, Seq, TurnId};
use longshore_model::info::{Activity, SessionInfo};
use serde::Deserialize;
use serde_json::json;

use super::connect;
use super::live::{Live, Until};
use super::said::said;
use super::session_command::called;
use super::terminal::{note, put_line, say};
use crate::render::clean::clean;

/// Send a prompt to a session and show the turn.
#[derive(Debug, Args)]
pub(super) struct Prompt {
    /// The session: its id or a part of it; `-` means the latest one
    session: String,
    /// The prompt; `-` or no text reads it from stdin
    text: Option<String>,
    /// Do not wait for the end of the turn
    #[arg(long)]
    detach: bool,
    /// Send the prompt into the running turn
    #[arg(long, conflicts_with = "now")]
    steer: bool,
    /// Stop the running turn first, then send the prompt
    #[arg(long)]
    now: bool,
}

#[derive(Deserialize)]
struct PromptReply {
    prompt: PromptId,
    turn: TurnId,
    seq: Seq,
}

impl Prompt {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let text = said(self.text.as_deref(), "longshore prompt - \"now fix the tests\"")?;
        let mut client = connect::hub().await?;
        let info = connect::open_session(&mut client, Some(&self.session)).await?;
        let session = info.session_id;
        // Which one `-` is may be a surprise, also to who reads the log of a script.
        if self.session == connect::LATEST && !as_json {
            note(format_args!("to {}", called(&info)));
        }
        let when = match (self.steer, self.now) {
            (true, _) => "steer",
            (_, true) => "interrupt",
            (false, false) => "queue",
        };
        let said = json!({ "session": session, "content": text, "when": when });
        let PromptReply { prompt, turn, seq } = client.call("prompt", said).await?;
        let before = Seq(seq.0.saturating_sub(1));
        let queued = match self.now {
            true => None,
            false => {
                let now: SessionInfo = client.call("session", json!({ "session": session })).await?;
                wait_of(&now, prompt, self.steer)
            }
        };
        if self.detach {
            let queued = queued.map(|(_, words)| words);
            let taken = queued.as_deref().unwrap_or("taken");
            match as_json {
                true => put_line(json!({
                    "session": session, "turn": turn, "seq": seq, "queued": queued.is_some(),
                }))?,
                false => say(format_args!(
                    "{taken}; follow it with `longshore attach {session} --after {before}`"
                ))?,
            }
            return Ok(ExitCode::SUCCESS);
        }
        // Whoever watches sees the agent start.
        if let Some((Wait::Turn, words)) = queued.filter(|_| !as_json) {
            note(words);
        }
        Live::new(client, info, Until::Turn(turn), as_json).begun_by(prompt).watch(before).await
    }
}

/// What a prompt waits for.
enum Wait {
    /// The end of the turn that runs.
    Turn,
    /// Its agent, which starts or wakes up.
    Start,
}

/// What a prompt waits for, and what is said of that; nothing for one that the agent has.
fn wait_of(session: &SessionInfo, prompt: PromptId, steer: bool) -> Option<(Wait, String)> {
    session.queue.iter().find(|waiting| waiting.prompt == prompt)?;
    match session.activity {
        Activity::Working | Activity::Waiting => {
            let why = match steer {
                true => {
                    format!(
                        "{} accepts no prompt while it works, so the prompt is ",
                        clean(&session.provider)
                    )
                }
                false => String::new(),
            };
            Some((Wait::Turn, format!("{why}queued: it runs when the running turn ends")))
        }
        Activity::Starting | Activity::Idle | Activity::Sleeping | Activity::Closed => {
            Some((Wait::Start, "queued: it runs when the agent has started".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_waits_says_what_it_waits_for() {
        let prompt = "01931f5e-7a2b-7c3d-8e4f-a1b200000002";
        let session = |activity: &str, queue: serde_json::Value| -> SessionInfo {
            serde_json::from_value(json!({
                "provider": "codex", "sessionId": "01931f5e-7a2b-7c3d-8e4f-a1b200000001", "title": "t", "status": "idle",
                "createdAt": "1970-01-01T00:00:00Z", "updatedAt": "1970-01-01T00:00:00Z", "activity": activity,
                "cwd": "/w", "mode": "ask", "capabilities": {}, "head": 2, "usage": {}, "archived": false, "queue": queue,
            }))
            .unwrap()
        };
        let queued = json!([{ "prompt": prompt, "turn": prompt, "text": "x", "by": "owner" }]);
        let said = |activity, queue, steer| {
            wait_of(&session(activity, queue), prompt.parse().unwrap(), steer).map(|(_, words)| words)
        };
        assert_eq!(said("working", json!([]), false), None, "the agent has it");
        for activity in ["starting", "sleeping"] {
            assert_eq!(
                said(activity, queued.clone(), false).as_deref(),
                Some("queued: it runs when the agent has started")
            );
        }
        assert_eq!(
            said("working", queued.clone(), false).as_deref(),
            Some("queued: it runs when the running turn ends")
        );
        let steered = said("waiting", queued, true).unwrap();
        assert!(steered.starts_with("codex accepts no prompt while it works"), "{steered}");
    }
}

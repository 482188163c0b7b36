//! `longshore prompt`: say something to a session that is there already.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::{PromptId, Seq, SessionId, TurnId};
use longshore_model::info::{Activity, SessionInfo};
use serde::Deserialize;
use serde_json::json;

use super::connect;
use super::live::{Live, Until};
use super::said::said;
use super::terminal::{note, put_line, say};
use super::wish::called;
use crate::client::Client;
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
            false => behind_a_turn(&mut client, session, prompt, self.steer).await?,
        };
        if self.detach {
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
        if let Some(queued) = queued.filter(|_| !as_json) {
            note(queued);
        }
        Live::new(client, info, Until::Turn(turn), as_json).begun_by(prompt).watch(before).await
    }
}

/// What is said of a prompt that waits for the end of another turn. One that only waits for its agent to start is not queued.
async fn behind_a_turn(
    client: &mut Client,
    session: SessionId,
    prompt: PromptId,
    steer: bool,
) -> Result<Option<String>> {
    let info: SessionInfo = client.call("session", json!({ "session": session })).await?;
    let works = match info.activity {
        Activity::Working | Activity::Waiting => true,
        Activity::Starting | Activity::Idle | Activity::Sleeping | Activity::Closed => false,
    };
    let waits = works && info.queue.iter().any(|waiting| waiting.prompt == prompt);
    let why = match steer {
        true => format!("{} accepts no prompt while it works, so the prompt is ", clean(&info.provider)),
        false => String::new(),
    };
    Ok(waits.then(|| format!("{why}queued: it runs when the running turn ends")))
}

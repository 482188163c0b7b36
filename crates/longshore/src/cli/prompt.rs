//! `longshore prompt`: say something to a session that is there already.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::{PromptId, Seq, TurnId};
use serde::Deserialize;
use serde_json::json;

use super::live::{Live, Until};
use super::reach;
use super::said::said;
use super::terminal::put_line;

/// Say something to a session and watch the turn.
#[derive(Debug, Args)]
pub(super) struct Prompt {
    /// The session: an id or a part of it, or `-` for the latest
    session: String,
    /// What to say; `-` or nothing reads it from stdin
    text: Option<String>,
    /// Do not wait for the turn to end
    #[arg(long)]
    detach: bool,
    /// Say it into the running turn
    #[arg(long, conflicts_with = "now")]
    steer: bool,
    /// Stop the running turn and say it then
    #[arg(long)]
    now: bool,
}

#[derive(Deserialize)]
struct Prompted {
    prompt: PromptId,
    turn: TurnId,
    seq: Seq,
}

impl Prompt {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let text = said(self.text.as_deref(), "longshore prompt - \"now fix the tests\"")?;
        let mut client = reach::hub().await?;
        let info = reach::session(&mut client, Some(&self.session)).await?;
        let session = info.session_id;
        let when = match (self.steer, self.now) {
            (true, _) => "steer",
            (_, true) => "interrupt",
            (false, false) => "queue",
        };
        let said = json!({ "session": session, "content": text, "when": when });
        let Prompted { prompt, turn, seq } = client.call("prompt", said).await?;
        let before = Seq(seq.0.saturating_sub(1));
        if self.detach {
            match as_json {
                true => put_line(json!({ "session": session, "turn": turn, "seq": seq }))?,
                false => put_line(format_args!(
                    "taken; follow it with: longshore attach {session} --after {before}"
                ))?,
            }
            return Ok(ExitCode::SUCCESS);
        }
        Live::new(client, info, Until::Turn(turn), as_json).begun_by(prompt).watch(before).await
    }
}

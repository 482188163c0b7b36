//! `longshore resume`: continues sessions that a restart of the hub interrupted.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::SessionId;
use longshore_model::info::SessionInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::held::{after_resume, prompts};
use super::session_command::send_command;
use super::terminal::{put_line, say};
use super::{connect, inbox};
use crate::render::held;
use crate::render::human::{plural, short_id};

/// Resume a session that a restart of the hub interrupted, and send the prompts that are held there.
#[derive(Debug, Args)]
pub(super) struct Resume {
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
    /// Resume all sessions that a restart interrupted
    #[arg(long, conflicts_with = "session")]
    all: bool,
}

impl Resume {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        #[derive(Deserialize)]
        struct Resumed {
            resumed: Vec<SessionId>,
            resuming: Vec<SessionId>,
        }
        let mut client = connect::hub().await?;
        if !self.all {
            let session = connect::session(&mut client, self.session.as_deref()).await?;
            let held = after_resume(&session).map(|held| format!("; {held}")).unwrap_or_default();
            let told = format!("resumed{held}");
            return send_command(&mut client, &session, "resume", json!({}), &told, as_json).await;
        }
        let interrupted = inbox::waiting(&mut client).await?.interrupted;
        let answer: Value = client.call("resumeAll", json!({})).await?;
        if as_json {
            put_line(&answer)?;
            return Ok(ExitCode::SUCCESS);
        }
        let Resumed { resumed, resuming } = serde_json::from_value(answer)?;
        let named = |sessions: &[SessionId]| {
            let ids: Vec<String> = sessions.iter().copied().map(short_id).collect();
            format!("{}: {}", plural(sessions.len(), "session"), ids.join(", "))
        };
        if resumed.is_empty() && resuming.is_empty() {
            say("no session was interrupted by a restart")?;
        }
        if !resumed.is_empty() {
            say(format_args!("resumed {}", named(&resumed)))?;
        }
        if !resuming.is_empty() {
            let why = "the hub first reads what was said in their agents' own terminals";
            say(format_args!("resuming {} ({why})", named(&resuming)))?;
        }
        let goes_on = |session: &&SessionInfo| {
            resumed.contains(&session.session_id) || resuming.contains(&session.session_id)
        };
        let held = interrupted.iter().filter(goes_on).map(held).sum();
        if held > 0 {
            say(prompts(held, "that was held follows", "that were held follow"))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

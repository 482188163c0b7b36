//! `longshore resume`: go on with what a restart of the hub interrupted.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::SessionId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reach;
use super::terminal::{put_line, say};
use super::wish::wish_of;
use crate::render::human::{plural, short_id};

/// Resume a session that a restart of the hub interrupted.
#[derive(Debug, Args)]
pub(super) struct Resume {
    /// The session: an id or a part of it; the latest otherwise, or `-`
    session: Option<String>,
    /// All that were interrupted so
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
        if !self.all {
            return wish_of(self.session.as_deref(), "resume", json!({}), "resumed", as_json).await;
        }
        let mut client = reach::hub().await?;
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
            let why = "their agents are still asked for what was said in their own terminals";
            say(format_args!("resuming {} ({why})", named(&resuming)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

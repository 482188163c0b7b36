//! `longshore interrupt`: stop the running turn.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::connect;
use super::terminal::{put_line, say};

/// Stop the running turn.
#[derive(Debug, Args)]
pub(super) struct Interrupt {
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
}

impl Interrupt {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::open_session(&mut client, self.session.as_deref()).await?;
        let answer: Value = client.call("interrupt", json!({ "session": session.session_id })).await?;
        match as_json {
            true => put_line(&answer)?,
            false => say("the agent was told to stop the turn")?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

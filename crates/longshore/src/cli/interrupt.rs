//! `longshore interrupt`: stop the running turn.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::reach;
use super::terminal::{put_line, say};

/// Stop the running turn.
#[derive(Debug, Args)]
pub(super) struct Interrupt {
    /// The session: an id or a part of it; the latest otherwise, or `-`
    session: Option<String>,
}

impl Interrupt {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = reach::hub().await?;
        let session = reach::session(&mut client, self.session.as_deref()).await?;
        let answer: Value = client.call("interrupt", json!({ "session": session.session_id })).await?;
        match as_json {
            true => put_line(&answer)?,
            false => say("the turn is being stopped")?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

//! `longshore inbox`: all that needs somebody, over all sessions.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use serde::Deserialize;
use serde_json::{Value, json};

use super::reach;
use super::terminal::{now, put, put_line, style};
use crate::client::Client;
use crate::render::{Show, inbox_table, inbox_tsv};

/// List what needs you: approvals, questions, and what a restart interrupted.
#[derive(Debug, Args)]
pub(super) struct Inbox {}

/// What waits for a person.
#[derive(Deserialize)]
pub(super) struct Waiting {
    pub(super) approvals: Vec<OpenApproval>,
    pub(super) questions: Vec<OpenQuestion>,
    #[serde(default)]
    pub(super) interrupted: Vec<SessionInfo>,
}

/// Asks for all of it.
pub(super) async fn waiting(client: &mut Client) -> Result<Waiting> {
    client.call("approvals", json!({})).await
}

impl Inbox {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = reach::hub().await?;
        if as_json {
            let all: Value = client.call("approvals", json!({})).await?;
            put_line(&all)?;
            return Ok(ExitCode::SUCCESS);
        }
        let Waiting { approvals, questions, interrupted } = waiting(&mut client).await?;
        match std::io::stdout().is_terminal() {
            true => put(inbox_table(&approvals, &questions, &interrupted, now(), &style(Show::Hidden)))?,
            false => put(inbox_tsv(&approvals, &questions, &interrupted))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

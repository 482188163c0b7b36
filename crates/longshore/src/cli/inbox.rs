//! `longshore inbox`: lists everything that needs a person, in all sessions.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};

use super::connect;
use super::terminal::{now, put, put_line, style};
use crate::client::Client;
use crate::render::{Show, WaitingList, inbox_table, inbox_tsv};

/// List everything that needs you: approvals, questions, turns that a restart interrupted, and held prompts.
#[derive(Debug, Args)]
pub(super) struct Inbox {}

/// Asks for all that waits for a person.
pub(super) async fn waiting(client: &mut Client) -> Result<WaitingList> {
    client.call("approvals", json!({})).await
}

impl Inbox {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        if as_json {
            let all: Value = client.call("approvals", json!({})).await?;
            put_line(&all)?;
            return Ok(ExitCode::SUCCESS);
        }
        let waiting = waiting(&mut client).await?;
        match std::io::stdout().is_terminal() {
            true => put(inbox_table(&waiting, now(), &style(Show::Hidden)))?,
            false => put(inbox_tsv(&waiting))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

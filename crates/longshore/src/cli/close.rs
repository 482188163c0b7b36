//! `longshore close`, `longshore delete` and `longshore release`: how a session ends, is forgotten, or goes elsewhere.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::info::SessionInfo;
use serde_json::{Value, json};

use super::exit::Fault;
use super::session_command::{called, send_command};
use super::terminal::{ask_for, put_line, say};
use super::{connect, show};
use crate::render::human::plural;

/// End a session: it accepts no more prompts, and queued ones are removed; its history is kept.
#[derive(Debug, Args)]
pub(super) struct Close {
    /// The session: its id or a part of it; `-` means the latest one
    session: String,
}

impl Close {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::session(&mut client, Some(&self.session)).await?;
        let told = match session.queue.len() {
            0 => "ended; its history is kept".to_owned(),
            waiting => {
                format!("ended; {} removed; its history is kept", were(waiting))
            }
        };
        send_command(&mut client, &session, "close", json!({}), &told, as_json).await
    }
}

/// So many prompts, which did not run.
fn were(prompts: usize) -> String {
    let verb = if prompts == 1 { "was" } else { "were" };
    format!("{} {verb}", plural(prompts, "queued prompt"))
}

/// Delete a session with its history, for good.
#[derive(Debug, Args)]
#[command(
    after_help = "The agent keeps its own record of the conversation; Longshore does not delete that record."
)]
pub(super) struct Delete {
    /// The session: its id or a part of it; `-` means the latest one, and then the verb always asks
    session: String,
    /// Do not ask; not allowed with `-`, because the latest session may be another one by now
    #[arg(long, short)]
    yes: bool,
}

impl Delete {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::session(&mut client, Some(&self.session)).await?;
        if self.session == connect::LATEST && (self.yes || !std::io::stdin().is_terminal()) {
            let what = format!("`-` is {} now, and nothing was deleted", called(&session));
            return Err(Fault::usage(what, "to delete without a question, name the session by its id").into());
        }
        if !self.yes && !is_meant(&session)? {
            return Err(Fault::usage("nothing was deleted", "`--yes` deletes without a question").into());
        }
        send_command(&mut client, &session, "deleteHistory", json!({}), "deleted, with its history", as_json)
            .await
    }
}

/// Asks the person; where nobody sits, nobody meant it.
fn is_meant(session: &SessionInfo) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    ask_for(format_args!("Delete {} with its whole conversation, for good? [y/N] ", called(session)));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Release a session: the hub ends the agent's process, and you can continue the conversation in the agent's own terminal.
#[derive(Debug, Args)]
#[command(
    after_help = "The hub copies messages from there into the log. The next prompt here continues after them."
)]
pub(super) struct Release {
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
}

impl Release {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::open_session(&mut client, self.session.as_deref()).await?;
        let released: Value = client.call("release", json!({ "session": session.session_id })).await?;
        if as_json {
            put_line(&released)?;
            return Ok(ExitCode::SUCCESS);
        }
        say(format_args!("{}: released", called(&session)))?;
        match show::hand_back(&mut client, &session).await {
            Some(back) => put_line(format_args!("continue in the agent's own terminal with: {}", back.line))?,
            None => say("this agent has no command to continue; continue here with `longshore prompt`")?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

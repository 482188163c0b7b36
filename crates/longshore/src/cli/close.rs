//! `longshore close`, `longshore delete` and `longshore release`: how a session ends, is forgotten, or goes elsewhere.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::info::SessionInfo;
use serde_json::{Value, json};

use super::exit::Fault;
use super::terminal::{ask_for, put_line, say};
use super::wish::{called, wish, wish_of};
use super::{reach, show};

/// End a session: it takes no more prompts; its history is kept.
#[derive(Debug, Args)]
pub(super) struct Close {
    /// The session: an id or a part of it; `-` is the latest
    session: String,
}

impl Close {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        wish_of(Some(&self.session), "close", json!({}), "ended; its history is kept", as_json).await
    }
}

/// Delete a session with its history, for good.
#[derive(Debug, Args)]
#[command(after_help = "The agent's own record of the conversation is the agent's, and stays.")]
pub(super) struct Delete {
    /// The session: an id or a part of it; `-` is the latest, which is always asked about
    session: String,
    /// Do not ask; not with `-`, which may be another one by now
    #[arg(long, short)]
    yes: bool,
}

impl Delete {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = reach::hub().await?;
        let session = reach::session(&mut client, Some(&self.session)).await?;
        if self.session == reach::LATEST && (self.yes || !std::io::stdin().is_terminal()) {
            let what = format!("`-` is {} now, and nothing was deleted", called(&session));
            return Err(
                Fault::usage(what, "name the session by its id to delete it without being asked").into()
            );
        }
        if !self.yes && !is_meant(&session)? {
            return Err(Fault::usage("nothing was deleted", "`--yes` deletes without asking").into());
        }
        wish(&mut client, &session, "deleteHistory", json!({}), "deleted, with its history", as_json).await
    }
}

/// Asks the person; where nobody sits, nobody meant it.
fn is_meant(session: &SessionInfo) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    ask_for(format_args!("Delete {} and all that was said in it, for good? [y/N] ", called(session)));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Release a session: its agent's process ends, and the conversation can go on in the agent's own terminal.
#[derive(Debug, Args)]
#[command(after_help = "What is said there comes into the log. The next prompt here goes on after it.")]
pub(super) struct Release {
    /// The session: an id or a part of it; the latest otherwise, or `-`
    session: Option<String>,
}

impl Release {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = reach::hub().await?;
        let session = reach::session(&mut client, self.session.as_deref()).await?;
        let released: Value = client.call("release", json!({ "session": session.session_id })).await?;
        if as_json {
            put_line(&released)?;
            return Ok(ExitCode::SUCCESS);
        }
        say(format_args!("{}: released", called(&session)))?;
        match show::hand_back(&mut client, &session).await {
            Some(back) => put_line(format_args!("go on in the agent's own terminal with: {}", back.line))?,
            None => say("this agent has no command that goes on with it; a prompt here does")?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

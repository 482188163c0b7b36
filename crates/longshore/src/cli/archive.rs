//! `longshore archive` and `longshore rename`: what lists show of a session.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::connect;
use super::exit::Fault;
use super::session_command::{send_command, send_command_by_name};
use crate::render::clean::clean;

/// Archive sessions: lists do not show them, and nothing is lost.
#[derive(Debug, Args)]
pub(super) struct Archive {
    /// The sessions: their ids or parts of them; `-` means the latest one, with --undo the one that was archived last
    #[arg(required = true)]
    sessions: Vec<String>,
    /// Take the sessions out of the archive
    #[arg(long)]
    undo: bool,
}

impl Archive {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        // All are found before the first is touched.
        let mut found = Vec::new();
        for named in &self.sessions {
            found.push(match self.undo {
                true => connect::archived_session(&mut client, named).await?,
                false => connect::session(&mut client, Some(named)).await?,
            });
        }
        let told = if self.undo { "unarchived" } else { "archived" };
        for session in found {
            send_command(&mut client, &session, "update", json!({ "archived": !self.undo }), told, as_json)
                .await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Give a session another title.
#[derive(Debug, Args)]
pub(super) struct Rename {
    /// The session: its id or a part of it; `-` means the latest one
    session: String,
    /// The new title
    #[arg(required = true)]
    title: Vec<String>,
}

impl Rename {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let title = self.title.join(" ");
        if title.trim().is_empty() {
            return Err(Fault::usage(
                "the title is empty",
                "give a title, as in: longshore rename - \"fix the tests\"",
            )
            .into());
        }
        send_command_by_name(
            Some(&self.session),
            "update",
            json!({ "title": title }),
            &format!("now called {}", clean(&title)),
            as_json,
        )
        .await
    }
}

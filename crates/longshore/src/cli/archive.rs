//! `longshore archive` and `longshore rename`: what lists show of a session.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::exit::Fault;
use super::reach;
use super::wish::{wish, wish_of};

/// Put sessions away: lists leave them out, nothing is lost.
#[derive(Debug, Args)]
pub(super) struct Archive {
    /// The sessions: ids or parts of them; `-` is the latest
    #[arg(required = true)]
    sessions: Vec<String>,
    /// Take them out again
    #[arg(long)]
    undo: bool,
}

impl Archive {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = reach::hub().await?;
        // All are found before the first is touched.
        let mut found = Vec::new();
        for named in &self.sessions {
            found.push(reach::session(&mut client, Some(named)).await?);
        }
        let told = if self.undo { "unarchived" } else { "archived" };
        for session in found {
            wish(&mut client, &session, "update", json!({ "archived": !self.undo }), told, as_json).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Give a session another title.
#[derive(Debug, Args)]
pub(super) struct Rename {
    /// The session: an id or a part of it; `-` is the latest
    session: String,
    /// The title
    #[arg(required = true)]
    title: Vec<String>,
}

impl Rename {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let title = self.title.join(" ");
        if title.trim().is_empty() {
            return Err(Fault::usage("the title is empty", "say what the session is about").into());
        }
        wish_of(
            Some(&self.session),
            "update",
            json!({ "title": title }),
            &format!("now called {title}"),
            as_json,
        )
        .await
    }
}

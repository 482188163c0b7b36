//! `longshore ls`: the sessions, the one that changed last first.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::info::SessionInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reach;
use super::terminal::{now, put, put_line, style};
use crate::render::{Show, sessions_table, sessions_tsv};

/// List sessions.
#[derive(Debug, Args)]
pub(super) struct Ls {
    /// Only those whose title, preview or folder has this in it
    words: Option<String>,
    /// Only those of this status
    #[arg(long, value_parser = ["active", "idle", "completed", "error", "interrupted"])]
    status: Option<String>,
    /// Only those of this agent
    #[arg(long)]
    agent: Option<String>,
    /// Those that were put away
    #[arg(long)]
    archived: bool,
    /// How many
    #[arg(short = 'n', long, default_value_t = 50)]
    limit: usize,
}

impl Ls {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        #[derive(Deserialize)]
        struct Page {
            sessions: Vec<SessionInfo>,
        }
        let mut client = reach::hub().await?;
        let mut query = json!({ "archived": self.archived, "limit": self.limit });
        for (name, value) in [("q", self.words), ("status", self.status), ("agent", self.agent)] {
            if let Some(value) = value {
                query[name] = Value::from(value);
            }
        }
        if as_json {
            let page: Value = client.call("sessions", query).await?;
            put_line(&page)?;
            return Ok(ExitCode::SUCCESS);
        }
        let page: Page = client.call("sessions", query).await?;
        match std::io::stdout().is_terminal() {
            true => put(sessions_table(&page.sessions, now(), &style(Show::Folded)))?,
            false => put(sessions_tsv(&page.sessions))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

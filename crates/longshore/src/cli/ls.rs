//! `longshore ls`: the sessions, the one that changed last first.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use longshore_model::info::SessionInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect;
use super::terminal::{now, put, put_line, style};
use crate::render::{Show, sessions_table, sessions_tsv, state_word};

/// List sessions.
#[derive(Debug, Args)]
pub(super) struct Ls {
    /// Only sessions whose title, preview or folder contains these words
    words: Option<String>,
    /// Only sessions with this status, as the list shows it
    #[arg(long, value_enum)]
    status: Option<StatusFilter>,
    /// Only sessions of this agent
    #[arg(long)]
    agent: Option<String>,
    /// Archived sessions
    #[arg(long)]
    archived: bool,
    /// The most sessions to list
    #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

/// Where a session stands: the words of the list, and those of the API as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StatusFilter {
    #[value(alias = "needs you", alias = "waiting")]
    NeedsYou,
    Starting,
    Working,
    Idle,
    Sleeping,
    #[value(alias = "error")]
    Failed,
    Interrupted,
    #[value(alias = "completed", alias = "closed")]
    Ended,
    /// Starting, working, or needs you
    Active,
}

impl StatusFilter {
    /// What the API is asked for, and the word of the list that is kept of it.
    fn asked(self) -> (&'static str, Option<&'static str>) {
        match self {
            StatusFilter::NeedsYou => ("active", Some("needs you")),
            StatusFilter::Starting => ("active", Some("starting")),
            StatusFilter::Working => ("active", Some("working")),
            StatusFilter::Active => ("active", None),
            StatusFilter::Idle => ("idle", Some("idle")),
            StatusFilter::Sleeping => ("idle", Some("sleeping")),
            StatusFilter::Failed => ("error", None),
            StatusFilter::Interrupted => ("interrupted", None),
            StatusFilter::Ended => ("completed", None),
        }
    }
}

#[derive(Deserialize)]
struct LsPage {
    sessions: Vec<Value>,
    #[serde(default)]
    next: Value,
}

impl Ls {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let (status, word) = self.status.map(StatusFilter::asked).unzip();
        let word = word.flatten();
        // What has ended is put away.
        let archived = self.archived || self.status == Some(StatusFilter::Ended);
        let mut query = json!({ "archived": archived, "limit": self.limit });
        for (name, value) in [("q", self.words), ("status", status.map(str::to_owned)), ("agent", self.agent)]
        {
            if let Some(value) = value {
                query[name] = Value::from(value);
            }
        }
        let limit = self.limit as usize;
        let (mut rows, mut sessions) = (Vec::new(), Vec::<SessionInfo>::new());
        let next = loop {
            let page: LsPage = client.call("sessions", query.clone()).await?;
            for row in page.sessions {
                let session: SessionInfo = serde_json::from_value(row.clone())?;
                if word.is_none_or(|word| word == state_word(&session)) && sessions.len() < limit {
                    rows.push(row);
                    sessions.push(session);
                }
            }
            if word.is_none() || page.next.is_null() || sessions.len() >= limit {
                break page.next;
            }
            query["cursor"] = page.next;
        };
        match std::io::stdout().is_terminal() {
            _ if as_json => put_line(json!({ "sessions": rows, "next": next }))?,
            true => put(sessions_table(&sessions, now(), &style(Show::Folded)))?,
            false => put(sessions_tsv(&sessions))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

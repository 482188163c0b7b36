//! `longshore search`: where words occur, in all sessions.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::{Seq, SessionId};
use longshore_model::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect;
use super::terminal::{now, put, put_line, style};
use crate::render::{Hit, Show, search_hits};

/// Search all sessions.
#[derive(Debug, Args)]
#[command(after_help = "The exit code is 1 if nothing is found.")]
pub(super) struct Search {
    /// The words to search for
    #[arg(required = true)]
    words: Vec<String>,
    /// The most hits to show
    #[arg(short = 'n', long, default_value_t = 20)]
    limit: usize,
}

#[derive(Deserialize)]
struct SearchHit {
    session: SessionId,
    title: String,
    seq: Seq,
    snippet: String,
    at: Timestamp,
}

impl Search {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        #[derive(Deserialize)]
        struct Hits {
            hits: Vec<SearchHit>,
        }
        let mut client = connect::hub().await?;
        let words = self.words.join(" ");
        let query = json!({ "q": words, "limit": self.limit });
        if as_json {
            let hits: Value = client.call("search", query).await?;
            put_line(&hits)?;
            return Ok(found(hits["hits"].as_array().is_some_and(|hits| !hits.is_empty())));
        }
        let Hits { hits } = client.call("search", query).await?;
        let hits: Vec<Hit<'_>> = hits
            .iter()
            .map(|found| Hit {
                session: found.session,
                title: &found.title,
                seq: found.seq,
                at: found.at,
                snippet: &found.snippet,
            })
            .collect();
        put(search_hits(&hits, &words, now(), &style(Show::Hidden)))?;
        Ok(found(!hits.is_empty()))
    }
}

/// As `grep` says it.
fn found(something: bool) -> ExitCode {
    if something { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

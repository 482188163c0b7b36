//! `longshore search`: where words occur, in all sessions.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::{Seq, SessionId};
use longshore_model::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect;
use super::exit::Fault;
use super::terminal::{note, now, put, put_line, style};
use crate::render::{Hit, Show, search_hits};

/// Search all sessions.
#[derive(Debug, Args)]
#[command(after_help = "The exit code is 1 if nothing is found.")]
pub(super) struct Search {
    /// The words to search for
    #[arg(required = true)]
    words: Vec<String>,
    /// The most hits to show
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
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
        let words = self.words.join(" ");
        if words.trim().is_empty() {
            return Err(
                Fault::usage("no words were given", "give words, as in: longshore search login bug").into()
            );
        }
        let mut client = connect::hub().await?;
        // One more than is shown tells whether there are more.
        let more = u32::from(!as_json);
        let query = json!({ "q": words, "limit": self.limit.saturating_add(more) });
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
        let (shown, more) = hits.split_at(hits.len().min(self.limit as usize));
        put(search_hits(shown, &words, now(), &style(Show::Hidden)))?;
        if !more.is_empty() {
            note(format_args!("there are more than {} hits; `-n` shows more of them", shown.len()));
        }
        Ok(found(!hits.is_empty()))
    }
}

/// As `grep` says it.
fn found(something: bool) -> ExitCode {
    if something { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

//! `longshore export`: writes a whole session as NDJSON: its row first, then every event with the agent's own
//! frame.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use longshore_model::event::Event;
use longshore_model::id::{Seq, SessionId};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::connect;
use super::private;
use crate::client::Client;

/// Write a session to a file, or to stdout.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
    /// The file to write; without it, or with `-`, stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    pub(super) async fn run(self) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::session(&mut client, self.session.as_deref()).await?;
        let mut out: Box<dyn Write> = match &self.output {
            Some(path) if path.as_os_str() != "-" => Box::new(std::io::BufWriter::new(
                private::create(path).with_context(|| format!("cannot write {}", path.display()))?,
            )),
            Some(_) | None => Box::new(std::io::stdout().lock()),
        };
        writeln!(out, "{}", json!({ "longshore": 1, "session": session }))?;
        pages(&mut client, session.session_id, true, |json, _| Ok(writeln!(out, "{json}")?)).await?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Every event of a session, in order.
pub(super) async fn pages(
    client: &mut Client,
    session: SessionId,
    raw: bool,
    mut each: impl FnMut(&str, &Event) -> Result<()>,
) -> Result<()> {
    #[derive(Deserialize)]
    struct Page {
        events: Vec<Box<RawValue>>,
        next: Option<Seq>,
    }
    let mut after = Seq::ZERO;
    loop {
        let query = json!({ "session": session, "after": after, "limit": 1000, "raw": raw });
        let page: Page = client.call("events", query).await?;
        for event in &page.events {
            each(event.get(), &serde_json::from_str(event.get())?)?;
        }
        match page.next {
            Some(next) => after = next,
            None => return Ok(()),
        }
    }
}

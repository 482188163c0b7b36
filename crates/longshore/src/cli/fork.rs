//! `longshore fork`: makes an independent copy of a session.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::info::SessionInfo;
use serde_json::json;

use super::connect;
use super::exit::Fault;
use super::terminal::{put_line, say};
use crate::client::Refused;
use crate::render::human::short_id;

/// Make an independent copy of a session.
#[derive(Debug, Args)]
pub(super) struct Fork {
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
    /// Copy only the events before this turn. SEQ is the number of its first event; `search` and `--json` show it
    #[arg(long, value_name = "SEQ")]
    before: Option<u64>,
}

impl Fork {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::session(&mut client, self.session.as_deref()).await?;
        let mut params = json!({ "session": session.session_id });
        if let Some(before) = self.before {
            params["before"] = before.into();
        }
        let fork: SessionInfo =
            client.call("fork", params).await.map_err(|refused| of_a_fork(&session, refused))?;
        match as_json {
            true => put_line(serde_json::to_string(&fork)?)?,
            false => say(format_args!(
                "forked into {0}; continue with `longshore prompt {0} \"...\"`",
                fork.session_id
            ))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whoever forks twice in a row names the first fork, which has nothing to be forked yet.
fn of_a_fork(session: &SessionInfo, refused: anyhow::Error) -> anyhow::Error {
    let Some(origin) = session.forked_from.as_ref().filter(|_| session.native.is_none()) else {
        return refused;
    };
    match refused.downcast_ref::<Refused>() {
        Some(refused) if refused.code == "cannot_fork" => {
            let (fork, origin) = (short_id(session.session_id), short_id(origin.session));
            let hint = format!(
                "{fork} is a fork of {origin} and has no prompt of its own yet; `longshore fork {origin}` makes another fork"
            );
            Fault::conflict(refused.to_string(), hint).into()
        }
        Some(_) | None => refused,
    }
}

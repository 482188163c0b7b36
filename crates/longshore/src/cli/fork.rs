//! `longshore fork`: a copy of a session that goes its own way.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::info::SessionInfo;
use serde_json::json;

use super::exit::Fault;
use super::reach;
use super::terminal::{put_line, say};
use crate::client::Refused;
use crate::render::human::short_id;

/// Fork a session into a new one.
#[derive(Debug, Args)]
pub(super) struct Fork {
    /// The session: an id or a part of it; the latest otherwise, or `-`
    session: Option<String>,
    /// Only what came before this turn: the number of its first event, which `search` and `--json` tell
    #[arg(long, value_name = "SEQ")]
    before: Option<u64>,
}

impl Fork {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = reach::hub().await?;
        let session = reach::session(&mut client, self.session.as_deref()).await?;
        let mut wish = json!({ "session": session.session_id });
        if let Some(before) = self.before {
            wish["before"] = before.into();
        }
        let fork: SessionInfo =
            client.call("fork", wish).await.map_err(|refused| of_a_fork(&session, refused))?;
        match as_json {
            true => put_line(serde_json::to_string(&fork)?)?,
            false => say(format_args!(
                "forked into {0}; go on with `longshore prompt {0} \"...\"`",
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
                "{fork} is a fork of {origin} that nothing was said to yet; `longshore fork {origin}` makes another one"
            );
            Fault::conflict(refused.to_string(), hint).into()
        }
        Some(_) | None => refused,
    }
}

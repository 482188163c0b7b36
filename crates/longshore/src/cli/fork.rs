//! `longshore fork`: a copy of a session that goes its own way.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::info::SessionInfo;
use serde_json::json;

use super::reach;
use super::terminal::put_line;

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
        let fork: SessionInfo = client.call("fork", wish).await?;
        match as_json {
            true => put_line(serde_json::to_string(&fork)?)?,
            false => put_line(format_args!(
                "forked into {0}; go on with: longshore prompt {0} \"...\"",
                fork.session_id
            ))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

//! `longshore attach`: follow a session and talk to it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::Seq;

use super::live::{Live, Until};
use super::reach;

/// Follow a session and talk to it. What you type is its next prompt; Ctrl-C leaves it running.
#[derive(Debug, Args)]
#[command(
    after_help = "What you type is the next prompt, or the answer when something waits. Ctrl-D or Ctrl-C leaves; the session goes on."
)]
pub(super) struct Attach {
    /// The session: an id or a part of it; the latest otherwise
    session: Option<String>,
    /// Begin after this event instead of at the beginning
    #[arg(long, default_value_t = 0)]
    after: u64,
}

impl Attach {
    pub(super) async fn run(self, json: bool) -> Result<ExitCode> {
        let mut client = reach::hub().await?;
        let session = reach::session(&mut client, self.session.as_deref()).await?;
        Live::new(client, session, Until::Left, json).watch(Seq(self.after)).await
    }
}

//! `longshore attach`: follow a session and talk to it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::Seq;

use super::live::{Live, Until};
use super::reach;

/// Follow a session and talk to it.
#[derive(Debug, Args)]
#[command(
    after_help = "What you type is the next prompt, or the answer when something waits; /help tells the commands and keys. Esc or Ctrl-C stops the turn, Ctrl-C again or Ctrl-D leaves; the session goes on. In a pipe every line is a prompt, and the end of input leaves when they are answered."
)]
pub(super) struct Attach {
    /// The session: an id or a part of it; the latest otherwise, or `-`
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

//! `longshore attach`: follow a session and talk to it.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::id::Seq;

use super::connect;
use super::live::{Live, Until};

/// Follow a session and talk to it.
#[derive(Debug, Args)]
#[command(
    after_help = "You type the next prompt, or the answer if the agent asks something. /help lists the commands and keys. Esc or Ctrl-C stops the turn. Ctrl-C again, or Ctrl-D, leaves; the session goes on. In a pipe, every line is a prompt. At the end of input, attach leaves when these turns have ended."
)]
pub(super) struct Attach {
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
    /// Start after the event with this number instead of at the beginning
    #[arg(long, default_value_t = 0)]
    after: u64,
}

impl Attach {
    pub(super) async fn run(self, json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::open_session(&mut client, self.session.as_deref()).await?;
        Live::new(client, session, Until::Left, json).watch(Seq(self.after)).await
    }
}

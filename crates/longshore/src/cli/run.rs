//! `longshore run codex "fix the tests"`: open a session, say it, watch the turn.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use longshore_model::capability::Mode;
use longshore_model::id::{Seq, TurnId};
use longshore_model::info::SessionInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::exit::Fault;
use super::live::{Live, Until};
use super::reach;

/// Open a session, say something, and watch the turn.
#[derive(Debug, Args)]
#[command(
    after_help = "The hub is started when none runs. Ctrl-C stops the turn. Exits with 0 when the turn is completed, 1 when it failed, 130 when it was interrupted."
)]
pub(super) struct Run {
    /// The agent; `longshore agents` lists them
    agent: String,
    /// What to say; `-` or nothing reads it from stdin
    prompt: Option<String>,
    /// What the agent may do without asking: plan, ask, auto-edit or full
    #[arg(long, env = "LONGSHORE_MODE", default_value_t)]
    mode: Mode,
    /// The model; the agent chooses otherwise
    #[arg(long, env = "LONGSHORE_MODEL")]
    model: Option<String>,
    /// The work tree; this folder otherwise
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<std::path::PathBuf>,
}

#[derive(Deserialize)]
struct Prompted {
    turn: TurnId,
}

impl Run {
    pub(super) async fn run(self, json: bool) -> Result<ExitCode> {
        let text = match self.prompt.as_deref() {
            Some("-") | None => {
                if std::io::stdin().is_terminal() {
                    eprintln!("what shall it do? (Ctrl-D ends the prompt)");
                }
                std::io::read_to_string(std::io::stdin()).context("cannot read the prompt")?
            }
            Some(text) => text.to_owned(),
        };
        if text.trim().is_empty() {
            // Before a session is opened for it.
            let hint = format!("say what to do: longshore run {} \"fix the tests\"", self.agent);
            return Err(Fault::usage("the prompt is empty", hint).into());
        }
        if text.trim().is_empty() {
            bail!("there is nothing to say; give a prompt");
        }
        let cwd = match self.cwd {
            Some(folder) => folder
                .canonicalize()
                .with_context(|| format!("cannot use the folder {}", folder.display()))?,
            None => std::env::current_dir()?,
        };
        let mut client = reach::hub_or_start().await?;
        let open = json!({ "agent": self.agent, "cwd": cwd, "mode": self.mode, "model": self.model });
        let session: SessionInfo = client.call("open", open).await?;
        let said: Value = json!({ "session": session.session_id, "content": text });
        let Prompted { turn } = client.call("prompt", said).await?;
        Live::new(client, session, Until::Turn(turn), json).watch(Seq::ZERO).await
    }
}

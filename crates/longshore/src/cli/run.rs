//! `longshore run codex "fix the tests"`: opens a session, sends the prompt, shows the turn.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use longshore_model::capability::Mode;
use longshore_model::id::{PromptId, Seq, TurnId};
use longshore_model::info::SessionInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::exit::Fault;
use super::live::{Live, Until};
use super::said::said;
use super::terminal::note;
use super::{connect, set};

/// How long a run may wait to be told which models there are, before the turn is shown.
const MODELS_WITHIN: Duration = Duration::from_secs(5);

/// Open a session, send a prompt and show the turn.
#[derive(Debug, Args)]
#[command(
    after_help = "If no hub runs, the verb starts it. Ctrl-C stops the turn. The exit code is 0 if the turn completed, 1 if it failed, 130 if it was interrupted."
)]
pub(super) struct RunArgs {
    /// The agent; `longshore agents` lists them
    agent: String,
    /// The prompt; `-` or no prompt reads it from stdin
    prompt: Option<String>,
    /// What the agent may do without asking: plan, ask, auto-edit or full. Default: ask, or the strictest mode of an agent that cannot ask
    #[arg(long, env = "LONGSHORE_MODE")]
    mode: Option<Mode>,
    /// The model; without it, the agent chooses
    #[arg(long, env = "LONGSHORE_MODEL")]
    model: Option<String>,
    /// How hard the model thinks, in the agent's words; without it, the agent chooses
    #[arg(long)]
    effort: Option<String>,
    /// The work tree; without it, this folder
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
}

#[derive(Deserialize)]
struct StartedTurn {
    prompt: PromptId,
    turn: TurnId,
}

impl RunArgs {
    pub(super) async fn run(self, json: bool) -> Result<ExitCode> {
        // Before a session is opened for it.
        let text = said(self.prompt.as_deref(), &format!("longshore run {} \"fix the tests\"", self.agent))?;
        let cwd = work_tree(self.cwd.as_deref(), connect::named_url().is_some())?;
        let mut client = connect::hub().await?;
        let mut open = json!({ "agent": self.agent, "cwd": cwd, "mode": self.mode, "model": &self.model });
        if let Some(effort) = self.effort {
            open["effort"] = effort.into();
        }
        let session: SessionInfo = client.call("open", open).await?;
        if self.mode.is_none() && session.mode != Mode::default() {
            let (agent, mode) = (&session.provider, session.mode);
            note(format_args!(
                "{agent} cannot ask for approvals, so it works in the mode {mode}; `--mode` sets another mode"
            ));
        }
        let said: Value = json!({ "session": session.session_id, "content": text });
        let StartedTurn { prompt, turn } = client.call("prompt", said).await?;
        if let Some(model) = self.model.filter(|_| session.capabilities.models) {
            // The turn runs meanwhile, and nothing of it is lost: it is watched from its beginning.
            let known =
                tokio::time::timeout(MODELS_WITHIN, set::models(&mut client, &session.provider)).await;
            if let Ok(Ok(known)) = known {
                set::note_unlisted(&known, &session, &model);
            }
        }
        Live::new(client, session, Until::Turn(turn), json).begun_by(prompt).watch(Seq::ZERO).await
    }
}

/// The folder in which the agent is to work. A hub elsewhere may have folders that are not here.
fn work_tree(named: Option<&Path>, elsewhere: bool) -> Result<PathBuf> {
    let Some(folder) = named else {
        return std::env::current_dir().map_err(|error| {
            let what = format!("cannot use the current folder: {error}");
            Fault::usage(
                what,
                "somebody may have deleted it: `cd` to another folder, or name one with `--cwd`",
            )
            .into()
        });
    };
    let refused = |why: &str, hint: &str| {
        Err(Fault::usage(format!("cannot work in {}: {why}", folder.display()), hint).into())
    };
    match folder.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(_) => refused("it is a file", "name a folder with `--cwd`"),
        Err(_) if elsewhere && folder.is_absolute() => Ok(folder.to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            refused("the folder does not exist", "make it, or name another folder with `--cwd`")
        }
        Err(error) => refused(&error.to_string(), "name another folder with `--cwd`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_used_is_named_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(work_tree(Some(folder.path()), false).is_ok());
        let error = |path: &Path| work_tree(Some(path), false).unwrap_err().to_string();
        assert!(error(&file).contains("it is a file"), "{}", error(&file));
        let gone = folder.path().join("gone");
        assert!(error(&gone).contains("does not exist") && error(&gone).contains("gone"));
        assert_eq!(work_tree(Some(&gone), true).unwrap(), gone, "another machine may have it");
    }
}

//! `longshore queue`: the prompts that wait for their turn, and what can be done with them.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use longshore_model::id::PromptId;
use longshore_model::info::SessionInfo;
use serde_json::json;

use super::exit::Fault;
use super::reach;
use super::said::said;
use super::terminal::{put_line, say};
use super::wish::wish;
use crate::render::clean::clean;
use crate::render::human::short_id;

/// List the prompts of a session that are queued, or change them.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Queue {
    #[command(subcommand)]
    what: Option<What>,
    /// The session: an id or a part of it; the latest otherwise, or `-`
    session: Option<String>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Rewrite a queued prompt
    Edit {
        #[command(flatten)]
        one: One,
        /// The new words; `-` or nothing reads them from stdin
        text: Option<String>,
    },
    /// Remove a queued prompt
    Drop {
        #[command(flatten)]
        one: One,
    },
    /// Move a queued prompt to another place
    Move {
        #[command(flatten)]
        one: One,
        /// The place: 1 is next
        to: usize,
    },
    /// Send what is held since the turn was stopped
    Send {
        /// The session: an id or a part of it; `-` is the latest
        session: String,
        /// All of it, one turn after the other; otherwise only the next one
        #[arg(long)]
        all: bool,
    },
    /// Remove all queued prompts
    Discard {
        /// The session: an id or a part of it; `-` is the latest
        session: String,
    },
}

#[derive(Debug, Args)]
struct One {
    /// The session: an id or a part of it; `-` is the latest
    session: String,
    /// Which prompt: its number in the list, or a part of its id
    prompt: String,
}

impl Queue {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let named = match &self.what {
            None => self.session.clone(),
            Some(What::Edit { one, .. } | What::Drop { one } | What::Move { one, .. }) => {
                Some(one.session.clone())
            }
            Some(What::Send { session, .. } | What::Discard { session }) => Some(session.clone()),
        };
        let text = match &self.what {
            Some(What::Edit { text, .. }) => said(text.as_deref(), "longshore queue edit - 1 \"fix it\"")?,
            _ => String::new(),
        };
        let mut client = reach::hub().await?;
        let session = reach::session(&mut client, named.as_deref()).await?;
        let (method, params, told) = match self.what {
            None => return list(&session, as_json),
            Some(What::Edit { one, .. }) => {
                let prompt = one.found(&session)?;
                ("editPrompt", json!({ "prompt": prompt, "text": text }), "the prompt was rewritten")
            }
            Some(What::Drop { one }) => {
                ("cancelPrompt", json!({ "prompt": one.found(&session)? }), "the prompt was removed")
            }
            Some(What::Move { one, to }) => {
                let order = moved(&session, one.found(&session)?, to);
                ("update", json!({ "queue": order }), "the prompt was moved")
            }
            Some(What::Send { all, .. }) => ("sendQueued", json!({ "all": all }), "sent"),
            Some(What::Discard { .. }) => ("discardQueue", json!({}), "the queue is empty"),
        };
        wish(&mut client, &session, method, params, told, as_json).await
    }
}

impl One {
    fn found(&self, session: &SessionInfo) -> Result<PromptId> {
        let at = self.prompt.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(queued) = at.and_then(|at| session.queue.get(at)) {
            return Ok(queued.prompt);
        }
        let named = self.prompt.to_ascii_lowercase();
        let mut fits =
            session.queue.iter().map(|queued| queued.prompt).filter(|id| id.to_string().contains(&named));
        match (fits.next(), fits.next()) {
            (Some(prompt), None) => Ok(prompt),
            _ => {
                let what = format!("there is no queued prompt `{}`", self.prompt);
                Err(Fault::not_found(what, "`longshore queue SESSION` lists them with their numbers").into())
            }
        }
    }
}

/// The prompts in their new order.
fn moved(session: &SessionInfo, prompt: PromptId, to: usize) -> Vec<PromptId> {
    let mut order: Vec<PromptId> =
        session.queue.iter().map(|queued| queued.prompt).filter(|queued| *queued != prompt).collect();
    order.insert(to.saturating_sub(1).min(order.len()), prompt);
    order
}

fn list(session: &SessionInfo, as_json: bool) -> Result<ExitCode> {
    if as_json {
        put_line(json!({ "queue": session.queue, "held": session.queue_held }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if session.queue.is_empty() {
        say("nothing is queued")?;
    }
    for (at, queued) in session.queue.iter().enumerate() {
        let text = clean(&queued.text).into_owned();
        let (first, more) =
            text.trim().split_once('\n').map_or((text.trim(), false), |(first, _)| (first, true));
        say(format_args!("{}  {first}{}", at + 1, if more { " …" } else { "" }))?;
    }
    if session.queue_held && !session.queue.is_empty() {
        say(format_args!(
            "held since the turn was stopped; `longshore queue send {0} --all` sends it, `longshore queue discard {0}` drops it",
            short_id(session.session_id)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

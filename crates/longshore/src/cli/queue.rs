//! `longshore queue`: lists, changes and sends the queued prompts.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use longshore_model::id::PromptId;
use longshore_model::info::SessionInfo;
use serde_json::json;

use super::connect;
use super::exit::Fault;
use super::held::prompts;
use super::said::said;
use super::session_command::send_command;
use super::terminal::{put_line, say};
use crate::render::clean::clean;
use crate::render::held;
use crate::render::human::short_id;

/// List, change or send the queued prompts of a session.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Queue {
    #[command(subcommand)]
    what: Option<QueueVerb>,
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
}

#[derive(Debug, Subcommand)]
enum QueueVerb {
    /// Change the text of a queued prompt
    Edit {
        #[command(flatten)]
        one: One,
        /// The new text; `-` or no text reads it from stdin
        text: Option<String>,
    },
    /// Remove a queued prompt
    Drop {
        #[command(flatten)]
        one: One,
    },
    /// Move a queued prompt to another position
    Move {
        #[command(flatten)]
        one: One,
        /// The new position: 1 runs next
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        to: u32,
    },
    /// Send held prompts
    Send {
        /// The session: its id or a part of it; `-` means the latest one
        session: String,
        /// Send all held prompts, one turn after the other; without it, only the next one
        #[arg(long)]
        all: bool,
    },
    /// Remove all queued prompts
    Discard {
        /// The session: its id or a part of it; `-` means the latest one
        session: String,
    },
}

#[derive(Debug, Args)]
struct One {
    /// The session: its id or a part of it; `-` means the latest one
    session: String,
    /// The prompt: its number in the list, or a part of its id
    prompt: String,
}

impl Queue {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let named = match &self.what {
            None => self.session.clone(),
            Some(QueueVerb::Edit { one, .. } | QueueVerb::Drop { one } | QueueVerb::Move { one, .. }) => {
                Some(one.session.clone())
            }
            Some(QueueVerb::Send { session, .. } | QueueVerb::Discard { session }) => Some(session.clone()),
        };
        let text = match &self.what {
            Some(QueueVerb::Edit { text, .. }) => {
                said(text.as_deref(), "longshore queue edit - 1 \"fix it\"")?
            }
            _ => String::new(),
        };
        let mut client = connect::hub().await?;
        let session = connect::open_session(&mut client, named.as_deref()).await?;
        let told;
        let (method, params, told) = match self.what {
            None => return list(&session, as_json),
            Some(QueueVerb::Edit { one, .. }) => {
                let prompt = one.found(&session)?;
                ("editPrompt", json!({ "prompt": prompt, "text": text }), "the prompt was changed")
            }
            Some(QueueVerb::Drop { one }) => {
                ("cancelPrompt", json!({ "prompt": one.found(&session)? }), "the prompt was removed")
            }
            Some(QueueVerb::Move { one, to }) => {
                let order = moved(&session, one.found(&session)?, to)?;
                ("update", json!({ "queue": order }), "the prompt was moved")
            }
            Some(QueueVerb::Send { all, .. }) => {
                told = sent(&session, all)?;
                ("sendQueued", json!({ "all": all }), told.as_str())
            }
            Some(QueueVerb::Discard { .. }) => ("discardQueue", json!({}), "the queue is empty"),
        };
        send_command(&mut client, &session, method, params, told, as_json).await
    }
}

impl One {
    fn found(&self, session: &SessionInfo) -> Result<PromptId> {
        let at = self.prompt.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some(queued) = at.and_then(|at| session.queue.get(at)) {
            return Ok(queued.prompt);
        }
        let named = connect::part_of_id(&self.prompt)?;
        let mut fits =
            session.queue.iter().map(|queued| queued.prompt).filter(|id| id.to_string().contains(&named));
        match (fits.next(), fits.next()) {
            (Some(prompt), None) => Ok(prompt),
            _ => {
                let what = format!("no queued prompt is called `{}`", self.prompt);
                Err(Fault::not_found(
                    what,
                    "`longshore queue SESSION` lists the queued prompts with their numbers",
                )
                .into())
            }
        }
    }
}

/// What is told once what is held was sent on. Where nothing is, that is said, and nothing is asked of the hub.
fn sent(session: &SessionInfo, all: bool) -> Result<String> {
    let held = held(session);
    if held == 0 {
        let (what, hint) = match session.queue.len() {
            0 => ("no prompt is queued", "`longshore prompt SESSION TEXT` sends one"),
            _ => ("no prompt is held", "queued prompts run when the running turn ends"),
        };
        return Err(Fault::conflict(what, hint).into());
    }
    Ok(prompts(if all { held } else { 1 }, "is sent", "are sent"))
}

/// The prompts in their new order.
fn moved(session: &SessionInfo, prompt: PromptId, to: u32) -> Result<Vec<PromptId>> {
    let (all, to) = (session.queue.len(), to as usize);
    if to > all {
        let what = format!("the queue has no position {to}; {}", prompts(all, "is queued", "are queued"));
        return Err(Fault::usage(what, format!("give a position from 1 to {all}")).into());
    }
    let mut order: Vec<PromptId> =
        session.queue.iter().map(|queued| queued.prompt).filter(|queued| *queued != prompt).collect();
    order.insert((to - 1).min(order.len()), prompt);
    Ok(order)
}

fn list(session: &SessionInfo, as_json: bool) -> Result<ExitCode> {
    if as_json {
        put_line(json!({ "queue": session.queue, "held": session.queue_held }))?;
        return Ok(ExitCode::SUCCESS);
    }
    if session.queue.is_empty() {
        say("no prompt is queued")?;
    }
    for (at, queued) in session.queue.iter().enumerate() {
        let text = clean(&queued.text).into_owned();
        let (first, more) =
            text.trim().split_once('\n').map_or((text.trim(), false), |(first, _)| (first, true));
        let mark = if queued.held { "[held] " } else { "" };
        say(format_args!("{}  {mark}{first}{}", at + 1, if more { " …" } else { "" }))?;
    }
    if held(session) > 0 {
        let id = short_id(session.session_id);
        let (since, sends) = match session.cut_by_restart {
            true => ("a restart of the hub interrupted the turn", format!("longshore resume {id}")),
            false => ("a turn was stopped", format!("longshore queue send {id} --all")),
        };
        say(format_args!(
            "held since {since}; `{sends}` sends every held prompt, `longshore queue discard {id}` empties the queue"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

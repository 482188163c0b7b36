//! `longshore approve` and `longshore deny`: decide an approval.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::approval::Decision;
use longshore_model::info::OpenApproval;
use serde_json::{Value, json};

use super::connect;
use super::exit::Fault;
use super::inbox;
use super::terminal::{note, put_line, say, style};
use crate::client::Client;
use crate::render::clean::clean;
use crate::render::{Show, approval_brief, approval_prompt};

/// Allow the action that an agent asks about.
#[derive(Debug, Args)]
pub(super) struct Approve {
    /// The approval or its session: an id or a part of it; `-` means the latest session. Not needed if only one approval waits
    approval: Option<String>,
    /// Do not ask again in this session
    #[arg(long, conflicts_with = "always")]
    session: bool,
    /// Never ask again
    #[arg(long)]
    always: bool,
}

/// Deny the action that an agent asks about.
#[derive(Debug, Args)]
pub(super) struct Deny {
    /// The approval or its session: an id or a part of it; `-` means the latest session. Not needed if only one approval waits
    approval: Option<String>,
    /// A reason, which the agent gets
    #[arg(short, long)]
    message: Option<String>,
    /// Also stop the turn
    #[arg(long)]
    cancel: bool,
}

impl Approve {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let decision = match (self.session, self.always) {
            (true, _) => Decision::AllowSession,
            (_, true) => Decision::AllowAlways,
            (false, false) => Decision::AllowOnce,
        };
        decide(self.approval, decision, None, as_json).await
    }
}

impl Deny {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let decision = if self.cancel { Decision::Cancel } else { Decision::Deny };
        decide(self.approval, decision, self.message, as_json).await
    }
}

async fn decide(
    named: Option<String>,
    decision: Decision,
    message: Option<String>,
    as_json: bool,
) -> Result<ExitCode> {
    let mut client = connect::hub().await?;
    let (approval, what) = meant(&mut client, named.as_deref(), as_json).await?;
    let params = json!({ "approval": approval, "decision": decision, "message": message });
    let answer: Value = client.call("decide", params).await?;
    let word = if decision.allows() { "allowed" } else { "denied" };
    match what {
        _ if as_json => put_line(&answer)?,
        Some(what) => say(format_args!("{word}: {}", clean(&what)))?,
        None => say(word)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The approval that a person means, by its own id or by its session's, and what it is about. Several waiting ones are
/// shown, so that the next try can name one.
async fn meant(client: &mut Client, named: Option<&str>, as_json: bool) -> Result<(String, Option<String>)> {
    let approvals = inbox::waiting(client).await?.approvals;
    let is_told_apart = named.is_some_and(|name| name != connect::LATEST);
    let named = connect::named(client, named).await?;
    let id = |open: &OpenApproval| open.request.approval.to_string();
    let fits = |open: &&OpenApproval| match &named {
        None => true,
        Some(name) => id(open).contains(name) || open.session.to_string().contains(name),
    };
    let found: Vec<&OpenApproval> = approvals.iter().filter(fits).collect();
    match (&found[..], named) {
        ([one], _) => {
            if !is_told_apart && !as_json {
                // Nobody named it, so that nobody need have read it.
                note(approval_prompt(&one.request, one.reason.as_deref(), &style(Show::Hidden)));
            }
            Ok((id(one), Some(approval_brief(&one.request))))
        }
        ([], Some(name)) if connect::session(client, Some(&name)).await.is_ok() => {
            let hint = "`longshore inbox` lists everything that needs you";
            Err(Fault::not_found("no approval waits in this session", hint).into())
        }
        // It may be decided by now, and the hub knows by whom.
        ([], Some(name)) if is_told_apart && name.len() == 36 => Ok((name, None)),
        ([], _) if approvals.is_empty() => {
            Err(Fault::not_found("no approval waits", "`longshore inbox` lists everything that needs you")
                .into())
        }
        ([], _) => {
            let ids: Vec<String> = approvals.iter().map(id).collect();
            Err(Fault::not_found(
                "no approval with this id waits",
                format!("these approvals wait: {}", ids.join(", ")),
            )
            .into())
        }
        _ => {
            for open in found.iter().filter(|_| !as_json) {
                let style = style(Show::Hidden);
                note(format_args!(
                    "{}\n{}",
                    id(open),
                    approval_prompt(&open.request, open.reason.as_deref(), &style)
                ));
            }
            let ids: Vec<String> = found.iter().map(|open| id(open)).collect();
            let hint = format!("name one approval by its id, or by a part of it: {}", ids.join(", "));
            Err(Fault::usage(format!("{} approvals wait", found.len()), hint).into())
        }
    }
}

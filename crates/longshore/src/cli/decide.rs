//! `longshore approve` and `longshore deny`: answer what an agent waits for.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::approval::Decision;
use longshore_model::info::OpenApproval;
use serde::Deserialize;
use serde_json::{Value, json};

use super::exit::Fault;
use super::reach;
use super::terminal::{put_line, style};
use crate::client::Client;
use crate::render::{Show, approval_prompt};

/// Allow what an agent waits for.
#[derive(Debug, Args)]
pub(super) struct Approve {
    /// The approval: an id or a part of it; the one that waits, when it is the only one
    approval: Option<String>,
    /// Do not ask again in this session
    #[arg(long, conflicts_with = "always")]
    session: bool,
    /// Never ask again
    #[arg(long)]
    always: bool,
}

/// Deny what an agent waits for.
#[derive(Debug, Args)]
pub(super) struct Deny {
    /// The approval: an id or a part of it; the one that waits, when it is the only one
    approval: Option<String>,
    /// What the agent is told with it
    #[arg(short, long)]
    message: Option<String>,
    /// Stop the turn as well
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
    let mut client = reach::hub().await?;
    let approval = match named {
        Some(id) if id.len() == 36 => id,
        named => waiting(&mut client, named.as_deref()).await?,
    };
    let params = json!({ "approval": approval, "decision": decision, "message": message });
    let answer: Value = client.call("decide", params).await?;
    match (as_json, decision.allows()) {
        (true, _) => put_line(&answer)?,
        (false, true) => put_line("allowed")?,
        (false, false) => put_line("denied")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The approval that a person means. Several waiting ones are shown, so that the next try can name one.
async fn waiting(client: &mut Client, named: Option<&str>) -> Result<String> {
    #[derive(Deserialize)]
    struct Inbox {
        approvals: Vec<OpenApproval>,
    }
    let Inbox { approvals } = client.call("approvals", json!({})).await?;
    let id = |open: &OpenApproval| open.request.approval.to_string();
    let fits = |open: &&OpenApproval| named.is_none_or(|name| id(open).contains(name));
    let found: Vec<&OpenApproval> = approvals.iter().filter(fits).collect();
    match found[..] {
        [one] => Ok(id(one)),
        [] if approvals.is_empty() => {
            let hint = "`longshore ls` shows which sessions wait, and for what";
            Err(Fault::not_found("no approval waits", hint).into())
        }
        [] => {
            let ids: Vec<String> = approvals.iter().map(id).collect();
            Err(Fault::not_found("no such approval waits", format!("these wait: {}", ids.join(", "))).into())
        }
        _ => {
            for open in &found {
                let style = style(Show::Hidden);
                eprintln!("{}\n{}", id(open), approval_prompt(&open.request, open.reason.as_deref(), &style));
            }
            let hint = "name one by its id, or by a part of it that no other has";
            Err(Fault::usage(format!("{} approvals wait", found.len()), hint).into())
        }
    }
}

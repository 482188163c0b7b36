//! `longshore wait`: return when a session is at rest, or needs somebody.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use longshore_model::event::Body;
use longshore_model::info::{Activity, SessionInfo, Status};
use serde_json::{Value, json};

use super::exit::{INTERRUPTED, NEEDS_YOU, TIME_IS_UP};
use super::reach;
use super::terminal::{note, put_line, say};
use super::wish::called;
use crate::client::{Client, News};
use crate::render::state_word;

/// Wait until a session is at rest or needs you.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits with 0 when it is at rest, 1 when its last turn failed, 130 when that was interrupted, 7 when it needs you, 124 when the time is up."
)]
pub(super) struct Wait {
    /// The session: an id or a part of it; the latest otherwise, or `-`
    session: Option<String>,
    /// Only until it is at rest: somebody else answers what it asks
    #[arg(long)]
    idle: bool,
    /// How many seconds at most
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

impl Wait {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = reach::hub().await?;
        let session = reach::session(&mut client, self.session.as_deref()).await?;
        let resting = rest(&mut client, session, self.idle);
        let outcome = match self.timeout {
            None => Some(resting.await?),
            Some(seconds) => {
                tokio::time::timeout(Duration::from_secs(seconds), resting).await.ok().transpose()?
            }
        };
        let Some(session) = outcome else {
            note("the time is up, and it still works");
            return Ok(ExitCode::from(TIME_IS_UP));
        };
        let code = verdict(&session);
        match as_json {
            true => put_line(serde_json::to_string(&session)?)?,
            false => say(format_args!("{}: {}", called(&session), state_word(&session)))?,
        }
        Ok(code)
    }
}

/// The session, once nothing more is to be expected of it.
async fn rest(client: &mut Client, session: SessionInfo, only_idle: bool) -> Result<SessionInfo> {
    let id = session.session_id;
    let _: Value = client.call("subscribe", json!({ "session": id, "after": session.head })).await?;
    loop {
        let now: SessionInfo = client.call("session", json!({ "session": id })).await?;
        if is_at_rest(&now, only_idle) {
            return Ok(now);
        }
        until_news(client).await?;
    }
}

/// Resolves when the session may be elsewhere than before.
async fn until_news(client: &mut Client) -> Result<()> {
    loop {
        match client.news().await? {
            News::Resume(session, after) => {
                let _: Value =
                    client.call("subscribe", json!({ "session": session, "after": after })).await?;
                return Ok(());
            }
            News::Event(_, event) => match event.body {
                Body::MessageDelta | Body::ReasoningDelta | Body::PlanDelta | Body::ToolOutputDelta => {}
                _ => return Ok(()),
            },
        }
    }
}

fn is_at_rest(session: &SessionInfo, only_idle: bool) -> bool {
    match session.activity {
        Activity::Starting | Activity::Working => false,
        Activity::Waiting => !only_idle,
        Activity::Idle | Activity::Sleeping => session.queue.is_empty() || session.queue_held,
        Activity::Closed => true,
    }
}

fn verdict(session: &SessionInfo) -> ExitCode {
    match (session.activity, session.status) {
        (Activity::Waiting, _) => ExitCode::from(NEEDS_YOU),
        (_, Status::Error) => ExitCode::FAILURE,
        (_, Status::Interrupted) => ExitCode::from(INTERRUPTED),
        (_, Status::Completed | Status::Active | Status::Idle) => ExitCode::SUCCESS,
    }
}

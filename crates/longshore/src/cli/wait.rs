//! `longshore wait`: returns when a session is at rest, or needs a person.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use longshore_model::event::Body;
use longshore_model::info::{Activity, SessionInfo, Status};
use serde_json::{Value, json};

use super::connect;
use super::exit::{INTERRUPTED, NEEDS_YOU, TIME_IS_UP};
use super::session_command::called;
use super::terminal::{note, put_line, say};
use crate::client::{Client, HubNotification};
use crate::render::state_word;

/// Wait until a session is at rest or needs you.
#[derive(Debug, Args)]
#[command(
    after_help = "The exit code is 0 if the session is at rest, 1 if its last turn failed, 130 if that turn was interrupted, 7 if the session needs you, 124 if the time is up."
)]
pub(super) struct Wait {
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
    /// Wait until the session is at rest, also while it needs somebody
    #[arg(long)]
    idle: bool,
    /// The most seconds to wait
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
}

impl Wait {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::session(&mut client, self.session.as_deref()).await?;
        let resting = rest(&mut client, session, self.idle);
        let outcome = match self.timeout {
            None => Some(resting.await?),
            Some(seconds) => {
                tokio::time::timeout(Duration::from_secs(seconds), resting).await.ok().transpose()?
            }
        };
        let Some(session) = outcome else {
            note("the time is up, and the session is still working");
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
            HubNotification::Resume(session, after) => {
                let _: Value =
                    client.call("subscribe", json!({ "session": session, "after": after })).await?;
                return Ok(());
            }
            HubNotification::Event(_, event) => match event.body {
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

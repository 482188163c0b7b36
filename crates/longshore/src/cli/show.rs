//! `longshore show`: shows one session with its conversation.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::event::{Body, Event};
use longshore_model::info::{Activity, SessionInfo};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::connect;
use super::export::pages;
use super::live::is_settled;
use super::terminal::{now, put, put_line, style};
use crate::client::Client;
use crate::render::human::short_id;
use crate::render::{InOrder, Renderer, Show as Reasoning, session_detail};

/// Show the state of a session and its whole conversation.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The session: its id or a part of it; `-`, or no session, means the latest one
    session: Option<String>,
}

impl Show {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let session = connect::session(&mut client, self.session.as_deref()).await?;
        let back = hand_back(&mut client, &session).await;
        if as_json {
            let timeline: Value =
                client.call("timeline", json!({ "session": session.session_id, "limit": 500 })).await?;
            let release = back.is_some() && has_process(&session);
            put_line(
                json!({ "session": session, "handBack": back, "release": release, "timeline": timeline }),
            )?;
            return Ok(ExitCode::SUCCESS);
        }
        let style = style(Reasoning::Folded);
        let back = back.map(|back| back.typed(&session));
        put_line(session_detail(&session, back.as_deref(), now(), &style))?;
        let (mut renderer, mut order) = (Renderer::new(style), InOrder::default());
        let mut tell = |events: Vec<Event>| -> Result<()> {
            for event in &events {
                match &event.body {
                    Body::ApprovalRequested(request) if is_settled(event, &session) => {
                        renderer.decided_since(event, request);
                    }
                    _ => put(renderer.event(event))?,
                }
            }
            Ok(())
        };
        pages(&mut client, session.session_id, false, |_, event| {
            let mut ready = Vec::new();
            order.take(event.clone(), &mut ready);
            tell(ready)
        })
        .await?;
        tell(order.rest())?;
        put(renderer.finish())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// How the session goes on in the agent's own terminal.
#[derive(Serialize, Deserialize)]
pub(super) struct HandBack {
    cwd: String,
    command: String,
    pub(super) line: String,
}

impl HandBack {
    /// What a person types to get there. As long as a process of ours holds the conversation, the agent's own command would be
    /// refused, or would begin another branch of it.
    fn typed(self, session: &SessionInfo) -> String {
        match has_process(session) {
            true => format!("longshore release {}", short_id(session.session_id)),
            false => self.line,
        }
    }
}

/// Whether an agent's process of ours holds the conversation.
fn has_process(session: &SessionInfo) -> bool {
    match session.activity {
        Activity::Starting | Activity::Working | Activity::Waiting | Activity::Idle => true,
        Activity::Sleeping | Activity::Closed => false,
    }
}

/// A hub that cannot say shows the session all the same.
pub(super) async fn hand_back(client: &mut Client, session: &SessionInfo) -> Option<HandBack> {
    let asked = json!({ "session": session.session_id });
    client.call::<Option<HandBack>>("handBack", asked).await.ok().flatten()
}

//! Acts on a session: finds it, sends the command to the hub, prints the result.

use std::process::ExitCode;

use anyhow::Result;
use longshore_model::info::SessionInfo;
use serde_json::{Value, json};

use super::connect;
use super::terminal::{put_line, say};
use crate::client::Client;
use crate::render::clean::clean;
use crate::render::human::short_id;

/// Sends a command to a session, and prints the answer as JSON, or the session's name and the words `told`.
pub(super) async fn send_command(
    client: &mut Client,
    session: &SessionInfo,
    method: &str,
    mut params: Value,
    told: &str,
    as_json: bool,
) -> Result<ExitCode> {
    params["session"] = json!(session.session_id);
    let answer: Value = client.call(method, params).await?;
    match as_json {
        true => put_line(&answer)?,
        false => say(format_args!("{}: {told}", called(session)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Finds the session, then sends the command.
pub(super) async fn send_command_by_name(
    named: Option<&str>,
    method: &str,
    params: Value,
    told: &str,
    as_json: bool,
) -> Result<ExitCode> {
    let mut client = connect::hub().await?;
    let session = connect::session(&mut client, named).await?;
    send_command(&mut client, &session, method, params, told, as_json).await
}

/// A session as a sentence names it.
pub(super) fn called(session: &SessionInfo) -> String {
    let title: String = clean(&session.title).lines().next().unwrap_or_default().chars().take(60).collect();
    match title.is_empty() {
        true => short_id(session.session_id),
        false => format!("{} ({title})", short_id(session.session_id)),
    }
}

//! The title of a session.

use axum::Json;
use axum::extract::Request;
use longshore_model::command::Command;
use longshore_model::id::SessionId;
use longshore_model::session::title_of;
use longshore_model::timeline::{Content, Item};
use serde_json::{Value, json};

use super::body;
use super::wire::NewTitle;
use crate::gate::Gate;
use crate::problem::Problem;

/// The longest title, in characters.
const LONGEST: usize = 300;

/// Renames a session. Without a title, it gets the one of its first prompt back.
pub(super) async fn rename(gate: Gate, request: Request) -> Result<Json<Value>, Problem> {
    let NewTitle { thread_id, title } = body(request).await?;
    if thread_id.trim().is_empty() {
        return Err(Problem::invalid("threadId is required"));
    }
    let session: SessionId = serde_json::from_value(thread_id.trim().into()).map_err(|_| {
        Problem::invalid(format!("`{}` is not a thread of this hub", super::plain(&thread_id)))
    })?;
    let given = title.map(|title| title.trim().chars().take(LONGEST).collect::<String>());
    let title = match given.filter(|title| !title.is_empty()) {
        Some(title) => title,
        None => {
            let timeline = gate.timeline(session).await?;
            let is_prompt = |item: &&Item| matches!(item.content, Content::UserMessage { .. });
            let first =
                timeline.items.iter().find(is_prompt).map(|item| title_of(&item.text)).unwrap_or_default();
            if first.is_empty() { gate.session(session).await?.title } else { first }
        }
    };
    gate.command(session, Command::Rename(title)).await?;
    Ok(Json(json!({ "ok": true })))
}

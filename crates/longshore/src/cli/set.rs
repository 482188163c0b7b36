//! `longshore mode`, `longshore effort` and the model of a session: the settings of its agent.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_facades::native::answers::Models;
use longshore_model::capability::{Mode, ModelInfo};
use longshore_model::info::SessionInfo;
use serde_json::json;

use super::connect;
use super::exit::Fault;
use super::session_command::send_command;
use super::terminal::{note, put_line};
use crate::client::Client;
use crate::render::clean::clean;
use crate::render::human::short_id;

/// Show or set what an agent may do without asking.
#[derive(Debug, Args)]
pub(super) struct SetMode {
    /// The session: its id or a part of it; `-` means the latest one
    session: String,
    /// The new mode: plan, ask, auto-edit or full
    mode: Option<Mode>,
}

impl SetMode {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let (mut client, session) = found("mode", &self.session).await?;
        let Some(mode) = self.mode else {
            let modes = session.capabilities.modes.iter().map(ToString::to_string).collect::<Vec<_>>();
            return told(
                &json!({ "mode": session.mode, "modes": modes }),
                &session.mode.to_string(),
                as_json,
            );
        };
        let words = format!("mode {mode}");
        send_command(&mut client, &session, "update", json!({ "mode": mode }), &words, as_json).await
    }
}

/// Show or set how hard the model of a session thinks.
#[derive(Debug, Args)]
pub(super) struct SetEffort {
    /// The session: its id or a part of it; `-` means the latest one
    session: String,
    /// The new effort: one of the agent's words, such as low, medium or high
    effort: Option<String>,
}

impl SetEffort {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let (mut client, session) = found("effort", &self.session).await?;
        let Some(effort) = self.effort else {
            let models = models(&mut client, &session.provider).await.unwrap_or_default();
            let efforts = ModelInfo::efforts_of(&models, session.model.as_deref());
            let mut now = session.effort.as_deref().unwrap_or("default").to_owned();
            if !efforts.is_empty() {
                now = format!("{now}\n  {}", efforts.join("\n  "));
            }
            return told(&json!({ "effort": session.effort, "efforts": efforts }), &now, as_json);
        };
        let words = format!("effort {effort}");
        send_command(&mut client, &session, "update", json!({ "effort": effort }), &words, as_json).await
    }
}

/// The model of a session: another one, or which there are.
pub(super) async fn model(named: &str, model: Option<String>, as_json: bool) -> Result<ExitCode> {
    let (mut client, session) = found("model", named).await?;
    if let Some(model) = model {
        let models = models(&mut client, &session.provider).await.unwrap_or_default();
        note_unlisted(&models, &session, &model);
        let words = format!("model {model}");
        return send_command(&mut client, &session, "update", json!({ "model": model }), &words, as_json)
            .await;
    }
    let models = models(&mut client, &session.provider).await?;
    if as_json {
        put_line(json!({ "model": session.model, "models": models }))?;
        return Ok(ExitCode::SUCCESS);
    }
    put_line(clean(session.model.as_deref().unwrap_or("default")))?;
    for ModelInfo { id, title, .. } in &models {
        put_line(format_args!("  {}  {}", clean(id), clean(title)))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Notes a model that the agent does not list. It takes names that it does not list: those of another service, or longer ones.
pub(super) fn note_unlisted(models: &[ModelInfo], session: &SessionInfo, model: &str) {
    if models.is_empty() || models.iter().any(|known| known.id == model) {
        return;
    }
    let (agent, model) = (clean(&session.provider), clean(model));
    let list = format!("`longshore model {}` lists its models", short_id(session.session_id));
    note(format_args!("note: {agent} does not list `{model}` and may refuse it; {list}"));
}

/// The models of an agent, which starts for it if they are not known.
pub(super) async fn models(client: &mut Client, agent: &str) -> Result<Vec<ModelInfo>> {
    let Models { models } = client.call("models", json!({ "agent": agent })).await?;
    Ok(models)
}

/// Whether a word can be (a part of) the id of a session, or `-`.
pub(super) fn could_be_session(named: &str) -> bool {
    named.chars().all(|sign| sign.is_ascii_hexdigit() || sign == '-')
}

/// The session, for a verb that wants it first. Whoever leaves it out is told so, and not that none has such an id.
async fn found(verb: &str, named: &str) -> Result<(Client, SessionInfo)> {
    if !could_be_session(named) {
        let hint = format!("name the session first, as in: longshore {verb} - {named}");
        return Err(Fault::usage(format!("`{named}` is not a session"), hint).into());
    }
    let mut client = connect::hub().await?;
    let session = connect::open_session(&mut client, Some(named)).await?;
    Ok((client, session))
}

fn told(json: &serde_json::Value, plain: &str, as_json: bool) -> Result<ExitCode> {
    match as_json {
        true => put_line(json)?,
        false => put_line(clean(plain))?,
    }
    Ok(ExitCode::SUCCESS)
}

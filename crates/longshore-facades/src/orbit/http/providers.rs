//! Agents under the name of providers, with what is set for them.
//!
//! The settings are a file that the hub reads when it starts. So a change of them is refused here, with what to do; what
//! changes nothing succeeds. No key of an agent is ever in an answer: agents hold their own.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use longshore_model::capability::AgentInfo;
use serde_json::{Value, json};

use super::wire::{ProviderChanges, ProviderSettings};
use super::{body, failed};
use crate::auth::Access;
use crate::gate::Gate;
use crate::problem::Problem;

/// How long the agents may take to be listed, for a page that is drawn every few seconds.
const WITHIN: Duration = Duration::from_secs(10);
/// What the app shows for a key that it must not know.
const MASK: &str = "••••";
/// The agent whose page asks for its models.
const OPENCODE: &str = "opencode";

/// The agents that the hub knows; none if they are not told in time.
pub(super) async fn agents(gate: &Gate) -> Option<Vec<AgentInfo>> {
    tokio::time::timeout(WITHIN, gate.agents()).await.ok()?.ok()
}

/// What the app calls an agent.
pub(super) fn provider_of(agent: &str) -> &str {
    match agent {
        "copilot" => "copilot-acp",
        other => other,
    }
}

async fn known(gate: &Gate) -> Result<BTreeMap<String, ProviderSettings>, Problem> {
    let agents = gate.agents().await?;
    let settings = agents.into_iter().map(|agent| {
        let model = agent.models.iter().find(|model| model.default).map(|model| model.id.clone());
        let provider = provider_of(&agent.name).to_owned();
        (provider, ProviderSettings { enabled: agent.path.is_some(), model, executable_path: agent.path })
    });
    Ok(settings.collect())
}

pub(super) async fn settings(gate: Gate) -> Result<Json<Value>, Problem> {
    Ok(Json(json!({ "providers": known(&gate).await? })))
}

pub(super) async fn change(gate: Gate, request: Request) -> Result<Response, Problem> {
    let ProviderChanges { providers } = body(request).await?;
    gate.check(Access::Act)?;
    let known = json!(known(&gate).await?);
    let changed = providers.iter().find_map(|(provider, wanted)| {
        let wanted = wanted.as_object()?;
        let (key, _) = wanted.iter().find(|(key, value)| !is_as_is(&known[provider][key.as_str()], value))?;
        Some((provider, key))
    });
    Ok(match changed {
        None => Json(json!({ "success": true })).into_response(),
        Some((provider, key)) => {
            let (provider, key) = (super::plain(provider), super::plain(key));
            let error = format!(
                "the hub cannot change `{key}` of {provider} while it runs. Set it in config.toml, in the section \
                 [agents.{provider}], and restart the hub; keys belong to the agent's own login"
            );
            (StatusCode::BAD_REQUEST, Json(failed(error))).into_response()
        }
    })
}

/// Whether a wish is for what is so anyway. The app sends back what it does not know: nothing, or a mask.
fn is_as_is(known: &Value, wanted: &Value) -> bool {
    let is_nothing = match wanted {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text.contains(MASK),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    };
    wanted == known || (known.is_null() && (is_nothing || *wanted == json!(false)))
}

/// Nobody looks into the environments of other processes here.
pub(super) async fn credentials() -> Json<Value> {
    Json(json!({ "detected": false }))
}

/// The models with which a new session can begin.
pub(super) async fn capabilities(gate: Gate) -> Result<Response, Problem> {
    let agents = gate.agents().await?;
    if !agents.iter().any(|agent| *agent.name == *OPENCODE && agent.path.is_some()) {
        return Ok((StatusCode::NOT_FOUND, Json(failed("OpenCode is not installed on this machine")))
            .into_response());
    }
    let models = gate.models(OPENCODE).await?;
    let models: Vec<_> =
        models.into_iter().map(|model| json!({ "id": model.id, "name": model.title })).collect();
    Ok(Json(json!({ "agents": [], "models": models, "canCreateNew": true })).into_response())
}

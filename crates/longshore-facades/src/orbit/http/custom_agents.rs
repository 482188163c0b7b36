//! Agents that people describe in the web app. The hub keeps the descriptions, for all devices alike.

use axum::Json;
use axum::extract::{Path, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::files::disposition;
use super::{body, failed};
use crate::auth::{Access, Token};
use crate::gate::Gate;
use crate::problem::Problem;

/// Where they are kept.
const FOLDER: &str = "orbit/agents/";
/// The most agents, and the most bytes of one.
const MOST: usize = 200;
const BYTES: usize = 64 << 10;
/// The longest id.
const ID: usize = 64;

pub(super) async fn list(gate: Gate) -> Result<Json<Vec<Value>>, Problem> {
    Ok(Json(all(&gate).await?))
}

async fn all(gate: &Gate) -> Result<Vec<Value>, Problem> {
    let kept = gate.notes(FOLDER).await?;
    Ok(kept.into_iter().filter_map(|(_, agent)| serde_json::from_str(&agent).ok()).collect())
}

pub(super) async fn import(gate: Gate, request: Request) -> Result<Json<Value>, Problem> {
    let mut agent: Map<String, Value> = body(request).await?;
    gate.check(Access::Act)?;
    let name = agent.get("name").and_then(Value::as_str).unwrap_or_default().trim();
    if name.is_empty() {
        return Err(Problem::invalid("name is required"));
    }
    let id = match agent.get("id").and_then(Value::as_str) {
        None | Some("") => Token::random().map_err(|_| Problem::our_fault())?.reveal()[..16].to_owned(),
        Some(id) if is_id(id) => id.to_owned(),
        Some(_) => return Err(Problem::invalid(format!("id must be at most {ID} letters, digits, - and _"))),
    };
    let now = json!(gate.now());
    agent.insert("id".to_owned(), json!(id));
    agent.entry("createdAt").or_insert_with(|| now.clone());
    agent.insert("updatedAt".to_owned(), now);
    let kept = Value::Object(agent);
    let text = kept.to_string();
    if text.len() > BYTES {
        return Err(Problem::too_large(BYTES));
    }
    let known = all(&gate).await?;
    if known.len() >= MOST && !known.iter().any(|agent| agent["id"] == json!(id)) {
        return Err(Problem::invalid(format!("there are {MOST} agents already; delete one first")));
    }
    gate.put_note(&format!("{FOLDER}{id}"), text).await?;
    gate.app().diary.note(format!("{} imported the agent {id}", gate.caller().name()), gate.now());
    Ok(Json(kept))
}

pub(super) async fn delete(gate: Gate, Path(id): Path<String>) -> Result<Response, Problem> {
    gate.check(Access::Act)?;
    let was_there = is_id(&id) && gate.drop_note(&format!("{FOLDER}{id}")).await?;
    if was_there {
        gate.app().diary.note(format!("{} deleted the agent {id}", gate.caller().name()), gate.now());
    }
    Ok(if was_there { Json(json!({ "success": true })).into_response() } else { unknown() })
}

pub(super) async fn export(gate: Gate, Path(id): Path<String>) -> Result<Response, Problem> {
    let Some(agent) = find(&gate, &id).await? else { return Ok(unknown()) };
    let text = serde_json::to_string_pretty(&agent).map_err(|_| Problem::our_fault())?;
    let mut response =
        ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response();
    let named = disposition("attachment", &format!("{id}.agent.json"));
    response.headers_mut().extend(named.map(|named| (header::CONTENT_DISPOSITION, named)));
    Ok(response)
}

/// The hub writes no files of editors: they may be on another machine.
pub(super) async fn sync(gate: Gate, Path(id): Path<String>) -> Result<Response, Problem> {
    gate.check(Access::Act)?;
    let Some(_) = find(&gate, &id).await? else { return Ok(unknown()) };
    let mut answer = unsupported();
    answer["agentId"] = json!(id);
    answer["conflictDetected"] = json!(false);
    Ok((StatusCode::NOT_IMPLEMENTED, Json(answer)).into_response())
}

pub(super) async fn sync_all(gate: Gate) -> Result<Response, Problem> {
    gate.check(Access::Act)?;
    let mut answer = unsupported();
    answer["results"] = json!([]);
    Ok((StatusCode::NOT_IMPLEMENTED, Json(answer)).into_response())
}

fn unsupported() -> Value {
    failed(
        "this hub writes no settings of VS Code; export the agent and put the file into its folder yourself",
    )
}

async fn find(gate: &Gate, id: &str) -> Result<Option<Value>, Problem> {
    if !is_id(id) {
        return Ok(None);
    }
    let name = format!("{FOLDER}{id}");
    let kept = gate.notes(&name).await?.into_iter().find(|(known, _)| *known == name);
    Ok(kept.and_then(|(_, agent)| serde_json::from_str(&agent).ok()))
}

fn is_id(id: &str) -> bool {
    let is_plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-_".contains(&letter);
    !id.is_empty() && id.len() <= ID && id.bytes().all(is_plain)
}

fn unknown() -> Response {
    (StatusCode::NOT_FOUND, "no agent has this id").into_response()
}

//! Devices, under the name of token sessions.
//!
//! The app knows two modes. A device that may approve counts as `read_only` there: it may not do what a `full` one may. Its
//! label says that it approves.

use axum::Json;
use axum::extract::Request;
use longshore_model::device::{Device, DeviceMode};
use longshore_model::id::DeviceId;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};

use super::body;
use super::wire::{ById, NewSession, TokenSession};
use crate::auth::Access;
use crate::gate::Gate;
use crate::native;
use crate::pair::label;
use crate::problem::Problem;

/// The longest label, in characters.
const LABEL: usize = 120;

pub(super) async fn list(gate: Gate) -> Json<Value> {
    let sessions: Vec<_> = gate.app().keys.devices().iter().map(session_of).collect();
    Json(json!({ "sessions": sessions, "legacyTokenEnabled": true }))
}

pub(super) async fn add(gate: Gate, request: Request) -> Result<Json<Value>, Problem> {
    let NewSession { label, mode } = body(request).await?;
    gate.check(Access::Act)?;
    let mode = match mode.as_deref() {
        None | Some("") => DeviceMode::Full,
        Some(mode) => mode.parse().map_err(Problem::invalid)?,
    };
    let label: Option<String> = label.map(|label| label.chars().take(LABEL).collect());
    let (token, device) = gate.app().keys.add(label::named(label.as_deref()), mode).await?;
    let deed = format!("{} made a token for {} ({mode})", gate.caller().name(), device.label);
    gate.app().diary.note(deed, gate.now());
    Ok(Json(json!({ "ok": true, "token": token.reveal(), "session": session_of(&device) })))
}

pub(super) async fn revoke(gate: Gate, request: Request) -> Result<Json<Value>, Problem> {
    let ById { id } = body(request).await?;
    gate.check(Access::Act)?;
    let id = match id.trim() {
        "" => return Err(Problem::invalid("id is required")),
        id => serde_json::from_value::<DeviceId>(id.into()).ok(),
    };
    let known = gate.app().keys.devices().into_iter().find(|device| Some(device.id) == id);
    let Some(device) = known.filter(|device| device.revoked_at.is_none()) else {
        return Ok(Json(json!({ "ok": true, "revoked": false })));
    };
    gate.app().diary.note(format!("{} revoked {}", gate.caller().name(), device.label), gate.now());
    native::revoke_device(&gate, device.id).await?;
    Ok(Json(json!({ "ok": true, "revoked": true })))
}

fn session_of(device: &Device) -> TokenSession {
    let (mode, label) = match device.mode {
        DeviceMode::Full => ("full", device.label.clone()),
        DeviceMode::ReadOnly => ("read_only", device.label.clone()),
        DeviceMode::Approve => ("read_only", format!("{} (approves)", device.label)),
    };
    TokenSession {
        id: device.id.to_string(),
        label,
        mode,
        created_at: millis(device.created_at),
        last_used_at: millis(device.last_used_at.unwrap_or(device.created_at)),
        revoked_at: device.revoked_at.map(millis),
    }
}

/// Milliseconds since 1970.
pub(super) fn millis(at: Timestamp) -> i64 {
    at.micros() / 1_000
}

//! Calls about the caller, the devices, and the machines: what else can be asked, and what it comes to.

use longshore_model::id::DeviceId;
use serde_json::{Value, json};
use tracing::warn;

use super::params::{
    FoldersParams, ListAgentsParams, PairParams, PresenceParams, PushSubscribeParams, PushUnsubscribeParams,
    UsageParams,
};
use super::{call, check};
use crate::auth::{Access, Caller, Who};
use crate::gate::Gate;
use crate::pair;
use crate::problem::Problem;

/// How many days of usage: unless said otherwise, and at most.
const DAYS: (u32, u32) = (30, 366);

/// Who the caller is, and what it may do.
pub(crate) fn me(caller: &Caller) -> Value {
    let mode = caller.mode();
    match caller.who() {
        Who::Owner => json!({ "role": "owner", "mode": mode }),
        Who::Device(device) => json!({ "role": "device", "device": device, "mode": mode }),
    }
}

pub(super) fn devices(gate: &Gate) -> Value {
    json!({ "devices": gate.app().keys.devices() })
}

pub(super) async fn revoke(gate: &Gate, device: DeviceId) -> Result<Value, Problem> {
    gate.check(Access::Act)?;
    let app = gate.app().clone();
    to_its_end(async move {
        let revoked = app.keys.revoke(device).await;
        app.codes.clear_of(device);
        if let Err(error) = app.push.forget_device(device).await {
            // Who is revoked is woken no more, whatever is kept of it.
            warn!(%device, %error, "the browsers of a revoked device cannot be forgotten yet");
        }
        Ok(json!({ "device": revoked? }))
    })
    .await
}

/// What has begun goes to its end, also when whoever asked for it goes away, or has to: one may revoke oneself.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work).await.unwrap_or_else(|_| Err(Problem::our_fault()))
}

/// A code for a new device. One device can pair another that may do as much as itself.
pub(super) fn pair(gate: &Gate, params: PairParams) -> Result<Value, Problem> {
    gate.check(Access::Act)?;
    check::name("label", params.label.as_deref())?;
    pair::new_code(gate, params.mode, params.label)
}

pub(super) async fn rotate(gate: &Gate) -> Result<Value, Problem> {
    gate.check(Access::Admin)?;
    let app = gate.app().clone();
    to_its_end(async move {
        let token = app.keys.rotate()?;
        app.codes.clear();
        // Whoever had the old token may have had himself woken with it. The new one counts already: whoever asked for it
        // is told it, whatever else comes of this.
        if let Err(error) = app.push.unsubscribe(None, None).await {
            warn!(%error, "the owner's browsers cannot be forgotten yet");
        }
        Ok(json!({ "token": token.reveal() }))
    })
    .await
}

pub(super) fn presence(gate: &Gate, params: PresenceParams) -> Value {
    let shown = params.session.filter(|_| params.visible);
    gate.app().presence.shows(gate.caller().device(), gate.connection(), shown);
    json!({})
}

pub(super) fn push_key(gate: &Gate) -> Value {
    json!({ "publicKey": gate.app().push.public_key() })
}

pub(super) async fn push_subscribe(gate: &Gate, params: PushSubscribeParams) -> Result<Value, Problem> {
    gate.check(Access::Read)?;
    gate.app().push.subscribe(gate.caller().device(), params.subscription).await?;
    Ok(json!({}))
}

pub(super) async fn push_unsubscribe(gate: &Gate, params: PushUnsubscribeParams) -> Result<Value, Problem> {
    gate.check(Access::Read)?;
    gate.app().push.unsubscribe(gate.caller().device(), params.endpoint.as_deref()).await?;
    Ok(json!({}))
}

pub(super) async fn push_test(gate: &Gate) -> Result<Value, Problem> {
    gate.check(Access::Read)?;
    let sent = gate.app().push.test(gate.caller().device()).await?;
    Ok(json!({ "sent": sent }))
}

pub(super) async fn usage(gate: &Gate, params: UsageParams) -> Result<Value, Problem> {
    let (usual, most) = DAYS;
    let days = params.days.unwrap_or(usual).clamp(1, most);
    Ok(json!({ "days": gate.usage(days).await? }))
}

pub(super) async fn machines(gate: &Gate, params: ListAgentsParams) -> Result<Value, Problem> {
    let mut told = Vec::new();
    for mut machine in gate.machines().await? {
        call::with_models(gate, params.models, &mut machine.agents).await;
        told.push(json!({ "name": machine.name, "agents": machine.agents }));
    }
    Ok(json!({ "machines": told }))
}

pub(super) async fn folders(gate: &Gate, params: FoldersParams) -> Result<Value, Problem> {
    let found = gate.folders(params.path).await?;
    let recent = gate.recent_folders().await?;
    Ok(json!({ "path": found.path, "parent": found.parent, "folders": found.folders, "recent": recent }))
}

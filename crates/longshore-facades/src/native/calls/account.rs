//! The caller, the devices, and their pushes.

use longshore_model::id::DeviceId;
use tracing::warn;

use crate::auth::{Access, Caller, Who};
use crate::gate::Gate;
use crate::mobile;
use crate::native::answers::{
    CallerRole, Devices, Me, MobilePairing, Nothing, OwnerToken, PairingCode, PushKey, RevokedDevice,
    SentPushes,
};
use crate::native::check;
use crate::native::params::{
    DeviceParams, NoParams, PairParams, PresenceParams, PushSubscribeParams, PushUnsubscribeParams,
};
use crate::pair;
use crate::problem::Problem;

/// The caller, and what the caller may do.
pub(crate) fn me(caller: &Caller) -> Me {
    let (role, device) = match caller.who() {
        Who::Owner => (CallerRole::Owner, None),
        Who::Device(device) => (CallerRole::Device, Some(device.clone())),
    };
    Me { role, device, mode: caller.mode() }
}

pub(super) async fn who(gate: Gate, NoParams {}: NoParams) -> Result<Me, Problem> {
    Ok(me(gate.caller()))
}

pub(super) async fn devices(gate: Gate, NoParams {}: NoParams) -> Result<Devices, Problem> {
    Ok(Devices { devices: gate.app().keys.devices() })
}

pub(super) async fn revoke(gate: Gate, params: DeviceParams) -> Result<RevokedDevice, Problem> {
    revoke_device(&gate, params.device).await
}

/// Revokes a device, with its codes and its pushes.
pub(crate) async fn revoke_device(gate: &Gate, device: DeviceId) -> Result<RevokedDevice, Problem> {
    gate.check(Access::Act)?;
    let app = gate.app().clone();
    to_its_end(async move {
        let revoked = app.keys.revoke(device).await;
        app.codes.clear_of(device);
        if let Err(error) = app.push.forget_device(device).await {
            // The hub sends no pushes to a revoked device, whatever subscriptions are stored.
            warn!(%device, %error, "the browsers of a revoked device cannot be forgotten yet");
        }
        Ok(RevokedDevice { device: revoked? })
    })
    .await
}

/// Runs a future to its end, even if the caller goes away or is cut off: a device may revoke itself.
async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    tokio::spawn(work).await.unwrap_or_else(|_| Err(Problem::our_fault()))
}

/// Makes a pairing code for a new device. A device can pair another device that may do no more than itself.
pub(super) async fn pair(gate: Gate, params: PairParams) -> Result<PairingCode, Problem> {
    gate.check(Access::Act)?;
    check::name("label", params.label.as_deref())?;
    pair::new_code(&gate, params.mode, params.label)
}

/// Makes a pairing code for the app mobile-agent, with the same rule.
pub(super) async fn pair_mobile(gate: Gate, params: PairParams) -> Result<MobilePairing, Problem> {
    gate.check(Access::Act)?;
    check::name("label", params.label.as_deref())?;
    mobile::new_code(&gate, params.mode, params.label)
}

pub(super) async fn rotate(gate: Gate, NoParams {}: NoParams) -> Result<OwnerToken, Problem> {
    gate.check(Access::Admin)?;
    let app = gate.app().clone();
    to_its_end(async move {
        let token = app.keys.rotate()?;
        app.codes.clear();
        // Somebody with the old token may have subscribed to pushes. The new token is already valid, so the
        // caller gets it even if the hub cannot delete the subscriptions.
        if let Err(error) = app.push.unsubscribe(None, None).await {
            warn!(%error, "the owner's browsers cannot be forgotten yet");
        }
        Ok(OwnerToken { ok: true, token: token.reveal().to_owned() })
    })
    .await
}

pub(super) async fn presence(gate: Gate, params: PresenceParams) -> Result<Nothing, Problem> {
    let shown = params.session.filter(|_| params.visible);
    gate.app().presence.shows(gate.caller().device(), gate.connection(), shown);
    Ok(Nothing {})
}

pub(super) async fn push_key(gate: Gate, NoParams {}: NoParams) -> Result<PushKey, Problem> {
    Ok(PushKey { public_key: gate.app().push.public_key() })
}

pub(super) async fn push_subscribe(gate: Gate, params: PushSubscribeParams) -> Result<Nothing, Problem> {
    gate.check(Access::Read)?;
    gate.app().push.subscribe(gate.caller().device(), params.subscription).await?;
    Ok(Nothing {})
}

pub(super) async fn push_unsubscribe(gate: Gate, params: PushUnsubscribeParams) -> Result<Nothing, Problem> {
    gate.check(Access::Read)?;
    gate.app().push.unsubscribe(gate.caller().device(), params.endpoint.as_deref()).await?;
    Ok(Nothing {})
}

pub(super) async fn push_test(gate: Gate, NoParams {}: NoParams) -> Result<SentPushes, Problem> {
    gate.check(Access::Read)?;
    let sent = gate.app().push.test(gate.caller().device()).await?;
    Ok(SentPushes { sent })
}

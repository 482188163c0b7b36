//! Devices: paired clients, what each may do, and where each receives pushes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::DeviceId;
use crate::time::Timestamp;

/// A paired client with its own token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// The device's id, for programs.
    pub id: DeviceId,
    /// The device's name, for people. Everything that this device decides shows the name.
    pub label: String,
    /// What the device may do.
    pub mode: DeviceMode,
    /// When the device was paired.
    pub created_at: Timestamp,
    /// When the device last used the hub, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// When the device was revoked; its token opens nothing since then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Whether the device is revoked but the hub could not record that yet. The token opens nothing now, but
    /// would work again after a restart of the hub. The hub keeps trying to record it. The log does not keep
    /// this field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsaved: bool,
}

/// What a device may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceMode {
    /// Everything except rotating the owner's token.
    #[default]
    Full,
    /// Read.
    ReadOnly,
    /// Read, and decide approvals.
    Approve,
}

impl std::str::FromStr for DeviceMode {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "full" => Ok(DeviceMode::Full),
            "read_only" | "read-only" => Ok(DeviceMode::ReadOnly),
            "approve" => Ok(DeviceMode::Approve),
            other => {
                Err(format!("`{other}` is not a mode of a device; the modes are full, read_only and approve"))
            }
        }
    }
}

impl std::fmt::Display for DeviceMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            DeviceMode::Full => "full",
            DeviceMode::ReadOnly => "read_only",
            DeviceMode::Approve => "approve",
        })
    }
}

/// A device as the log keeps it: with the hash of its token, never with the token itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDevice {
    /// The device.
    pub device: Device,
    /// The SHA-256 of its token.
    pub token_hash: [u8; 32],
    /// The key of a device that signs when it connects. Nobody knows the token of such a device.
    pub signer: Option<DeviceSigner>,
}

/// The key of a device that signs when it connects, instead of sending a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSigner {
    /// The device's own name for itself.
    pub name: String,
    /// Its public key: Ed25519.
    pub key: [u8; 32],
}

/// A folder that a person listed as a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// The folder: an absolute path.
    pub path: String,
    /// When it was listed.
    pub added_at: Timestamp,
}

/// A browser's push subscription, as its push service issued it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushSubscription {
    /// The address that the push service created for this browser.
    pub endpoint: String,
    /// The keys that encrypt a push to this browser.
    pub keys: PushKeys,
}

/// The keys that encrypt a push to a browser, in URL-safe base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushKeys {
    /// The browser's public key: a point of P-256, uncompressed.
    pub p256dh: String,
    /// A secret of 16 bytes that only the browser and the hub know.
    pub auth: String,
}

/// A push subscription and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPush {
    /// The device; none for a browser with the owner's token.
    pub device: Option<DeviceId>,
    /// The subscription.
    pub subscription: PushSubscription,
}

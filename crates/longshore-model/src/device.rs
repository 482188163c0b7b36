//! Devices: clients that were paired, what each may do, and where it wants to be woken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::DeviceId;
use crate::time::Timestamp;

/// A client with a token of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Its name for programs.
    pub id: DeviceId,
    /// Its name for people, who read it wherever this device decided something.
    pub label: String,
    /// What it may do.
    pub mode: DeviceMode,
    /// When it was paired.
    pub created_at: Timestamp,
    /// When it was last here, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// Since when its token opens nothing any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
    /// Whether it is revoked and that could not be written down yet: its token opens nothing, and would again after a
    /// restart of the hub, which goes on trying until then. Never kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsaved: bool,
}

/// What a device may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeviceMode {
    /// Everything but to rotate the owner's token.
    #[default]
    Full,
    /// Look on.
    ReadOnly,
    /// Look on, and answer approvals and questions.
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

/// A device as it is kept: with what its token is recognised by, never with the token itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDevice {
    /// The device.
    pub device: Device,
    /// The SHA-256 of its token.
    pub token_hash: [u8; 32],
}

/// Where a browser wants to be woken: as its push service gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PushSubscription {
    /// The address that the push service made for this browser.
    pub endpoint: String,
    /// What a message to it is encrypted with.
    pub keys: PushKeys,
}

/// What a message to a browser is encrypted with, in base64 for addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushKeys {
    /// The browser's public key: a point of P-256, uncompressed.
    pub p256dh: String,
    /// A secret of 16 bytes that the browser shares with us alone.
    pub auth: String,
}

/// A subscription and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPush {
    /// The device; none for a browser that has the owner's token.
    pub device: Option<DeviceId>,
    /// Where and how it is woken.
    pub subscription: PushSubscription,
}

//! The kinds of keys: devices, push subscriptions, notes of facades, projects, leases, and secrets for one use.

use std::time::Duration;

use longshore_model::device::{Device, DeviceSigner, Project, PushSubscription, StoredDevice, StoredPush};
use longshore_model::id::DeviceId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::LogError;
use crate::keyring::{KeyEntry, KeyWatch, Keyring, Revision};

const DEVICES: &str = "device/";
const PUSHES: &str = "push/";
const NOTES: &str = "note/";
const PROJECTS: &str = "project/";
const LEASES: &str = "lease/";

#[derive(Serialize, Deserialize)]
struct DeviceValue {
    hash: String,
    device: Device,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer: Option<SignerValue>,
}

#[derive(Serialize, Deserialize)]
struct SignerValue {
    name: String,
    key: String,
}

#[derive(Serialize, Deserialize)]
struct PushValue {
    device: Option<DeviceId>,
    subscription: PushSubscription,
}

impl dyn Keyring {
    /// All devices, also revoked devices, in the order in which they were paired.
    pub async fn devices(&self) -> Result<Vec<StoredDevice>, LogError> {
        self.list(DEVICES.to_owned()).await?.iter().map(device_of).collect()
    }

    /// Stores a device, and replaces the device with the same id. A revoked device stays revoked, even if
    /// another writer records its last use at the same moment.
    pub async fn put_device(&self, mut stored: StoredDevice) -> Result<(), LogError> {
        let key = format!("{DEVICES}{}", stored.device.id.0.simple());
        loop {
            let known = self.get(key.clone()).await?;
            if let Some(known) = &known {
                stored.device.revoked_at = stored.device.revoked_at.or(device_of(known)?.device.revoked_at);
            }
            let signer = stored.signer.as_ref();
            let value = DeviceValue {
                hash: hex(&stored.token_hash),
                device: stored.device.clone(),
                signer: signer.map(|signer| SignerValue { name: signer.name.clone(), key: hex(&signer.key) }),
            };
            if self.put_over(&key, &value, known.as_ref()).await? {
                return Ok(());
            }
        }
    }

    /// Every change of a device by any hub.
    pub fn watch_devices(&self) -> KeyWatch {
        self.watch(DEVICES.to_owned())
    }

    /// The push subscriptions of all browsers.
    pub async fn pushes(&self) -> Result<Vec<StoredPush>, LogError> {
        let of = |entry: &KeyEntry| {
            let PushValue { device, subscription } = read(entry)?;
            Ok(StoredPush { device, subscription })
        };
        self.list(PUSHES.to_owned()).await?.iter().map(of).collect()
    }

    /// Stores a browser's push subscription, and replaces the subscription of the same endpoint.
    pub async fn put_push(&self, push: StoredPush) -> Result<(), LogError> {
        let key = push_key(&push.subscription.endpoint);
        let value = PushValue { device: push.device, subscription: push.subscription };
        loop {
            let known = self.get(key.clone()).await?;
            if self.put_over(&key, &value, known.as_ref()).await? {
                return Ok(());
            }
        }
    }

    /// Deletes the subscription of an endpoint. It is fine if the endpoint is unknown.
    pub async fn drop_push(&self, endpoint: String) -> Result<(), LogError> {
        self.delete(push_key(&endpoint), None).await.map(drop)
    }

    /// The notes whose names begin so, with their names, in the order of the names.
    pub async fn notes(&self, prefix: &str) -> Result<Vec<(String, String)>, LogError> {
        let entries = self.list(format!("{NOTES}{prefix}")).await?;
        let named = |entry: KeyEntry| Some((entry.key.strip_prefix(NOTES)?.to_owned(), entry.value));
        Ok(entries.into_iter().filter_map(named).collect())
    }

    /// Stores a note in place of the earlier one. A name has the letters of a key.
    pub async fn put_note(&self, name: &str, value: String) -> Result<(), LogError> {
        let key = format!("{NOTES}{name}");
        loop {
            let expected = self.get(key.clone()).await?.map(|known| known.revision).unwrap_or_default();
            if self.put_if(key.clone(), value.clone(), expected, None).await?.is_some() {
                return Ok(());
            }
        }
    }

    /// Deletes a note. Returns whether it was there.
    pub async fn drop_note(&self, name: &str) -> Result<bool, LogError> {
        self.delete(format!("{NOTES}{name}"), None).await
    }

    /// All projects, in the order of their paths.
    pub async fn projects(&self) -> Result<Vec<Project>, LogError> {
        let mut projects: Vec<Project> =
            self.list(PROJECTS.to_owned()).await?.iter().map(read).collect::<Result<_, _>>()?;
        projects.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(projects)
    }

    /// Lists a project. One that is listed already stays as it is.
    pub async fn put_project(&self, project: Project) -> Result<(), LogError> {
        let key = project_key(&project.path);
        if self.get(key.clone()).await?.is_none() {
            self.put_over(&key, &project, None).await?;
        }
        Ok(())
    }

    /// Lists a project no longer. Returns whether it was listed.
    pub async fn drop_project(&self, path: &str) -> Result<bool, LogError> {
        self.delete(project_key(path), None).await
    }

    /// Takes a secret for one use. If several callers take it, exactly one gets it.
    pub async fn take(&self, key: String) -> Result<Option<String>, LogError> {
        let Some(entry) = self.get(key.clone()).await? else { return Ok(None) };
        Ok(self.delete(key, Some(entry.revision)).await?.then_some(entry.value))
    }

    /// Takes or renews a lease. Returns whether this holder has the lease.
    pub async fn hold(&self, what: &str, holder: &str, ttl: Duration) -> Result<bool, LogError> {
        let key = format!("{LEASES}{what}");
        let held = self.get(key.clone()).await?;
        let expected = match &held {
            Some(entry) if entry.value != holder => return Ok(false),
            Some(entry) => entry.revision,
            None => Revision::NONE,
        };
        Ok(self.put_if(key, holder.to_owned(), expected, Some(ttl)).await?.is_some())
    }

    /// Returns whether this call changed the key.
    async fn put_over(
        &self,
        key: &str,
        value: &(impl Serialize + Sync),
        known: Option<&KeyEntry>,
    ) -> Result<bool, LogError> {
        let value = serde_json::to_string(value).map_err(|error| LogError::other("writing a key", error))?;
        let expected = known.map(|known| known.revision).unwrap_or_default();
        Ok(self.put_if(key.to_owned(), value, expected, None).await?.is_some())
    }
}

fn device_of(entry: &KeyEntry) -> Result<StoredDevice, LogError> {
    let DeviceValue { hash, device, signer } = read(entry)?;
    let bytes =
        |hex: &str| unhex(hex).ok_or_else(|| LogError::other("reading a device", "its hash is no hash"));
    let signer = match signer {
        Some(SignerValue { name, key }) => Some(DeviceSigner { name, key: bytes(&key)? }),
        None => None,
    };
    Ok(StoredDevice { device, token_hash: bytes(&hash)?, signer })
}

fn read<T: DeserializeOwned>(entry: &KeyEntry) -> Result<T, LogError> {
    serde_json::from_str(&entry.value).map_err(|error| LogError::other("reading a key", error))
}

/// The key for an endpoint, because an endpoint contains characters that a key must not have.
fn push_key(endpoint: &str) -> String {
    format!("{PUSHES}{}", hex(endpoint.as_bytes()))
}

fn project_key(path: &str) -> String {
    format!("{PROJECTS}{}", hex(path.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let bytes =
        text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    bytes.collect::<Option<Vec<u8>>>()?.try_into().ok()
}

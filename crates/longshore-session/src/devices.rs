//! Devices, push subscriptions and notes, which facades keep in the keyring, and usage, which they read from the catalog.

use longshore_model::device::{StoredDevice, StoredPush};
use longshore_model::id::{Context, DeviceId};
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;

use crate::error::HubError;
use crate::hub::{Hub, lock, now};

impl Hub {
    /// An id for a new device, and the time.
    pub fn new_device(&self) -> (DeviceId, Timestamp) {
        let now = now();
        (DeviceId::mint(&mut Context { now, ids: &mut lock(&self.inner.ids) }), now)
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        now()
    }

    /// All devices, in the order in which they were paired; revoked ones too.
    pub async fn devices(&self) -> Result<Vec<StoredDevice>, HubError> {
        Ok(self.inner.keyring.devices().await?)
    }

    /// Stores a device, in place of the earlier version.
    pub async fn put_device(&self, device: StoredDevice) -> Result<(), HubError> {
        Ok(self.inner.keyring.put_device(device).await?)
    }

    /// All push subscriptions.
    pub async fn pushes(&self) -> Result<Vec<StoredPush>, HubError> {
        Ok(self.inner.keyring.pushes().await?)
    }

    /// Stores a push subscription.
    pub async fn put_push(&self, push: StoredPush) -> Result<(), HubError> {
        Ok(self.inner.keyring.put_push(push).await?)
    }

    /// Deletes a push subscription.
    pub async fn drop_push(&self, endpoint: String) -> Result<(), HubError> {
        Ok(self.inner.keyring.drop_push(endpoint).await?)
    }

    /// What facades noted under names that begin so, with the names.
    pub async fn notes(&self, prefix: &str) -> Result<Vec<(String, String)>, HubError> {
        Ok(self.inner.keyring.notes(prefix).await?)
    }

    /// Stores a note in place of the earlier one. A name has letters, digits, `-`, `_` and `/`.
    pub async fn put_note(&self, name: &str, value: String) -> Result<(), HubError> {
        Ok(self.inner.keyring.put_note(name, value).await?)
    }

    /// Deletes a note. Returns whether it was there.
    pub async fn drop_note(&self, name: &str) -> Result<bool, HubError> {
        Ok(self.inner.keyring.drop_note(name).await?)
    }

    /// The usage of turns that ended since that time, by day, agent and project.
    pub async fn usage(&self, since: Timestamp) -> Result<Vec<DayUsage>, HubError> {
        Ok(self.inner.catalog.usage(since).await?)
    }
}

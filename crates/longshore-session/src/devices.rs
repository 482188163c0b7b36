//! Devices, where they want to be woken, and what was used: what a facade keeps in the log and reads from it.

use longshore_model::device::{StoredDevice, StoredPush};
use longshore_model::id::{Context, DeviceId};
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;

use crate::error::HubError;
use crate::hub::{Hub, lock, now};

impl Hub {
    /// A name for a new device, and the moment.
    pub fn new_device(&self) -> (DeviceId, Timestamp) {
        let now = now();
        (DeviceId::mint(&mut Context { now, ids: &mut lock(&self.inner.ids) }), now)
    }

    /// The moment.
    pub fn now(&self) -> Timestamp {
        now()
    }

    /// All devices, in the order in which they were paired; revoked ones too.
    pub async fn devices(&self) -> Result<Vec<StoredDevice>, HubError> {
        Ok(self.inner.log.devices().await?)
    }

    /// Keeps a device, in place of what was kept under its id.
    pub async fn put_device(&self, device: StoredDevice) -> Result<(), HubError> {
        Ok(self.inner.log.put_device(device).await?)
    }

    /// Where browsers want to be woken.
    pub async fn pushes(&self) -> Result<Vec<StoredPush>, HubError> {
        Ok(self.inner.log.pushes().await?)
    }

    /// Keeps where a browser wants to be woken.
    pub async fn put_push(&self, push: StoredPush) -> Result<(), HubError> {
        Ok(self.inner.log.put_push(push).await?)
    }

    /// Forgets where a browser wanted to be woken.
    pub async fn drop_push(&self, endpoint: String) -> Result<(), HubError> {
        Ok(self.inner.log.drop_push(endpoint).await?)
    }

    /// What turns that ended since that moment have used, by day, agent and project.
    pub async fn usage(&self, since: Timestamp) -> Result<Vec<DayUsage>, HubError> {
        Ok(self.inner.log.usage(since).await?)
    }
}

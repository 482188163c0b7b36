//! Devices, push subscriptions and projects, which facades keep in the keyring, and usage, which they read from the
//! catalog.

use longshore_model::device::{Project, StoredDevice, StoredPush};
use longshore_model::id::{Context, DeviceId};
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;

use crate::error::HubError;
use crate::hub::{Hub, lock, now};
use crate::opening::PATH_BYTES;

/// The most projects.
const PROJECTS: usize = 256;

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

    /// All projects, in the order of their paths.
    pub async fn projects(&self) -> Result<Vec<Project>, HubError> {
        Ok(self.inner.keyring.projects().await?)
    }

    /// Lists a folder as a project, if agents can work in it.
    pub async fn put_project(&self, path: &str) -> Result<Project, HubError> {
        let whole = path;
        let path = match whole.trim_end_matches('/') {
            "" => whole.get(..1).unwrap_or_default(),
            path => path,
        };
        if !path.starts_with('/') || path.len() > PATH_BYTES {
            return Err(HubError::Invalid(format!(
                "a project must be an absolute path of at most {PATH_BYTES} bytes"
            )));
        }
        self.check_cwd(path).await?;
        let known = self.projects().await?;
        if let Some(known) = known.iter().find(|known| known.path == path) {
            return Ok(known.clone());
        }
        if known.len() >= PROJECTS {
            return Err(HubError::Invalid(format!(
                "{PROJECTS} projects are listed already; remove one first"
            )));
        }
        let project = Project { path: path.to_owned(), added_at: now() };
        self.inner.keyring.put_project(project.clone()).await?;
        Ok(project)
    }

    /// Lists a folder as a project no longer. Returns whether it was listed.
    pub async fn drop_project(&self, path: &str) -> Result<bool, HubError> {
        Ok(self.inner.keyring.drop_project(path).await?)
    }

    /// The usage of turns that ended since that time, by day, agent and project.
    pub async fn usage(&self, since: Timestamp) -> Result<Vec<DayUsage>, HubError> {
        Ok(self.inner.catalog.usage(since).await?)
    }
}

//! A disk that is full: what somebody is shut out of stays shut, and is written down as soon as there is room.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use longshore_log::{KeyEntry, KeyWatch, Keyring, LogError, LogFuture, MemoryLog, Revision, Stores};
use longshore_model::device::{PushKeys, PushSubscription, StoredDevice, StoredPush};
use serde_json::{Value, json};

use crate::rig::{Rig, soon};

/// A keyring whose disk can be full.
#[derive(Default)]
struct Crammed {
    log: Arc<MemoryLog>,
    full: AtomicBool,
}

impl Crammed {
    fn fits(&self) -> Result<(), LogError> {
        match self.full.load(Ordering::SeqCst) {
            true => Err(LogError::Full { path: "log.db".into() }),
            false => Ok(()),
        }
    }

    fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    fn stores(self: &Arc<Self>) -> Stores {
        Stores { journal: self.log.clone(), catalog: self.log.clone(), keyring: self.clone() }
    }

    async fn devices(&self) -> Result<Vec<StoredDevice>, LogError> {
        (self as &dyn Keyring).devices().await
    }

    async fn pushes(&self) -> Result<Vec<StoredPush>, LogError> {
        (self as &dyn Keyring).pushes().await
    }
}

impl Keyring for Crammed {
    fn put_if(
        &self,
        key: String,
        value: String,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> LogFuture<'_, Option<Revision>> {
        Box::pin(async move {
            self.fits()?;
            self.log.put_if(key, value, expected, ttl).await
        })
    }
    fn delete(&self, key: String, expected: Option<Revision>) -> LogFuture<'_, bool> {
        Box::pin(async move {
            self.fits()?;
            self.log.delete(key, expected).await
        })
    }
    fn get(&self, key: String) -> LogFuture<'_, Option<KeyEntry>> {
        self.log.get(key)
    }
    fn list(&self, prefix: String) -> LogFuture<'_, Vec<KeyEntry>> {
        self.log.list(prefix)
    }
    fn watch(&self, prefix: String) -> KeyWatch {
        self.log.watch(prefix)
    }
}

async fn is_let_in(rig: &Rig, token: &str) -> bool {
    let me = rig.bare("GET", "/api/v1/me").header("authorization", format!("Bearer {token}"));
    me.send().await.status == 200
}

async fn listed(rig: &Rig) -> Value {
    rig.get("/api/v1/devices").await.ok(200)["devices"][0].clone()
}

#[tokio::test]
async fn a_device_that_is_revoked_on_a_full_disk_stays_out_and_is_written_down_when_there_is_room() {
    let log = Arc::new(Crammed::default());
    let rig = Rig::over(log.stores(), None).await;
    let (token, id) = rig.device("full").await;
    let written = async |log: &Crammed| log.devices().await.unwrap()[0].device.revoked_at.is_some();
    log.set_full(true);
    for time in ["once", "again"] {
        let refused = rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await;
        assert_eq!(refused.problem(), (507, "log_full".to_owned()), "{time}");
        assert!(
            refused.text().contains("is revoked") && refused.text().contains("restart"),
            "{}",
            refused.text()
        );
        assert!(!is_let_in(&rig, &token).await, "{time}");
    }
    let device = listed(&rig).await;
    assert!(device["revokedAt"].is_string() && device["unsaved"] == true, "{device}");
    assert!(!written(&log).await);

    log.set_full(false);
    soon("the hub writes it down by itself", async {
        while !written(&log).await {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    soon("and says so", async {
        while listed(&rig).await.get("unsaved").is_some() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(!log.devices().await.unwrap()[0].device.unsaved, "what is kept is kept");
    let next = Rig::over(log.stores(), None).await;
    assert!(!is_let_in(&next, &token).await, "after a restart too");
}

#[tokio::test]
async fn a_revocation_that_is_repeated_when_there_is_room_is_written_down_at_once() {
    let log = Arc::new(Crammed::default());
    let rig = Rig::over(log.stores(), None).await;
    let (token, id) = rig.device("full").await;
    log.set_full(true);
    let path = format!("/api/v1/devices/{id}");
    assert_eq!(rig.call("DELETE", path.clone()).send().await.status, 507);
    log.set_full(false);
    rig.call("DELETE", path).send().await.ok(200);
    assert!(log.devices().await.unwrap()[0].device.revoked_at.is_some());
    assert_eq!(listed(&rig).await.get("unsaved"), None);
    assert!(!is_let_in(&rig, &token).await);
}

#[tokio::test]
async fn browsers_that_are_forgotten_on_a_full_disk_are_woken_no_more() {
    let log = Arc::new(Crammed::default());
    let rig = Rig::over(log.stores(), None).await;
    let keys = PushKeys {
        p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
            .to_owned(),
        auth: "BTBZMqHH6r4Tts7J_aSIgg".to_owned(),
    };
    let subscription = PushSubscription { endpoint: "http://127.0.0.1:9/one".to_owned(), keys };
    rig.hub.put_push(StoredPush { device: None, subscription }).await.unwrap();
    rig.call("POST", "/api/v1/push/test").send().await.ok(200);
    log.set_full(true);
    let refused = rig.call("DELETE", "/api/v1/push/subscribe").send().await;
    assert_eq!(refused.problem(), (507, "log_full".to_owned()));
    let test = rig.call("POST", "/api/v1/push/test").send().await;
    assert_eq!(test.problem(), (409, "no_push".to_owned()), "it is in force at once");
    log.set_full(false);
    soon("the hub writes it down by itself", async {
        while !log.pushes().await.unwrap().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_token_that_was_rotated_is_told_whatever_else_the_disk_takes() {
    let log = Arc::new(Crammed::default());
    let rig = Rig::over(log.stores(), None).await;
    let keys = PushKeys { p256dh: "p".to_owned(), auth: "a".to_owned() };
    let subscription = PushSubscription { endpoint: "http://127.0.0.1:9/one".to_owned(), keys };
    rig.hub.put_push(StoredPush { device: None, subscription }).await.unwrap();
    log.set_full(true);
    let told = rig.call("POST", "/admin/token/rotate").json(&json!({})).send().await.ok(200);
    let token = told["token"].as_str().unwrap();
    assert_eq!(rig.kept.lock().unwrap().as_slice(), [token]);
    assert!(is_let_in(&rig, token).await);
}

#[tokio::test]
async fn a_token_that_cannot_be_kept_is_not_rotated_and_the_reason_is_told() {
    let rig = Rig::new().await;
    rig.keeps.store(false, Ordering::SeqCst);
    let refused = rig.call("POST", "/admin/token/rotate").json(&json!({})).send().await;
    assert_eq!(refused.problem(), (507, "log_full".to_owned()), "{}", refused.text());
    assert!(refused.text().contains("the old token still works"), "{}", refused.text());
    assert!(is_let_in(&rig, crate::rig::TOKEN).await);
}

//! A disk that is full: what somebody is shut out of stays shut, and is written down as soon as there is room.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use longshore_log::{
    Batch, Compacted, Hit, Log, LogError, LogFuture, MemoryLog, SessionFilter, SessionPage, Stats, WithRaw,
};
use longshore_model::device::{PushKeys, PushSubscription, StoredDevice, StoredPush};
use longshore_model::event::AgentName;
use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use longshore_model::usage::DayUsage;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::rig::{Rig, soon};

/// A log whose disk can be full, for devices and for where they are woken.
#[derive(Default)]
struct Crammed {
    log: MemoryLog,
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
}

impl Log for Crammed {
    fn put_device(&self, device: StoredDevice) -> LogFuture<'_, ()> {
        Box::pin(async move {
            self.fits()?;
            self.log.put_device(device).await
        })
    }
    fn put_push(&self, push: StoredPush) -> LogFuture<'_, ()> {
        Box::pin(async move {
            self.fits()?;
            self.log.put_push(push).await
        })
    }
    fn drop_push(&self, endpoint: String) -> LogFuture<'_, ()> {
        Box::pin(async move {
            self.fits()?;
            self.log.drop_push(endpoint).await
        })
    }
    fn append(&self, batch: Batch) -> LogFuture<'_, ()> {
        self.log.append(batch)
    }
    fn read(&self, session: SessionId, after: Seq, limit: usize, raw: WithRaw) -> LogFuture<'_, Vec<Frame>> {
        self.log.read(session, after, limit, raw)
    }
    fn head(&self, session: SessionId) -> LogFuture<'_, Seq> {
        self.log.head(session)
    }
    fn session(&self, session: SessionId) -> LogFuture<'_, Option<SessionInfo>> {
        self.log.session(session)
    }
    fn sessions(&self, filter: SessionFilter) -> LogFuture<'_, SessionPage> {
        self.log.sessions(filter)
    }
    fn unfinished(&self) -> LogFuture<'_, Vec<SessionInfo>> {
        self.log.unfinished()
    }
    fn cut(&self) -> LogFuture<'_, Vec<SessionInfo>> {
        self.log.cut()
    }
    fn session_of(&self, ask: Uuid) -> LogFuture<'_, Option<SessionId>> {
        self.log.session_of(ask)
    }
    fn native(&self, agent: AgentName, native: NativeId) -> LogFuture<'_, Option<SessionInfo>> {
        self.log.native(agent, native)
    }
    fn search(&self, query: String, limit: usize) -> LogFuture<'_, Vec<Hit>> {
        self.log.search(query, limit)
    }
    fn compact(&self, ended_before: Timestamp) -> LogFuture<'_, Compacted> {
        self.log.compact(ended_before)
    }
    fn forget(&self, updated_before: Timestamp) -> LogFuture<'_, u64> {
        self.log.forget(updated_before)
    }
    fn erase(&self, session: SessionId) -> LogFuture<'_, bool> {
        self.log.erase(session)
    }
    fn is_erased(&self, native: NativeId) -> LogFuture<'_, bool> {
        self.log.is_erased(native)
    }
    fn usage(&self, since: Timestamp) -> LogFuture<'_, Vec<DayUsage>> {
        self.log.usage(since)
    }
    fn devices(&self) -> LogFuture<'_, Vec<StoredDevice>> {
        self.log.devices()
    }
    fn pushes(&self) -> LogFuture<'_, Vec<StoredPush>> {
        self.log.pushes()
    }
    fn stats(&self) -> LogFuture<'_, Stats> {
        self.log.stats()
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
    let rig = Rig::over(log.clone(), None).await;
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
    let next = Rig::over(log, None).await;
    assert!(!is_let_in(&next, &token).await, "after a restart too");
}

#[tokio::test]
async fn a_revocation_that_is_repeated_when_there_is_room_is_written_down_at_once() {
    let log = Arc::new(Crammed::default());
    let rig = Rig::over(log.clone(), None).await;
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
    let rig = Rig::over(log.clone(), None).await;
    let keys = PushKeys {
        p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
            .to_owned(),
        auth: "BTBZMqHH6r4Tts7J_aSIgg".to_owned(),
    };
    let subscription = PushSubscription { endpoint: "http://127.0.0.1:9/one".to_owned(), keys };
    log.put_push(StoredPush { device: None, subscription }).await.unwrap();
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
    let rig = Rig::over(log.clone(), None).await;
    let keys = PushKeys { p256dh: "p".to_owned(), auth: "a".to_owned() };
    let subscription = PushSubscription { endpoint: "http://127.0.0.1:9/one".to_owned(), keys };
    log.put_push(StoredPush { device: None, subscription }).await.unwrap();
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

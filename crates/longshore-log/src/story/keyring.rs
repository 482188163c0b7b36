//! The story of a keyring, and of the kinds of keys.

use std::time::Duration;

use longshore_model::device::{
    Device, DeviceMode, DeviceSigner, PushKeys, PushSubscription, StoredDevice, StoredPush,
};
use longshore_model::id::DeviceId;
use uuid::Uuid;

use super::Reopen;
use super::sample::at;
use crate::{KeyUpdate, Revision, Stores};

/// Tests everything that a keyring promises.
pub async fn keyring(log: Stores, reopen: Reopen<'_>) {
    a_key_is_changed_by_one_at_a_time(&log).await;
    what_is_good_for_one_use_is_taken_once(&log).await;
    a_key_grows_old(&log).await;
    whoever_watches_keys_sees_their_changes(&log).await;
    devices_are_kept(&log).await;
    notes_are_kept(&log).await;
    let log = reopen(log);
    devices_are_there_after_a_restart(&log).await;
    what_is_revoked_stays_revoked(&log).await;
    revisions_never_come_again(log, reopen).await;
}

async fn put(log: &Stores, key: &str, value: &str, expected: Revision) -> Option<Revision> {
    log.keyring.put_if(key.into(), value.into(), expected, None).await.unwrap()
}

async fn notes_are_kept(log: &Stores) {
    let keys = &log.keyring;
    for (name, value) in [("a/2", "two"), ("a/1", "one"), ("b/1", "other"), ("a/1", "new")] {
        keys.put_note(name, value.to_owned()).await.unwrap();
    }
    let listed = keys.notes("a/").await.unwrap();
    assert_eq!(listed, [("a/1".to_owned(), "new".to_owned()), ("a/2".to_owned(), "two".to_owned())]);
    assert!(keys.drop_note("a/1").await.unwrap() && !keys.drop_note("a/1").await.unwrap());
    assert_eq!(keys.notes("a/").await.unwrap().len(), 1);
}

async fn a_key_is_changed_by_one_at_a_time(log: &Stores) {
    let keys = &log.keyring;
    assert_eq!(keys.get("a/1".into()).await.unwrap(), None);
    let first = put(log, "a/1", "one", Revision::NONE).await.unwrap();
    assert_eq!(put(log, "a/1", "other", Revision::NONE).await, None, "it is there already");
    let second = put(log, "a/1", "two", first).await.unwrap();
    assert_eq!(put(log, "a/1", "late", first).await, None, "somebody was first");
    let held = keys.get("a/1".into()).await.unwrap().unwrap();
    assert_eq!((held.value.as_str(), held.revision), ("two", second));

    let races = (0..8).map(|number| {
        let keys = keys.clone();
        tokio::spawn(async move {
            keys.put_if("a/1".into(), number.to_string(), second, None).await.unwrap().is_some()
        })
    });
    let mut won = 0;
    for race in races.collect::<Vec<_>>() {
        won += usize::from(race.await.unwrap());
    }
    assert_eq!(won, 1);

    put(log, "a/2", "x", Revision::NONE).await.unwrap();
    put(log, "b/%_", "y", Revision::NONE).await.unwrap();
    let names = async |prefix: &str| {
        let listed = keys.list(prefix.to_owned()).await.unwrap();
        listed.into_iter().map(|entry| entry.key).collect::<Vec<_>>()
    };
    assert_eq!(names("a/").await, ["a/1", "a/2"]);
    assert_eq!(names("").await, ["a/1", "a/2", "b/%_"]);
    assert_eq!(names("a/%").await, [""; 0]);
    assert!(!keys.delete("a/1".into(), Some(second)).await.unwrap(), "it stands at another revision");
    for key in ["a/1", "a/2", "b/%_"] {
        assert!(keys.delete(key.into(), None).await.unwrap());
        assert!(!keys.delete(key.into(), None).await.unwrap(), "it is gone already");
    }
}

async fn what_is_good_for_one_use_is_taken_once(log: &Stores) {
    put(log, "code/x", "an offer", Revision::NONE).await.unwrap();
    let takers = (0..8).map(|_| {
        let keys = log.keyring.clone();
        tokio::spawn(async move { keys.take("code/x".into()).await.unwrap() })
    });
    let mut taken = Vec::new();
    for taker in takers.collect::<Vec<_>>() {
        taken.extend(taker.await.unwrap());
    }
    assert_eq!(taken, ["an offer"]);
}

async fn a_key_grows_old(log: &Stores) {
    let keys = &log.keyring;
    let gone = Some(Duration::ZERO);
    assert!(keys.put_if("old".into(), "x".into(), Revision::NONE, gone).await.unwrap().is_some());
    assert_eq!(keys.get("old".into()).await.unwrap(), None);
    assert!(keys.list("old".into()).await.unwrap().is_empty());
    assert!(!keys.delete("old".into(), None).await.unwrap());

    let hour = Duration::from_secs(3_600);
    assert!(keys.hold("s", "one", hour).await.unwrap());
    assert!(!keys.hold("s", "other", hour).await.unwrap(), "it is held");
    assert!(keys.hold("s", "one", Duration::ZERO).await.unwrap(), "held on, for no time");
    assert!(keys.hold("s", "other", hour).await.unwrap());
}

async fn whoever_watches_keys_sees_their_changes(log: &Stores) {
    let mut watch = log.keyring.watch("w/".into());
    put(log, "v/1", "not this", Revision::NONE).await.unwrap();
    let revision = put(log, "w/1", "this", Revision::NONE).await.unwrap();
    assert!(put(log, "w/1", "refused", Revision::NONE).await.is_none());
    log.keyring.delete("w/1".into(), Some(revision)).await.unwrap();
    log.keyring.delete("v/1".into(), None).await.unwrap();
    let Some(KeyUpdate::Put(entry)) = watch.next().await else { panic!("nothing was put") };
    assert_eq!((entry.key.as_str(), entry.value.as_str(), entry.revision), ("w/1", "this", revision));
    assert_eq!(watch.next().await, Some(KeyUpdate::Deleted("w/1".into())));
}

async fn what_is_revoked_stays_revoked(log: &Stores) {
    let mut watch = log.keyring.watch_devices();
    // Another hub, which does not know of the revocation, records when the device was last here.
    let unaware = device(1, |device| device.last_used_at = Some(at(10)));
    log.keyring.put_device(unaware).await.unwrap();
    let kept = log.keyring.devices().await.unwrap().remove(0).device;
    assert_eq!((kept.last_used_at, kept.revoked_at), (Some(at(10)), Some(at(9))));
    assert!(matches!(watch.next().await, Some(KeyUpdate::Put(_))));
}

async fn revisions_never_come_again(log: Stores, reopen: Reopen<'_>) {
    let first = put(&log, "r", "one", Revision::NONE).await.unwrap();
    log.keyring.delete("r".into(), None).await.unwrap();
    let log = reopen(log);
    let second = put(&log, "r", "two", Revision::NONE).await.unwrap();
    assert!(second > first);
    assert_eq!(put(&log, "r", "late", first).await, None, "that was another one of the same name");
}

fn device(number: u8, change: impl FnOnce(&mut Device)) -> StoredDevice {
    let mut device = Device {
        id: DeviceId(Uuid::from_u128(0xde_0000 + u128::from(number))),
        label: format!("phone {number} \u{1f4f1}"),
        mode: DeviceMode::Approve,
        created_at: at(i64::from(number)),
        last_used_at: None,
        revoked_at: None,
        unsaved: false,
    };
    change(&mut device);
    let signer =
        (number % 2 == 1).then(|| DeviceSigner { name: format!("signer {number}"), key: [number; 32] });
    StoredDevice { device, token_hash: [number; 32], signer }
}

fn push(endpoint: &str, device: Option<DeviceId>) -> StoredPush {
    let keys = PushKeys { p256dh: "p".into(), auth: "a".into() };
    StoredPush { device, subscription: PushSubscription { endpoint: endpoint.into(), keys } }
}

async fn devices_are_kept(log: &Stores) {
    assert!(
        log.keyring.devices().await.unwrap().is_empty() && log.keyring.pushes().await.unwrap().is_empty()
    );
    for number in [2, 1] {
        log.keyring.put_device(device(number, |_| ())).await.unwrap();
    }
    log.keyring.put_device(device(1, |device| device.revoked_at = Some(at(9)))).await.unwrap();
    let phone = Some(device(2, |_| ()).device.id);
    for (endpoint, device) in
        [("https://b", None), ("https://a", None), ("https://a", phone), ("https://c", phone)]
    {
        log.keyring.put_push(push(endpoint, device)).await.unwrap();
    }
    for endpoint in ["https://c", "https://never"] {
        log.keyring.drop_push(endpoint.into()).await.unwrap();
    }
}

async fn devices_are_there_after_a_restart(log: &Stores) {
    let revoked = device(1, |device| device.revoked_at = Some(at(9)));
    let (other, phone) = (device(2, |_| ()), device(2, |_| ()).device.id);
    assert_eq!(log.keyring.devices().await.unwrap(), [revoked, other]);
    assert_eq!(
        log.keyring.pushes().await.unwrap(),
        [push("https://a", Some(phone)), push("https://b", None)]
    );
}

//! Pairing, signing in, and leaving.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::phone::{Phone, PhoneKey, Wire};
use crate::rig::Rig;

impl Rig {
    async fn devices(&self) -> Vec<Value> {
        self.get("/api/v1/devices").await.ok(200)["devices"].as_array().unwrap().clone()
    }
}

/// What comes of a first message: an `authError`, or the code with which the hub closes.
async fn refused(rig: &Rig, first: &Value) -> Result<String, Option<u16>> {
    let mut wire = Wire::open(rig.at).await;
    wire.send(first).await;
    let frame = wire.next().await?;
    assert_eq!(frame["type"], "authError", "{frame}");
    Ok(frame["error"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_phone_pairs_once_and_signs_in_ever_after() {
    let rig = Rig::new().await;
    let code = rig.code("approve").await;
    let key = code["serverPublicKey"].as_str().unwrap();
    assert!(
        key.len() == 64 && key.bytes().all(|letter| letter.is_ascii_hexdigit()),
        "the app wants that: {code}"
    );
    assert_eq!(code["url"], format!("http://{}", rig.at));
    let (phone, token) = (PhoneKey::new(), code["pairingToken"].as_str().unwrap());
    let first = Phone::come(rig.at, &phone.pairing(token)).await;
    let connected = &first.heard[0];
    assert_eq!((&connected["deviceId"], &connected["agents"]), (&json!(phone.device_id()), &json!([])));
    drop(first);

    let devices = rig.devices().await;
    assert_eq!(
        (devices.len(), &devices[0]["label"], &devices[0]["mode"]),
        (1, &json!("Ada's phone"), &json!("approve"))
    );
    let again = Phone::come(rig.at, &phone.signed(0)).await;
    assert_eq!(again.heard[0]["serverSignature"].as_str().unwrap().len(), 128);
    let used = refused(&rig, &PhoneKey::new().pairing(token)).await.unwrap();
    assert!(used.contains("used or expired"), "{used}");
    // The phone scans once more: it is the same phone.
    let code = rig.code("full").await;
    Phone::come(rig.at, &phone.pairing(code["pairingToken"].as_str().unwrap())).await;
    let devices = rig.devices().await;
    assert_eq!(devices.iter().filter(|device| device["revokedAt"].is_null()).count(), 1, "{devices:?}");
    Phone::come(rig.at, &phone.signed(0)).await;
}

#[tokio::test]
async fn only_what_is_final_makes_the_app_forget_its_keys() {
    let rig = Rig::new().await;
    let (_, phone) = rig.phone("full").await;
    // What passes: the app tries again.
    assert_eq!(refused(&rig, &phone.signed(-31_000)).await, Err(Some(1013)), "the clock is slow");
    assert_eq!(refused(&rig, &phone.signed(60_000)).await, Err(Some(1013)), "the clock is fast");
    let used = phone.signed(0);
    Phone::come(rig.at, &used).await;
    assert_eq!(refused(&rig, &used).await, Err(Some(1013)), "a message that was used");
    // What is final.
    let mut forged = phone.signed(0);
    forged["signature"] = PhoneKey::new().sign(&json!({}))["signature"].clone();
    assert!(refused(&rig, &forged).await.unwrap().contains("does not know"));
    assert!(refused(&rig, &PhoneKey::new().signed(0)).await.unwrap().contains("does not know"));
    let device = rig.devices().await[0]["id"].clone();
    rig.call("DELETE", format!("/api/v1/devices/{}", device.as_str().unwrap())).send().await.ok(200);
    assert!(refused(&rig, &phone.signed(0)).await.unwrap().contains("revoked"));
    // Who fails too often must wait, and its app keeps its keys; a right signature is heard all the same.
    let (_, other) = rig.phone("full").await;
    let mut answers = Vec::new();
    for _ in 0..6 {
        answers.push(refused(&rig, &PhoneKey::new().signed(0)).await);
    }
    assert_eq!(answers.last(), Some(&Err(Some(1013))));
    Phone::come(rig.at, &other.signed(0)).await;
}

#[tokio::test]
async fn who_does_not_say_who_it_is_gets_nothing() {
    let rig = Rig::new().await;
    let odd = [
        json!({ "type": "listAgents" }),
        json!({ "type": "ping" }),
        json!({ "type": "pair" }),
        json!({ "type": "authenticate", "payload": "{}", "signature": "00" }),
        json!([1, 2]),
        json!("x".repeat(10_000)),
    ];
    for first in odd {
        assert_eq!(refused(&rig, &first).await, Err(Some(1008)), "{first}");
    }
    let mut binary = Wire::open(rig.at).await;
    binary.write(Message::binary(vec![0; 100])).await;
    assert_eq!(binary.closed().await, Some(1008));
    // More than any first message has is not even read.
    let mut large = Wire::open(rig.at).await;
    large.write(Message::text("x".repeat(1 << 20))).await;
    assert_ne!(large.closed().await, Some(1008));
    let bad = json!({ "type": "pair", "pairingToken": "x", "devicePublicKey": "zz", "deviceId": "a" });
    assert!(refused(&rig, &bad).await.is_ok());
    assert_eq!(rig.devices().await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn who_says_nothing_is_sent_away() {
    let rig = Rig::new().await;
    let mut silent = Wire::open(rig.at).await;
    assert_eq!(silent.closed().await, Some(4008));
}

#[tokio::test]
async fn the_second_connection_of_a_phone_ends_the_first() {
    let rig = Rig::new().await;
    let (mut first, phone) = rig.phone("full").await;
    let mut second = Phone::come(rig.at, &phone.signed(0)).await;
    assert_eq!(first.wire.closed().await, Some(4010));
    second.settle().await;
}

#[tokio::test]
async fn a_revoked_phone_leaves_at_once() {
    let rig = Rig::new().await;
    let (mut phone, _) = rig.phone("full").await;
    let device = rig.devices().await[0]["id"].clone();
    rig.call("DELETE", format!("/api/v1/devices/{}", device.as_str().unwrap())).send().await.ok(200);
    assert_eq!(phone.wire.closed().await, Some(4401));
}

#[tokio::test]
async fn a_code_is_void_with_the_device_that_made_it() {
    let rig = Rig::new().await;
    let (token, device) = rig.device("full").await;
    let made = rig
        .bare("POST", "/admin/pair/mobile")
        .header("authorization", format!("Bearer {token}"))
        .json(&json!({}))
        .send()
        .await
        .ok(200);
    rig.call("DELETE", format!("/api/v1/devices/{device}")).send().await.ok(200);
    let pairing = PhoneKey::new().pairing(made["pairingToken"].as_str().unwrap());
    assert!(refused(&rig, &pairing).await.unwrap().contains("unknown"));
}

#[tokio::test(start_paused = true)]
async fn a_phone_that_says_nothing_for_long_is_sent_away() {
    const MINUTE: std::time::Duration = std::time::Duration::from_secs(60);
    let rig = Rig::new().await;
    let (mut phone, _) = rig.phone("full").await;
    phone.settle().await;
    for _ in 0..3 {
        assert_eq!(phone.wire.listen(20 * MINUTE).await, None);
        phone.wire.send(&json!({ "type": "ping" })).await;
    }
    assert_eq!(phone.wire.listen(31 * MINUTE).await, Some(4009));
}

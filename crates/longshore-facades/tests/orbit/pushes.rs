//! Pushes of the UI: it subscribes over its socket.

use data_encoding::BASE64URL_NOPAD;
use ring::agreement::{ECDH_P256, EphemeralPrivateKey};
use ring::rand::SystemRandom;
use serde_json::json;

use super::pocket::Pocket;
use crate::rig::Rig;

#[tokio::test]
async fn a_browser_subscribes_over_its_socket_and_leaves_again() {
    let rig = Rig::new().await;
    let (token, _) = rig.device("read_only").await;
    let mut pocket = Pocket::with(rig.at, &token).await.unwrap();
    let random = SystemRandom::new();
    let key = EphemeralPrivateKey::generate(&ECDH_P256, &random).unwrap();
    let public = key.compute_public_key().unwrap();
    // A port at which nobody listens: a push is tried and comes to nothing.
    let endpoint = "http://127.0.0.1:9/push";
    let (p256dh, auth) = (BASE64URL_NOPAD.encode(public.as_ref()), BASE64URL_NOPAD.encode(&[7; 16]));
    let stored = async || rig.hub.pushes().await.unwrap().len();
    pocket
        .say(json!({ "type": "orbit.push-subscribe", "endpoint": endpoint, "p256dh": p256dh, "auth": auth }))
        .await;
    while stored().await == 0 {
        pocket.settle().await;
    }
    let before = pocket.heard.len();
    pocket.say(json!({ "type": "orbit.push-test" })).await;
    pocket.settle().await;
    pocket.say(json!({ "type": "orbit.push-unsubscribe", "endpoint": endpoint })).await;
    while stored().await == 1 {
        pocket.settle().await;
    }
    assert!(pocket.heard[before..].iter().all(|frame| frame["type"] != "orbit.error"), "{:#?}", pocket.heard);
    pocket.say(json!({ "type": "orbit.push-test" })).await;
    let none = pocket.until("an error", |frame| frame["type"] == "orbit.error").await;
    assert_eq!(none["error"], "no browser of this device has subscribed to pushes");
}

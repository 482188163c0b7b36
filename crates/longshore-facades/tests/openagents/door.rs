//! The port of its own, where nobody needs a token.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use longshore_facades::facade::OPENAGENTS;
use longshore_facades::{App, serve_facade};
use longshore_model::device::{Device, DeviceMode};
use serde_json::json;
use tokio::net::TcpListener;

use super::sessions::prompted;
use super::{OpenAgentsApp, request};
use crate::rig::Rig;

/// A hub with its app, to open the door of.
async fn rig() -> (Rig, App) {
    let kept = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&kept);
    let rig = Rig::with(move |app| {
        *keep.lock().unwrap() = Some(app.clone());
        app
    })
    .await;
    let app = kept.lock().unwrap().take().unwrap();
    (rig, app)
}

async fn device(app: &App, mode: DeviceMode) -> Device {
    app.listener_device(OPENAGENTS, Some(mode)).await.unwrap().unwrap()
}

async fn open(app: &App, device: &Device) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (app, id) = (app.clone(), device.id);
    tokio::spawn(async move { match serve_facade(listener, OPENAGENTS, id, app).await {} });
    at
}

#[tokio::test]
async fn the_app_gets_in_without_a_token_and_is_one_device() {
    let (mut rig, app) = rig().await;
    let device = device(&app, DeviceMode::Full).await;
    let at = open(&app, &device).await;
    let mut phone = OpenAgentsApp::connect(at, request(at, "")).await.unwrap();
    phone.shake_hands().await;
    let named = phone.start("go").await;
    let (session, ..) = prompted(&mut rig, &named).await;
    let timeline = rig.get(format!("/api/v1/sessions/{session}/timeline")).await.ok(200);
    assert_eq!(timeline["items"][0]["content"]["by"], "OpenAgents app", "{timeline}");
    let devices = rig.get("/api/v1/devices").await.ok(200);
    assert_eq!(devices["devices"][0]["label"], "OpenAgents app");
    // The rest of the hub is not behind this door.
    for path in ["/api/v1/sessions", "/metrics", "/health"] {
        let reply = crate::http::Call::new(at, "GET", path).send().await;
        assert_eq!(reply.status, 404, "{path}");
    }
}

#[tokio::test]
async fn pages_of_other_sites_and_foreign_names_stay_out() {
    let (_rig, app) = rig().await;
    let device = device(&app, DeviceMode::Full).await;
    let at = open(&app, &device).await;
    let mut page = request(at, "/openagents");
    page.headers_mut().insert("origin", "http://localhost:3000".parse().unwrap());
    assert_eq!(
        OpenAgentsApp::connect(at, page).await.err(),
        Some(403),
        "any page can reach a port of this machine"
    );
    let mut rebound = request(at, "/");
    rebound.headers_mut().insert("host", "evil.example".parse().unwrap());
    assert_eq!(OpenAgentsApp::connect(at, rebound).await.err(), Some(403));
    let named = app.also_named(vec!["boat.local".to_owned()]);
    let at = open(&named, &device).await;
    let mut announced = request(at, "/");
    announced.headers_mut().insert("host", format!("boat.local:{}", at.port()).parse().unwrap());
    OpenAgentsApp::connect(at, announced).await.unwrap().shake_hands().await;
}

#[tokio::test]
async fn the_mode_of_the_door_is_what_its_callers_may() {
    let (mut rig, app) = rig().await;
    let session = rig.ready().await;
    let device = device(&app, DeviceMode::ReadOnly).await;
    let at = open(&app, &device).await;
    let mut phone = OpenAgentsApp::connect(at, request(at, "")).await.unwrap();
    phone.shake_hands().await;
    assert_eq!(phone.prompt(&session.to_string(), "rm").await["status"], "refused");
    let of = json!({ "session_id": session });
    assert_eq!(phone.refused("tinyvex/history.deleteSession", of).await.0, -32000);
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn a_revoked_door_refuses_everybody_until_it_was_off_once() {
    let (rig, app) = rig().await;
    let first = device(&app, DeviceMode::Full).await;
    let at = open(&app, &first).await;
    assert_eq!(device(&app, DeviceMode::ReadOnly).await.id, first.id, "the next start finds the same one");
    let mut phone = OpenAgentsApp::connect(at, request(at, "")).await.unwrap();
    phone.shake_hands().await;
    rig.call("DELETE", format!("/api/v1/devices/{}", first.id)).send().await;
    assert_eq!(phone.ended().await, Some(4401), "at once");
    assert_eq!(OpenAgentsApp::connect(at, request(at, "")).await.err(), Some(401));
    let again = device(&app, DeviceMode::Full).await;
    assert!(again.id == first.id && again.revoked_at.is_some(), "a start alone does not bring it back");
    assert_eq!(app.listener_device(OPENAGENTS, None).await.unwrap(), None);
    let fresh = device(&app, DeviceMode::Full).await;
    assert!(fresh.id != first.id && fresh.revoked_at.is_none());
    // A door that is closed leaves nobody behind who may come in.
    assert_eq!(app.listener_device(OPENAGENTS, None).await.unwrap(), None);
    let devices = rig.get("/api/v1/devices").await.ok(200);
    assert!(
        devices["devices"].as_array().unwrap().iter().all(|device| device["revokedAt"].is_string()),
        "{devices}"
    );
}

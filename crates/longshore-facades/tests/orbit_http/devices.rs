//! Token sessions, pairing and the owner's token, in the calls that both clients share.

use serde_json::{Value, json};

use super::error_of;
use crate::http::Reply;
use crate::rig::Rig;

fn cookie_of(reply: &Reply) -> String {
    reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn token_sessions_are_devices() {
    let rig = Rig::new().await;
    let made = rig
        .post("/admin/token/sessions/new", json!({ "label": "tablet", "mode": "read_only" }))
        .await
        .ok(200);
    let token = made["token"].as_str().unwrap();
    assert_eq!((made["ok"].clone(), token.len()), (json!(true), 64));
    let me = rig.with_token(token, "GET", "/api/v1/me").send().await.ok(200);
    assert_eq!((&me["mode"], &me["device"]["id"]), (&json!("read_only"), &made["session"]["id"]));
    let usual = rig.post("/admin/token/sessions/new", json!({ "label": "" })).await.ok(200);
    assert_eq!(usual["session"]["mode"], "full");
    rig.device("approve").await;

    let listed = rig.get("/admin/token/sessions").await.ok(200);
    assert_eq!(listed["legacyTokenEnabled"], true);
    let modes: Vec<&Value> =
        listed["sessions"].as_array().unwrap().iter().map(|session| &session["mode"]).collect();
    assert_eq!(modes, ["read_only", "full", "read_only"], "the app knows two modes");
    assert_eq!(listed["sessions"][2]["label"], "my approve phone (approves)");
    let first = &listed["sessions"][0];
    assert!(first["createdAt"].as_i64().unwrap() > 1_700_000_000_000, "{first}");
    assert!(first["lastUsedAt"].is_i64() && first["revokedAt"].is_null(), "{first}");
    assert!(!listed.to_string().contains(token), "nobody reads the token again");

    let odd = rig.post("/admin/token/sessions/new", json!({ "mode": "root" })).await;
    assert!(error_of(&odd, 400).contains("`root` is not a mode"));
}

#[tokio::test]
async fn a_token_session_is_revoked_once_and_its_socket_ends() {
    let rig = Rig::new().await;
    let made = rig.post("/admin/token/sessions/new", json!({})).await.ok(200);
    let token = made["token"].as_str().unwrap();
    let mut socket = rig.socket_of(token).await.unwrap();
    let id = json!({ "id": made["session"]["id"] });
    let revoked = rig.post("/admin/token/sessions/revoke", id.clone()).await;
    assert_eq!(revoked.ok(200), json!({ "ok": true, "revoked": true }));
    assert_eq!(socket.ended().await, Some(4401));
    let again = rig.post("/admin/token/sessions/revoke", id).await;
    assert_eq!(again.ok(200), json!({ "ok": true, "revoked": false }));
    let nobody = rig.post("/admin/token/sessions/revoke", json!({ "id": "nobody" })).await;
    assert_eq!(nobody.ok(200), json!({ "ok": true, "revoked": false }));
    assert_eq!(error_of(&rig.post("/admin/token/sessions/revoke", json!({})).await, 400), "id is required");
    let late = rig.with_token(token, "GET", "/admin/status").send().await;
    assert_eq!((late.status, late.text()), (401, "Unauthorised"));
    let listed = rig.get("/admin/token/sessions").await.ok(200);
    assert!(listed["sessions"][0]["revokedAt"].is_i64());
}

#[tokio::test]
async fn both_clients_pair_by_the_same_calls() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "<p>").unwrap();
    let rig = Rig::set_up(|setup| setup.web_dir = Some(folder.path().to_owned())).await;
    let made = rig.post("/admin/pair/new", json!({})).await.ok(200);
    let code = made["code"].as_str().unwrap();
    let link = made["pairUrl"].as_str().unwrap();
    let (page, long) = link.split_once("?code=").unwrap();
    assert_eq!(page, format!("http://{}/pair", rig.at), "the app reads the code in the query");
    assert!(code.len() == 8 && long.starts_with(code));
    assert!(made["expiresAt"].as_str().unwrap().ends_with('Z'), "`new Date` reads it as well as a number");
    let drawn = rig.get(format!("/admin/pair/qr.svg?code={code}")).await;
    assert_eq!((drawn.status, drawn.header("content-type")), (200, Some("image/svg+xml")));

    let origin = format!("http://{}", rig.at);
    let consume = |code: &str| {
        rig.bare("POST", "/pair/consume").header("origin", &origin).json(&json!({ "code": code }))
    };
    let paired = consume(long).send().await;
    assert_eq!(paired.ok(200)["token"].as_str().unwrap().len(), 64);
    let again = consume(long).send().await;
    assert!(error_of(&again, 400).contains("wrong, used or expired"), "{}", again.text());
    let cookie = cookie_of(&paired);
    // What the app calls without a token comes in with the cookie.
    for path in ["/api/agents", "/api/metrics?range=7d"] {
        rig.bare("GET", path).header("cookie", &cookie).send().await.ok(200);
    }
    let import =
        || rig.bare("POST", "/api/agents/import").header("cookie", &cookie).json(&json!({ "name": "Ada" }));
    import().header("origin", &origin).send().await.ok(200);
    let foreign = import().header("origin", "http://localhost:1").send().await;
    assert_eq!(foreign.status, 403, "another page may not");
}

#[tokio::test]
async fn too_many_codes_say_so_in_both_forms() {
    let rig = Rig::new().await;
    for _ in 0..6 {
        rig.post("/admin/pair/new", json!({})).await.ok(200);
    }
    let more = rig.post("/admin/pair/new", json!({})).await;
    assert_eq!(more.problem(), (429, "too_many_attempts".to_owned()));
    assert!(more.header("retry-after").is_some() && !more.json()["error"].as_str().unwrap().is_empty());
}

#[tokio::test]
async fn the_owner_rotates_the_token_and_nobody_else() {
    let rig = Rig::new().await;
    let (token, _) = rig.device("full").await;
    let refused = rig.with_token(&token, "POST", "/admin/token/rotate").json(&json!({})).send().await;
    assert!(error_of(&refused, 403).contains("only the owner"), "{}", refused.text());
    let rotated = rig.post("/admin/token/rotate", json!({})).await.ok(200);
    assert_eq!((&rotated["ok"], rotated["token"].as_str().unwrap().len()), (&json!(true), 64));
    let old = rig.get("/admin/status").await;
    assert_eq!((old.status, old.text()), (401, "Unauthorised"));
}

//! The page of the administrator: state, checks, verbs, titles, metrics, settings.

use longshore_model::event::{Body, Draft};
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use longshore_model::usage::Usage;
use serde_json::{Value, json};

use super::error_of;
use crate::rig::Rig;

#[tokio::test]
async fn the_status_has_all_that_the_pages_read() {
    let rig = Rig::new().await;
    let (_, phone) = rig.device("full").await;
    rig.device("read_only").await;
    rig.call("DELETE", format!("/api/v1/devices/{phone}")).send().await.ok(200);
    let status = rig.get("/admin/status").await.ok(200);
    assert_eq!(status["tokenSessions"], json!({ "total": 2, "active": 1 }));
    assert_eq!(status["server"], json!({ "host": "127.0.0.1", "port": rig.at.port() }));
    assert_eq!(status["anchor"]["running"], true);
    assert!(["cwd", "host", "log"].iter().all(|name| status["anchor"][name].is_string()), "{status}");
    assert_eq!(status["anchorAuth"], json!({ "status": "unknown" }), "only the agents could tell");
    assert_eq!(status["db"]["retentionDays"], 0);
    assert_eq!(
        (&status["db"]["uploadRetentionDays"], &status["db"]["uploadPruneIntervalHours"]),
        (&json!(0), &json!(6))
    );
    assert!(status["db"]["path"].is_string() && status["db"]["uploadDir"].is_string());
    let counters = status["reliability"]["counters"].as_object().unwrap();
    assert!(counters.len() == 10 && counters.values().all(Value::is_u64), "{counters:?}");
    assert!(status["reliability"]["startedAt"].as_str().unwrap().ends_with('Z'));
    assert!(status["version"]["appCommit"].is_string() && status["uiDistDir"].is_string());
    assert_eq!(status["providers"]["codex"], json!({ "status": "healthy" }));
    assert_eq!(
        status["providers"]["ghost"],
        json!({ "status": "disabled", "message": "not installed; get ghost" })
    );
}

#[tokio::test]
async fn the_counts_of_the_status_are_those_of_the_doors() {
    let rig = Rig::new().await;
    let (token, _) = rig.device("read_only").await;
    let socket = rig.socket().await;
    let counters = || async { rig.get("/admin/status").await.ok(200)["reliability"].clone() };
    let before = counters().await;
    assert_eq!(before["counters"]["wsClientConnected"], 1);
    drop(socket);
    crate::rig::soon("the socket is gone", async {
        while counters().await["counters"]["wsClientDisconnected"] != 1 {}
    })
    .await;
    for (method, path) in [("GET", "/admin/pair/qr.svg?code=x"), ("POST", "/admin/uploads/prune")] {
        assert_eq!(rig.with_token(&token, method, path).send().await.status, 403);
    }
    let after = counters().await;
    assert_eq!(after["counters"]["readOnlyDenied"], 2);
    let last = after["recent"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["kind"], &last["detail"]), (&json!("readOnlyDenied"), &json!("my read_only phone")));
}

#[tokio::test]
async fn checks_and_repairs_say_what_is_so() {
    let rig = Rig::new().await;
    let checked = rig.get("/admin/validate").await.ok(200);
    let ids: Vec<&str> =
        checked["checks"].as_array().unwrap().iter().map(|check| check["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["server", "ui", "db", "anchor", "uploads"]);
    assert_eq!(checked["checks"][1]["ok"], false, "this hub has no page: {checked}");
    assert_eq!(checked["ok"], false);

    let actions = ["ensureUploadDir", "startAnchor", "pruneUploads", "fixTailscaleServe", "rm -rf /"];
    let repaired = rig.post("/admin/repair", json!({ "actions": actions })).await.ok(200);
    assert_eq!(repaired["applied"], json!(["ensureUploadDir", "pruneUploads"]));
    assert_eq!(repaired["skipped"].as_array().unwrap().len(), 2, "{repaired}");
    assert!(repaired["errors"][0].as_str().unwrap().contains("no such repair"), "{repaired}");
    let uploads = rig.get("/admin/status").await.ok(200)["db"]["uploadDir"].clone();
    assert!(std::path::Path::new(uploads.as_str().unwrap()).is_dir());
}

#[tokio::test]
async fn the_anchor_runs_with_the_hub_and_not_alone() {
    let rig = Rig::new().await;
    assert_eq!(rig.post("/admin/anchor/start", json!({})).await.ok(200), json!({ "ok": true }));
    let stopped = rig.call("POST", "/admin/anchor/stop").send().await;
    assert_eq!(stopped.json()["ok"], false);
    assert!(error_of(&stopped, 500).contains("longshore down"), "{}", stopped.text());
}

#[tokio::test]
async fn every_listed_verb_is_answered_and_no_other() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let listed = rig.get("/admin/cli/commands").await.ok(200);
    let listed = listed["commands"].as_array().unwrap();
    assert!(listed.len() >= 7, "{listed:?}");
    for verb in listed {
        assert!(
            ["label", "description"].iter().all(|name| verb[name].is_string()) && verb["args"].is_array()
        );
        let done = rig.post("/admin/cli/run", json!({ "id": verb["id"] })).await.ok(200);
        assert_eq!(
            (&done["ok"], &done["exitCode"], &done["timedOut"]),
            (&json!(true), &json!(0), &json!(false))
        );
        assert_eq!(done["command"], format!("longshore {}", verb["args"][0].as_str().unwrap()));
        let output = done["output"].as_str().unwrap();
        match verb["id"].as_str().unwrap() {
            "ls" => assert!(output.contains(&session.to_string()), "{output}"),
            "agents" => {
                assert!(output.contains("codex\t") && output.contains("not installed: get ghost"), "{output}")
            }
            "doctor" => assert!(output.contains("ok \tserver"), "{output}"),
            "pair" => {
                assert!(output.starts_with("http://127.0.0.1:") && output.contains("/pair#"), "{output}")
            }
            _ => assert!(!output.is_empty()),
        }
    }
    let unknown = rig.post("/admin/cli/run", json!({ "id": "rm" })).await;
    assert_eq!(error_of(&unknown, 400), "unknown command");
    assert!(rig.left().is_empty(), "no agent was told anything");
}

#[tokio::test]
async fn a_session_is_renamed() {
    let mut rig = Rig::new().await;
    let (session, _) = rig.working().await;
    let named = rig.post("/admin/thread/title", json!({ "threadId": session, "title": "  The boat " })).await;
    assert_eq!(named.ok(200), json!({ "ok": true }));
    assert_eq!(rig.hub.session(session).await.unwrap().title, "The boat");
    rig.post("/admin/thread/title", json!({ "threadId": session, "title": null })).await.ok(200);
    assert_eq!(rig.hub.session(session).await.unwrap().title, "go", "the beginning of its first prompt");
    assert_eq!(
        error_of(&rig.post("/admin/thread/title", json!({ "title": "x" })).await, 400),
        "threadId is required"
    );
    let foreign = rig.post("/admin/thread/title", json!({ "threadId": "<img>", "title": "x" })).await;
    assert_eq!(error_of(&foreign, 400), "`img` is not a thread of this hub");
    let unknown = json!({ "threadId": "019a8f2e-7c3d-7b1a-9c4e-5f6a7b8c9d0e", "title": "x" });
    assert!(error_of(&rig.post("/admin/thread/title", unknown).await, 404).contains("longshore ls"));
}

#[tokio::test]
async fn metrics_are_sums_of_what_the_agents_reported() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let usage = Usage { input: Some(100), output: Some(20), ..Usage::default() };
    let end = TurnEnd { usage: Some(usage), ..TurnEnd::of(TurnOutcome::Completed) };
    rig.say(session, vec![Draft::new(Body::TurnFinished(end)).turn(turn)]).await;
    rig.hub.settle().await;
    for range in ["24h", "7d", "30d", "all"] {
        let metrics = rig.get(format!("/api/metrics?range={range}")).await.ok(200);
        assert_eq!((&metrics["range"], &metrics["provider"]), (&json!(range), &json!(null)));
        assert_eq!(metrics["totals"], json!({ "tokens": 120, "cost": 0.0, "threads": 1 }), "{range}");
        let codex = json!([{ "provider": "codex", "tokens": 120, "cost": 0.0, "threads": 1 }]);
        assert_eq!(metrics["byProvider"], codex);
        assert_eq!(
            (&metrics["dailyUsage"][0]["provider"], &metrics["dailyUsage"][0]["tokens"]),
            (&json!("codex"), &json!(120))
        );
        assert_eq!(metrics["dailyUsage"][0]["day"].as_str().unwrap().len(), "2026-11-15".len());
    }
    assert!(error_of(&rig.get("/api/metrics?range=1y").await, 400).contains("1y"));
}

#[tokio::test]
async fn settings_are_shown_and_changed_in_their_file_only() {
    let rig = Rig::new().await;
    let shown = rig.get("/api/config/providers").await.ok(200);
    assert_eq!(shown["providers"]["codex"], json!({ "enabled": true, "executablePath": "/bin/codex" }));
    assert_eq!(shown["providers"]["ghost"], json!({ "enabled": false }));
    let patch = |body: Value| rig.call("PATCH", "/api/config/providers").json(&body).send();
    assert_eq!(patch(shown.clone()).await.ok(200), json!({ "success": true }), "that changes nothing");
    let masked = json!({ "providers": { "codex": { "apiKey": "••••", "model": "", "debug": false } } });
    assert_eq!(patch(masked).await.ok(200), json!({ "success": true }));
    let keyed = patch(json!({ "providers": { "codex": { "apiKey": "sk-of-somebody" } } })).await;
    assert_eq!(keyed.json()["success"], false);
    let error = error_of(&keyed, 400);
    assert!(error.contains("`apiKey` of codex") && error.contains("[agents.codex]"), "{error}");
    assert!(!keyed.text().contains("sk-of-somebody"), "what is refused is not said again");
    assert_eq!(
        rig.get("/api/config/opencode/detect-credentials").await.ok(200),
        json!({ "detected": false })
    );
    assert!(error_of(&rig.get("/api/providers/opencode/capabilities").await, 404).contains("not installed"));
}

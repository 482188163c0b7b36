//! What people look at to find a fault: in order, within bounds, without secrets.

use std::io::Write;

use longshore_facades::log_tail::LogTail;
use serde_json::{Value, json};

use crate::rig::Rig;

fn lines(reply: &Value) -> Vec<Value> {
    let data = reply["data"].as_array().unwrap();
    data.iter().map(|line| serde_json::from_str(line.as_str().unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn the_newest_events_come_in_order_and_without_secrets() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let key = format!("sk-{}", "a1B2c3D4e5F6".repeat(4));
    rig.message(session, turn, &format!("the key is {key}, keep it")).await;
    rig.finish(session, turn).await;
    rig.working().await;
    let all = rig.get("/admin/debug/events").await.ok(200);
    assert_eq!(all["limit"], 50);
    let events = lines(&all);
    let times: Vec<&str> = events.iter().map(|event| event["ts"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && events.len() > 8, "{times:?}");
    assert!(events.iter().all(|event| event["direction"] == "server" && event["message"].is_object()));
    assert!(!all.to_string().contains(&key) && all.to_string().contains("the key is [redacted], keep it"));
    let few = rig.get("/admin/debug/events?limit=2").await.ok(200);
    assert_eq!(lines(&few), events[events.len() - 2..], "the newest");
}

#[tokio::test]
async fn what_people_do_to_the_hub_is_noted() {
    let rig = Rig::new().await;
    rig.post("/admin/uploads/prune", json!({})).await.ok(200);
    rig.post("/admin/token/sessions/new", json!({ "label": "password=hunter2" })).await.ok(200);
    let (token, _) = rig.device("full").await;
    rig.with_token(&token, "POST", "/admin/cli/run").json(&json!({ "id": "ls" })).send().await.ok(200);
    let deeds = rig.get("/admin/ops?limit=80").await.ok(200);
    let texts: Vec<Value> = lines(&deeds).iter().map(|line| line["message"]["message"].clone()).collect();
    assert_eq!(texts[0], "owner cleaned up the files: 0 removed");
    assert_eq!(texts[1], "owner made a token for password=[redacted] (full)");
    assert_eq!(texts[2], "my full phone ran `longshore ls`");
    let line = &lines(&deeds)[0];
    assert_eq!((&line["direction"], &line["message"]["type"]), (&json!("admin"), &json!("admin.log")));
    assert_eq!(lines(&rig.get("/admin/ops?limit=1").await.ok(200)), [lines(&deeds)[2].clone()]);
}

#[tokio::test]
async fn the_log_is_shown_without_secrets() {
    let rig = Rig::new().await;
    writeln!(LogTail::of_this_process(), "a line for this test: Bearer 0123456789abcdef").unwrap();
    let log = rig.get("/admin/logs?service=anchor").await;
    assert_eq!((log.status, log.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert!(log.text().contains("a line for this test: Bearer [redacted]\n"), "{}", log.text());
    assert_eq!(rig.get("/admin/logs?service=passwd").await.status, 404);
}

//! Who may do what by these routes.

use serde_json::{Value, json};

use crate::rig::Rig;

/// Everything that reads.
const READS: [&str; 14] = [
    "/admin/status",
    "/admin/validate",
    "/admin/logs?service=anchor",
    "/admin/debug/events?limit=50",
    "/admin/ops?limit=80",
    "/admin/uploads/stats",
    "/admin/token/sessions",
    "/admin/cli/commands",
    "/api/config/providers",
    "/api/config/opencode/detect-credentials",
    "/api/providers/opencode/capabilities",
    "/api/metrics?range=7d",
    "/api/agents",
    "/api/agents/none/export",
];

/// Everything that changes something, as nearly as possible with what it takes.
fn changes() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("POST", "/admin/repair", json!({ "actions": ["pruneUploads"] })),
        ("POST", "/admin/anchor/start", json!({})),
        ("POST", "/admin/anchor/stop", json!({})),
        ("POST", "/admin/uploads/prune", json!({})),
        ("POST", "/admin/uploads/retention", json!({ "retentionDays": 1 })),
        ("POST", "/admin/token/sessions/new", json!({ "mode": "full" })),
        ("POST", "/admin/token/sessions/revoke", json!({ "id": "x" })),
        ("POST", "/admin/cli/run", json!({ "id": "pair" })),
        ("POST", "/admin/thread/title", json!({ "threadId": "x", "title": "y" })),
        ("PATCH", "/api/config/providers", json!({ "providers": {} })),
        ("POST", "/api/agents/import", json!({ "name": "a" })),
        ("DELETE", "/api/agents/a", json!({})),
        ("POST", "/api/agents/a/sync-vscode", json!({})),
        ("POST", "/api/agents/sync-all-vscode", json!({})),
        ("POST", "/uploads/new", json!({ "filename": "a", "mime": "b/c", "bytes": 1 })),
        ("PUT", "/uploads/x", json!({})),
    ]
}

#[tokio::test]
async fn without_a_token_every_route_is_closed_in_the_words_of_the_app() {
    let rig = Rig::new().await;
    let reads = READS.iter().map(|path| ("GET", *path, json!({})));
    for (method, path, body) in reads.chain(changes()) {
        for request in [rig.bare(method, path), rig.with_token("guess", method, path)] {
            let reply = request.json(&body).send().await;
            assert_eq!((reply.status, reply.text()), (401, "Unauthorised"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_device_that_may_not_changes_nothing_by_these_routes() {
    let rig = Rig::new().await;
    for mode in ["read_only", "approve"] {
        let (token, _) = rig.device(mode).await;
        for path in READS {
            let reply = rig.with_token(&token, "GET", path).send().await;
            assert!([200, 404].contains(&reply.status), "{mode} {path}: {}", reply.text());
            let head = rig.with_token(&token, "HEAD", path).stream().await.reply;
            assert_eq!(head.status, reply.status, "HEAD {path}");
        }
        for (method, path, body) in changes() {
            let reply = rig.with_token(&token, method, path).json(&body).send().await;
            assert_eq!(reply.status, 403, "{mode} {method} {path}: {}", reply.text());
            assert_eq!(reply.json()["code"], "not_allowed", "{mode} {method} {path}");
        }
    }
    assert_eq!(rig.get("/api/agents").await.ok(200), json!([]));
    assert_eq!(rig.get("/admin/ops").await.ok(200)["data"], json!([]), "nothing was done");
    assert_eq!(rig.get("/admin/token/sessions").await.ok(200)["sessions"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn odd_requests_get_an_error_that_the_app_can_show() {
    let rig = Rig::new().await;
    for body in ["[", "[]", "\"x\"", "{\"id\":7}", "{\"id\":\"\u{1F600}\""] {
        let reply = rig.call("POST", "/admin/cli/run").body("application/json", body).send().await;
        assert_eq!((reply.status, reply.json()["success"].clone()), (400, json!(false)), "{body}");
    }
    let large = format!("{{\"id\":\"{}\"}}", "x".repeat(300 << 10));
    let reply = rig.call("POST", "/admin/cli/run").body("application/json", large).send().await;
    assert_eq!((reply.status, reply.json()["code"].clone()), (413, json!("too_large")));
    let verb = rig.call("DELETE", "/admin/status").send().await;
    assert_eq!((verb.status, verb.json()["code"].clone()), (405, json!("method_not_allowed")));
    for path in
        ["/admin/debug/events?limit=x", "/admin/ops?limit=-1", "/admin/ops?limit=99999999999999999999"]
    {
        rig.get(path).await.ok(200);
    }
}

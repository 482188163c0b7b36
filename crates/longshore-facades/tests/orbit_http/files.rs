//! Files that the web app sends before a prompt.

use serde_json::{Value, json};

use super::error_of;
use crate::http::Reply;
use crate::rig::Rig;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

impl Rig {
    async fn announce(&self, name: &str, kind: &str, bytes: usize) -> Value {
        self.post("/uploads/new", json!({ "filename": name, "mime": kind, "bytes": bytes })).await.ok(200)
    }

    async fn put(&self, place: &Value, kind: &str, bytes: &[u8]) -> Reply {
        self.call("PUT", place["uploadUrl"].as_str().unwrap()).body(kind, bytes).send().await
    }

    async fn sent(&self, name: &str, kind: &str, bytes: &[u8]) -> Value {
        let place = self.announce(name, kind, bytes.len()).await;
        let sent = self.put(&place, kind, bytes).await.ok(200);
        assert_eq!(sent, json!({ "ok": true, "url": place["viewUrl"] }));
        place
    }
}

#[tokio::test]
async fn a_picture_is_sent_seen_without_a_token_and_lies_where_an_agent_reads_it() {
    let rig = Rig::new().await;
    let place = rig.sent("my photo.png", "image/png", PNG).await;
    assert_eq!((&place["filename"], &place["mime"]), (&json!("my photo.png"), &json!("image/png")));
    assert!(place["expiresAt"].as_i64().unwrap() > 1_700_000_000_000);
    assert_eq!(std::fs::read(place["localPath"].as_str().unwrap()).unwrap(), PNG);
    let view = place["viewUrl"].as_str().unwrap();
    let seen = rig.bare("GET", view).send().await;
    assert_eq!((seen.status, seen.bytes()), (200, PNG));
    for (name, value) in [
        ("content-type", "image/png"),
        ("cache-control", "private, max-age=31536000, immutable"),
        ("content-disposition", "inline; filename*=UTF-8''my%20photo.png"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "default-src 'none'; sandbox"),
    ] {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    let head = rig.bare("HEAD", view).stream().await.reply;
    assert_eq!((head.status, head.header("content-length")), (200, Some(PNG.len().to_string().as_str())));
    let stats = rig.get("/admin/uploads/stats").await.ok(200);
    assert_eq!((&stats["fileCount"], &stats["totalBytes"]), (&json!(1), &json!(PNG.len())));
    assert!(
        stats["oldestAt"].is_string() && stats["lastPruneAt"].is_null() && stats["lastPruneSource"].is_null()
    );
    for nothing in ["/u/x", "/u/..%2f..%2fetc%2fpasswd", &format!("{view}x")] {
        let missing = rig.bare("GET", nothing).send().await;
        assert_eq!(missing.status, 404, "{nothing}");
    }
}

#[tokio::test]
async fn nothing_that_could_be_a_page_runs_from_the_hub() {
    let rig = Rig::new().await;
    let pages: [(&str, &str, &[u8]); 4] = [
        ("x.html", "text/html", b"<!doctype html><script>alert(1)</script>"),
        ("x.png", "image/png", b"<!doctype html><script>alert(1)</script>"),
        (
            "x.svg",
            "image/svg+xml",
            b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>",
        ),
        ("x\"; filename=\"y.html", "text/javascript", b"alert(1)"),
    ];
    for (name, kind, bytes) in pages {
        let place = rig.sent(name, kind, bytes).await;
        let seen = rig.bare("GET", place["viewUrl"].as_str().unwrap()).send().await;
        assert_eq!(seen.header("content-type"), Some("application/octet-stream"), "{name}");
        let how = seen.header("content-disposition").unwrap();
        assert!(how.starts_with("attachment; filename*=UTF-8''x") && !how.contains('"'), "{how}");
        assert_eq!(seen.header("content-security-policy"), Some("default-src 'none'; sandbox"));
        assert_eq!(seen.header("x-content-type-options"), Some("nosniff"));
    }
}

#[tokio::test]
async fn what_is_too_large_or_not_as_announced_is_refused() {
    let rig = Rig::new().await;
    let large = rig
        .post("/uploads/new", json!({ "filename": "a", "mime": "image/png", "bytes": (25 << 20) + 1 }))
        .await;
    assert!(error_of(&large, 413).contains("25 MiB"));
    for bytes in [json!(null), json!(0), json!(-1)] {
        let refused =
            rig.post("/uploads/new", json!({ "filename": "a", "mime": "image/png", "bytes": bytes })).await;
        assert_eq!(error_of(&refused, 400), "bytes is required");
    }
    let place = rig.announce("a.png", "image/png", 4).await;
    let other = rig.put(&place, "text/html", b"1234").await;
    assert_eq!((other.status, other.text()), (400, "the file was announced as `image/png`"));
    assert_eq!(rig.put(&place, "image/png", b"12345").await.status, 413);
    assert_eq!(
        rig.bare("GET", place["viewUrl"].as_str().unwrap()).send().await.status,
        404,
        "nothing came yet"
    );
    assert_eq!(rig.put(&place, "image/png", b"1234").await.status, 200);
    assert_eq!(rig.put(&place, "image/png", b"4321").await.status, 409, "what has a token does not change");
    let unknown = json!({ "uploadUrl": "/uploads/0000" });
    assert_eq!(rig.put(&unknown, "image/png", b"1").await.status, 400);
}

#[tokio::test]
async fn whoever_announces_too_much_waits() {
    let rig = Rig::new().await;
    for at in 0..30 {
        rig.announce(&at.to_string(), "image/png", 1).await;
    }
    let more = rig.post("/uploads/new", json!({ "filename": "a", "mime": "image/png", "bytes": 1 })).await;
    assert_eq!(error_of(&more, 429), "rate limit exceeded");
    let wait = more.json()["retryAfterSec"].as_u64().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!(more.header("retry-after"), Some(wait.to_string().as_str()));
    let status = rig.get("/admin/status").await.ok(200);
    assert_eq!(status["reliability"]["counters"]["rateLimited"], 1);
}

#[tokio::test]
async fn how_long_files_are_kept_is_set_and_outlives_the_hub() {
    let log = std::sync::Arc::new(longshore_log::MemoryLog::default());
    let rig = Rig::over(std::sync::Arc::clone(&log), None).await;
    let retain = |body: Value| rig.post("/admin/uploads/retention", body);
    let kept = retain(json!({ "retentionDays": 30, "pruneIntervalHours": 12 })).await.ok(200);
    assert_eq!(kept, json!({ "ok": true, "retentionDays": 30, "pruneIntervalHours": 12 }));
    assert_eq!(retain(json!({ "retentionDays": 7 })).await.ok(200)["pruneIntervalHours"], 12);
    for bad in
        [json!({ "retentionDays": 3651 }), json!({ "retentionDays": -1 }), json!({ "pruneIntervalHours": 0 })]
    {
        assert!(error_of(&retain(bad).await, 400).contains("must be"));
    }
    assert_eq!(rig.post("/admin/uploads/prune", json!({})).await.ok(200)["ok"], true);
    let stats = rig.get("/admin/uploads/stats").await.ok(200);
    assert_eq!(
        (&stats["lastPruneSource"], &stats["lastPruneMessage"]),
        (&json!("manual"), &json!("removed 0 files"))
    );
    drop(rig);
    let status = Rig::over(log, None).await.get("/admin/status").await.ok(200);
    assert_eq!(
        (&status["db"]["uploadRetentionDays"], &status["db"]["uploadPruneIntervalHours"]),
        (&json!(7), &json!(12))
    );
}

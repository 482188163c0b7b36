//! A folder with somebody else's web app.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use crate::rig::Rig;

async fn serving() -> (TempDir, Rig) {
    let folder = tempfile::tempdir().unwrap();
    let dist = folder.path().join("dist");
    fs::create_dir_all(dist.join("assets")).unwrap();
    for (name, text) in [
        ("dist/index.html", "<p>the app"),
        ("dist/sw.js", "self"),
        ("dist/manifest.json", "{}"),
        ("dist/assets/index-BhX3k9Qz.js", "let a"),
        ("dist/.env", "SECRET=1"),
        ("outside.txt", "private"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    symlink("../outside.txt", dist.join("leads-out.txt")).unwrap();
    symlink("..", dist.join("up")).unwrap();
    symlink("sw.js", dist.join("leads-in.js")).unwrap();
    symlink(".env", dist.join("leads-to-hidden.txt")).unwrap();
    let rig = Rig::set_up(|setup| setup.web_dir = Some(dist)).await;
    (folder, rig)
}

#[tokio::test]
async fn every_page_of_the_app_is_its_index_and_files_are_files() {
    let (_folder, rig) = serving().await;
    for page in [
        "/",
        "/app",
        "/task",
        "/thread/019a",
        "/thread/019a/review",
        "/settings",
        "/device",
        "/metrics",
        "/admin",
        "/pair?code=X",
    ] {
        let reply = rig.bare("GET", page).header("accept", "text/html,*/*;q=0.8").send().await;
        assert_eq!((reply.status, reply.text()), (200, "<p>the app"), "{page}");
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("default-src"), "{policy}");
    }
    for (path, kind, keep) in [
        (
            "/assets/index-BhX3k9Qz.js",
            "text/javascript; charset=utf-8",
            "public, max-age=31536000, immutable",
        ),
        ("/sw.js", "text/javascript; charset=utf-8", "no-cache"),
        ("/leads-in.js", "text/javascript; charset=utf-8", "no-cache"),
        ("/manifest.json", "application/json", "no-cache"),
    ] {
        let reply = rig.bare("GET", path).send().await;
        assert_eq!(
            (reply.status, reply.header("content-type"), reply.header("cache-control")),
            (200, Some(kind), Some(keep)),
            "{path}"
        );
        let head = rig.bare("HEAD", path).stream().await.reply;
        assert_eq!(
            (head.status, head.header("content-length")),
            (200, reply.header("content-length")),
            "HEAD {path}"
        );
    }
}

#[tokio::test]
async fn nothing_outside_of_the_folder_is_served() {
    let (_folder, rig) = serving().await;
    for path in [
        "/leads-to-hidden.txt",
        "/leads-out.txt",
        "/up/outside.txt",
        "/../outside.txt",
        "/%2e%2e/outside.txt",
        "/assets/../../outside.txt",
        "/assets/%2e%2e/%2e%2e/outside.txt",
        "/assets/..%2f..%2foutside.txt",
        "/..%5coutside.txt",
        "//etc/passwd",
        "/%2fetc/passwd",
        "/.env",
        "/%2eenv",
        "/up/dist/.env",
        "/index.html%00.js",
    ] {
        let reply = rig.bare("GET", path).send().await;
        let is_page = reply.status == 200 && reply.text() == "<p>the app";
        assert!(is_page || reply.status == 404, "{path}: {} {}", reply.status, reply.text());
    }
    for missing in ["/assets/none.js", "/assets/", "/api/none", "/admin/none"] {
        assert_eq!(rig.bare("GET", missing).send().await.status, 404, "{missing}");
    }
    assert_eq!(rig.bare("POST", "/app").send().await.status, 404);
}

#[tokio::test]
async fn our_own_calls_go_on_beside_another_app() {
    let (folder, rig) = serving().await;
    assert_eq!(rig.get("/api/v1/me").await.ok(200)["role"], "owner");
    assert!(rig.get("/metrics").await.text().starts_with("# HELP"), "Prometheus goes on too");
    assert_eq!(rig.get("/admin/status").await.ok(200)["uiDistDir"], json!(folder.path().join("dist")));
    assert_eq!(rig.get("/admin/validate").await.ok(200)["checks"][1]["ok"], true);
    fs::remove_file(folder.path().join("dist/index.html")).unwrap();
    let gone = rig.bare("GET", "/").send().await;
    assert!(gone.status == 404 && gone.text().contains("no index.html"), "{}", gone.text());
    assert_eq!(rig.get("/admin/validate").await.ok(200)["checks"][1]["ok"], false);
}

#[tokio::test]
async fn without_a_folder_our_app_keeps_its_place() {
    let rig = Rig::new().await;
    let page = rig.bare("GET", "/sessions/x").send().await;
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'self'"));
    let link = rig.post("/admin/pair/new", json!({})).await.ok(200)["pairUrl"].as_str().unwrap().to_owned();
    assert!(link.contains("/pair#"), "{link}");
}

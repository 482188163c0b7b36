//! Ways in for clients of others: the token in the path, and pages of listed origins.

use serde_json::json;

use super::{create, form, path, refused};
use crate::rig::{PAGE, Rig, TOKEN};

#[tokio::test]
async fn a_token_in_the_path_leads_to_the_facades_and_nowhere_else() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let (token, id) = rig.device("full").await;
    let with = |token: &str, path: &str| format!("/with-token/{token}{path}");
    let info = rig.bare("GET", with(&token, &path(session, "info"))).send().await.ok(200);
    assert_eq!(info["id"], json!(session));
    let owner = rig.bare("GET", with("s3cret+%2F=&%25", &path(session, "info"))).send().await;
    assert_eq!(owner.status, 200, "the owner's token with its escapes");
    let call = rig.bare("POST", with(&token, &path(session, "message?stream=true&session_id=a")));
    let mut stream = form(call, &[("content", "go"), ("node_ids", "[]")]).stream().await;
    stream.until("}").await;
    rig.command().await;

    for (method, path) in [
        ("GET", "/api/v1/me"),
        ("GET", "/api/v1/sessions"),
        ("GET", "/api/v1/devices"),
        ("GET", "/api/v1/socket"),
        ("POST", "/admin/token/rotate"),
        ("POST", "/admin/pair/new"),
        ("POST", "//admin/pair/new"),
        ("POST", "/%61dmin/pair/new"),
        ("POST", "/api/v1/../../admin/pair/new"),
        ("POST", "/pair/consume"),
        ("GET", "/health"),
        ("GET", "/metrics"),
        ("GET", "/"),
        ("GET", ""),
    ] {
        let reply = rig.bare(method, with("s3cret+%2F=&%25", path)).send().await;
        assert_eq!(reply.status, 404, "{method} {path}: {}", reply.text());
    }
    let twice = rig.bare("GET", with(&token, &with(&token, &path(session, "info")))).send().await;
    assert_eq!(twice.status, 404);
    for wrong in ["wrong", "%", "%0d%0a", "%ff"] {
        let reply = rig.bare("GET", with(wrong, &path(session, "info"))).send().await;
        assert_eq!(reply.status, 401, "{wrong}: {}", reply.text());
    }
    // The token of the path counts, not another one.
    let call = rig.call("GET", with("wrong", &path(session, "info")));
    assert_eq!(call.send().await.status, 401);

    let (look, _) = rig.device("read_only").await;
    let call = rig.bare("POST", with(&look, &path(session, "stop"))).json(&json!({}));
    assert_eq!(refused(&call.send().await).0, 403);
    rig.call("DELETE", format!("/api/v1/devices/{id}")).send().await.ok(200);
    assert_eq!(stream.knock().await, 0, "its stream ends with its device");
    let reply = rig.bare("GET", with(&token, &path(session, "info"))).send().await;
    assert_eq!(refused(&reply).0, 401);
}

#[tokio::test]
async fn a_listed_page_may_use_the_facades_with_a_token_and_nothing_else() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let ask = |origin: &str, path: String| {
        let call = rig.bare("OPTIONS", path).header("origin", origin);
        let call = call.header("access-control-request-method", "POST");
        call.header("access-control-request-headers", "authorization,content-type").send()
    };
    let answer = ask(PAGE, path(session, "message")).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    assert!(answer.header("access-control-allow-headers").unwrap().contains("authorization"));
    assert!(answer.header("access-control-allow-methods").unwrap().contains("POST"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    assert_eq!(answer.header("vary"), Some("origin"));

    let info = rig.call("GET", path(session, "info")).header("origin", PAGE).send().await;
    assert_eq!((info.status, info.header("access-control-allow-origin")), (200, Some(PAGE)));
    let none = rig.bare("GET", path(session, "info")).header("origin", PAGE).send().await;
    assert_eq!(
        (none.status, none.header("access-control-allow-origin")),
        (401, Some(PAGE)),
        "the page reads why"
    );
    let token = "s3cret+%2F=&%25";
    let by_path = format!("/with-token/{token}{}", path(session, "info"));
    let info = rig.bare("GET", by_path).header("origin", PAGE).send().await;
    assert_eq!((info.status, info.header("access-control-allow-origin")), (200, Some(PAGE)));

    // Neither the native API nor the cookie are for such a page.
    let me = rig.call("GET", "/api/v1/me").header("origin", PAGE).send().await;
    assert_eq!((me.status, me.header("access-control-allow-origin")), (403, None));
    let me = ask(PAGE, "/api/v1/me".to_owned()).await;
    assert_eq!((me.status, me.header("access-control-allow-origin")), (403, None));
    let pasted = rig.bare("POST", "/pair/token").json(&json!({ "token": TOKEN })).send().await;
    let cookie = pasted.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let own = rig.bare("GET", path(session, "info")).header("cookie", &cookie).send().await;
    assert_eq!(own.status, 200, "the hub's own pages come in with it");
    let theirs = rig.bare("GET", path(session, "info")).header("origin", PAGE).header("cookie", &cookie);
    assert_eq!(refused(&theirs.send().await).0, 403);

    // A page that is not listed: of loopback, of another port or scheme, of nothing.
    for origin in ["http://localhost:3000", "http://127.0.0.1:3000"] {
        let answer = ask(origin, path(session, "message")).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
        assert!(answer.status >= 400, "{origin}");
    }
    for origin in
        ["https://app.example", "http://app.example:8443", "https://app.example:8443.evil.example", "null"]
    {
        let reply = rig.call("GET", path(session, "info")).header("origin", origin).send().await;
        assert_eq!((reply.status, reply.header("access-control-allow-origin")), (403, None), "{origin}");
    }
    let foreign =
        rig.call("GET", path(session, "info")).header("origin", PAGE).header("host", "evil.example");
    assert_eq!(foreign.send().await.status, 403, "the name of the host is checked all the same");
}

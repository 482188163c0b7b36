//! What is read rather than followed: the timeline by pages, search, figures, the description of the API.

use serde_json::{Value, json};

use crate::rig::Rig;

#[tokio::test]
async fn a_timeline_is_read_backwards_by_pages() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    for n in 0..9 {
        rig.message(session, turn, &format!("message {n}")).await;
    }
    let place = format!("/api/v1/sessions/{session}/timeline");
    let texts = |page: &Value| -> Vec<String> {
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["text"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = texts(&rig.get(&place).await.ok(200));
    assert_eq!((all.len(), all[0].as_str(), all[9].as_str()), (10, "go", "message 8"));
    let newest = rig.get(format!("{place}?limit=4")).await.ok(200);
    assert_eq!(texts(&newest), all[6..], "the newest page first, in its order");
    assert_eq!(newest["head"], json!(rig.hub.session(session).await.unwrap().head));
    let mut read = texts(&newest);
    let mut next = newest["next"].as_u64();
    for _ in 0..5 {
        let Some(before) = next else { break };
        let page = rig.get(format!("{place}?limit=4&before={before}")).await.ok(200);
        read.splice(0..0, texts(&page));
        next = page["next"].as_u64();
    }
    assert_eq!(read, all);
    assert_eq!(texts(&rig.get(format!("{place}?before=0")).await.ok(200)), Vec::<String>::new());
    assert_eq!(texts(&rig.get(format!("{place}?limit=888888888")).await.ok(200)), all);
    assert_eq!(rig.get(format!("{place}?before=x")).await.problem(), (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn words_are_found_with_their_place() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    rig.message(session, turn, "the lighthouse keeper sleeps").await;
    rig.message(session, turn, "the harbour is empty").await;
    let found = rig.get("/api/v1/search?q=lighthouse+keep").await.ok(200);
    let [hit] = found["hits"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!((&hit["session"], &hit["title"]), (&json!(session), &json!("go")));
    assert!(hit["snippet"].as_str().unwrap().contains("lighthouse"), "{hit}");
    let after = hit["seq"].as_u64().unwrap() - 1;
    let page = rig.get(format!("/api/v1/sessions/{session}/events?after={after}&limit=1")).await.ok(200);
    assert_eq!(page["events"][0]["text"], "the lighthouse keeper sleeps");

    assert_eq!(rig.get("/api/v1/search?q=the&limit=1").await.ok(200)["hits"].as_array().unwrap().len(), 1);
    for q in ["", "%22", "*", "a%20AND", "%27%3B--", "(", "nothing"] {
        assert_eq!(rig.get(format!("/api/v1/search?q={q}")).await.ok(200)["hits"], json!([]), "{q}");
    }
    assert_eq!(rig.get("/api/v1/search").await.problem(), (400, "invalid_request".to_owned()));
}

#[tokio::test]
async fn figures_are_what_prometheus_reads() {
    let mut rig = Rig::new().await;
    rig.ready().await;
    let reply = rig.get("/metrics").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/plain; version=0.0.4")));
    let mut figures = 0;
    for line in reply.text().lines().filter(|line| !line.starts_with("# ")) {
        let (name, value) = line.split_once(' ').unwrap();
        assert!(name.starts_with("longshore_") && value.parse::<f64>().is_ok(), "{line}");
        figures += 1;
    }
    assert!(figures >= 6, "{}", reply.text());
    assert!(reply.text().contains("\nlongshore_sessions_awake 1\n"), "{}", reply.text());
    assert!(reply.text().contains("\nlongshore_log_events 2\n"), "{}", reply.text());
}

#[tokio::test]
async fn every_reference_of_the_description_leads_somewhere() {
    let rig = Rig::new().await;
    let document = rig.get("/api/v1/openapi.json").await.ok(200);
    assert_eq!(document["openapi"], "3.1.0");
    let mut waiting = vec![&document];
    let mut references = 0;
    while let Some(value) = waiting.pop() {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let place = reference.strip_prefix('#').expect("a reference into this document");
            assert!(document.pointer(place).is_some(), "{reference} leads nowhere");
            references += 1;
        }
        match value {
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => waiting.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    assert!(references > 50, "{references}");
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            assert!(
                operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()),
                "{method} {path}"
            );
            let named = operation["parameters"].as_array().unwrap();
            let in_path = path.matches('{').count();
            assert_eq!(named.iter().filter(|parameter| parameter["in"] == "path").count(), in_path, "{path}");
        }
    }
}

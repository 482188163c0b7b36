//! Events over HTTP: pages, NDJSON, and live as server-sent events.

use longshore_model::event::{Body, Draft};
use longshore_model::id::SessionId;
use serde_json::{Value, json};

use crate::http::Stream;
use crate::rig::Rig;

fn seqs(page: &Value) -> Vec<u64> {
    page["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

/// A session with a turn of which the agent's own frames are known.
async fn with_a_turn(rig: &mut Rig) -> SessionId {
    let (session, turn) = rig.working().await;
    let item = rig.item();
    let say =
        |body, text: &str, raw: &str| Draft::new(body).turn(turn).item(item).text(text).raw(Some(raw.into()));
    let done = Body::MessageDone { phase: None, partial: false };
    let drafts = vec![
        say(Body::MessageDelta, "hel", "{\"n\":1}"),
        say(Body::MessageDelta, "lo", "{\"n\":\r\n2}"),
        say(done, "hello", "no json"),
    ];
    rig.say(session, drafts).await;
    rig.finish(session, turn).await;
    session
}

async fn live(rig: &Rig, path: &str, last: Option<&str>) -> Stream {
    let mut call = rig.call("GET", path).header("accept", "text/event-stream");
    if let Some(last) = last {
        call = call.header("last-event-id", last);
    }
    let stream = call.stream().await;
    assert_eq!(stream.reply.status, 200);
    assert_eq!(stream.reply.header("content-type"), Some("text/event-stream"));
    stream
}

#[tokio::test]
async fn a_page_holds_what_the_contract_says() {
    let mut rig = Rig::new().await;
    let session = with_a_turn(&mut rig).await;
    let place = format!("/api/v1/sessions/{session}/events");
    let page = rig.get(&place).await.ok(200);
    let head = page["head"].as_u64().unwrap();
    assert_eq!((seqs(&page), &page["next"]), ((1..=head).collect(), &Value::Null));
    for event in page["events"].as_array().unwrap() {
        assert_eq!((&event["sessionId"], &event["provider"]), (&json!(session), &json!("codex")));
        for field in ["eventId", "category", "timestamp", "type"] {
            assert!(event[field].is_string(), "{field} of {event}");
        }
        assert!(event.get("rawEvent").is_none());
    }
    let mut paged = Vec::new();
    let mut after = 0;
    for _ in 0..head {
        let page = rig.get(format!("{place}?after={after}&limit=3")).await.ok(200);
        paged.extend(seqs(&page));
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(paged, (1..=head).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_page_has_its_bounds() {
    let mut rig = Rig::new().await;
    let session = with_a_turn(&mut rig).await;
    let place = format!("/api/v1/sessions/{session}/events");
    let head = rig.get(&place).await.ok(200)["head"].as_u64().unwrap();
    assert_eq!(seqs(&rig.get(format!("{place}?limit=0")).await.ok(200)), [1]);
    assert_eq!(seqs(&rig.get(format!("{place}?limit=4000000000")).await.ok(200)).len() as u64, head);
    let beyond = rig.get(format!("{place}?after=18446744073709551615")).await;
    assert_eq!(beyond.problem(), (409, "after_ahead".to_owned()));
    for query in ["after=-1", "after=x", "limit=x", "raw=1", "since=3", "after=99999999999999999999"] {
        let reply = rig.get(format!("{place}?{query}")).await;
        assert_eq!(reply.problem(), (400, "invalid_request".to_owned()), "{query}");
    }
}

#[tokio::test]
async fn a_page_of_large_events_is_shorter_than_asked_for() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    for _ in 0..5 {
        rig.message(session, turn, &"x".repeat(3 << 20)).await;
    }
    let (mut after, mut pages, mut events) = (0, 0, 0);
    for _ in 0..5 {
        let reply = rig.get(format!("/api/v1/sessions/{session}/events?after={after}")).await;
        let page = reply.ok(200);
        assert!(reply.text().len() <= 9 << 20, "{} bytes", reply.text().len());
        pages += 1;
        events += seqs(&page).len() as u64;
        match page["next"].as_u64() {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!((pages, events), (3, rig.hub.session(session).await.unwrap().head.0));
    let items = rig.get(format!("/api/v1/sessions/{session}/timeline")).await;
    assert!(items.text().len() <= 9 << 20, "{} bytes", items.text().len());
    let page = items.ok(200);
    let newest: Vec<u64> =
        page["items"].as_array().unwrap().iter().map(|item| item["seq"].as_u64().unwrap()).collect();
    assert_eq!((newest, &page["next"]), (vec![events - 1, events], &json!(events - 1)));
    rig.message(session, turn, &"x".repeat(10 << 20)).await;
    let last = rig.get(format!("/api/v1/sessions/{session}/events?after={events}")).await.ok(200);
    assert_eq!(seqs(&last), [events + 1], "one event always fits");
    let last = rig.get(format!("/api/v1/sessions/{session}/timeline")).await.ok(200);
    assert_eq!(last["items"].as_array().unwrap().len(), 1, "and one item");
}

#[tokio::test]
async fn the_agents_own_frames_come_when_asked_for() {
    let mut rig = Rig::new().await;
    let session = with_a_turn(&mut rig).await;
    let page = rig.get(format!("/api/v1/sessions/{session}/events?raw=true")).await.ok(200);
    let raw: Vec<&Value> =
        page["events"].as_array().unwrap().iter().filter_map(|event| event.get("rawEvent")).collect();
    assert_eq!(raw, [&json!({ "n": 1 }), &json!({ "n": 2 }), &json!("no json")]);

    // A frame with line breaks in it is one line all the same.
    let call = rig.call("GET", format!("/api/v1/sessions/{session}/events?raw=true"));
    let lines = call.header("accept", "application/x-ndjson").send().await;
    let all: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json!(all), page["events"]);
    let mut stream = live(&rig, &format!("/api/v1/sessions/{session}/events?raw=true"), None).await;
    for event in page["events"].as_array().unwrap() {
        assert_eq!(&stream.event().await.unwrap().1, event);
    }
}

#[tokio::test]
async fn ndjson_is_every_event_up_to_now() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let item = rig.item();
    let delta = |n: usize| Draft::new(Body::MessageDelta).turn(turn).item(item).text(n.to_string());
    rig.say(session, (0..2_000).map(delta).collect()).await;
    rig.hub.settle().await;
    let head = rig.hub.session(session).await.unwrap().head.0;
    let call = rig.call("GET", format!("/api/v1/sessions/{session}/events?after=5"));
    let reply = call.header("accept", "application/x-ndjson").send().await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/x-ndjson")));
    let lines = reply
        .text()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["seq"].as_u64().unwrap());
    assert_eq!(lines.collect::<Vec<_>>(), (6..=head).collect::<Vec<_>>(), "over several pages of the log");
}

#[tokio::test]
async fn a_live_stream_brings_history_then_what_comes_and_is_taken_up_again() {
    let mut rig = Rig::new().await;
    let session = with_a_turn(&mut rig).await;
    let place = format!("/api/v1/sessions/{session}/events");
    let head = rig.hub.session(session).await.unwrap().head.0;
    let mut stream = live(&rig, &place, None).await;
    for seq in 1..=head {
        let (id, event) = stream.event().await.unwrap();
        assert_eq!((id, event["seq"].as_u64()), (seq, Some(seq)));
    }
    rig.call("PATCH", format!("/api/v1/sessions/{session}"))
        .json(&json!({ "title": "new" }))
        .send()
        .await
        .ok(200);
    let (id, event) = stream.event().await.unwrap();
    assert_eq!((id, &event["type"], &event["text"]), (head + 1, &json!("title_changed"), &json!("new")));

    let last = (head - 2).to_string();
    let mut again = live(&rig, &format!("{place}?after=1"), Some(&last)).await;
    assert_eq!(again.event().await.unwrap().0, head - 1, "what the client saw last counts more than `after`");
    let mut anew = live(&rig, &format!("{place}?after={head}"), Some("")).await;
    assert_eq!(anew.event().await.unwrap().0, head + 1);
}

#[tokio::test]
async fn a_live_stream_that_cannot_be_is_refused() {
    let mut rig = Rig::new().await;
    let session = with_a_turn(&mut rig).await;
    let place = format!("/api/v1/sessions/{session}/events");
    let nobody = rig.item();
    let sse = |path: &str| rig.call("GET", path).header("accept", "text/event-stream");
    let ahead = sse(&format!("{place}?after=1000")).send().await;
    assert_eq!(ahead.problem(), (409, "after_ahead".to_owned()));
    assert_eq!(ahead.json()["details"]["head"], json!(rig.hub.session(session).await.unwrap().head));
    for last in ["x", "-1", "1.5", "99999999999999999999"] {
        let reply = sse(&place).header("last-event-id", last).send().await;
        assert_eq!(reply.problem(), (400, "invalid_request".to_owned()), "{last}");
    }
    let reply = sse(&format!("/api/v1/sessions/{nobody}/events")).send().await;
    assert_eq!(reply.problem(), (404, "unknown_session".to_owned()));
}

#[tokio::test]
async fn whoever_asks_for_what_comes_after_the_end_learns_where_the_end_is() {
    let mut rig = Rig::new().await;
    let session = with_a_turn(&mut rig).await;
    let head = rig.hub.session(session).await.unwrap().head.0;
    let place = |after: u64| format!("/api/v1/sessions/{session}/events?after={after}");
    for accept in ["application/json", "application/x-ndjson", "text/event-stream"] {
        let ahead = rig.call("GET", place(head + 1)).header("accept", accept).send().await;
        assert_eq!(ahead.problem(), (409, "after_ahead".to_owned()), "{accept}");
        assert_eq!(ahead.json()["details"]["head"], head, "{accept}");
    }
    assert_eq!(rig.call("GET", place(head)).send().await.ok(200)["events"], json!([]));
}

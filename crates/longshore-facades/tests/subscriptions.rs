//! Many sessions on one socket: followed, let go, taken up again; watched; imported.

use longshore_model::command::{Command, Prompt};
use longshore_model::event::{Body, Draft};
use longshore_model::id::SessionId;
use serde_json::{Value, json};

use crate::rig::Rig;

#[tokio::test]
async fn many_sessions_come_over_one_socket() {
    let mut rig = Rig::new().await;
    let mut socket = rig.socket().await;
    let mut sessions = Vec::new();
    for _ in 0..50 {
        sessions.push(rig.ready().await);
    }
    for session in &sessions {
        socket.subscribe(*session, 0).await;
    }
    for (n, session) in sessions.iter().enumerate() {
        let notice = Body::Notice { level: longshore_model::event::NoticeLevel::Info };
        rig.say(*session, vec![Draft::new(notice).text(format!("I am {n}"))]).await;
    }
    for (n, session) in sessions.iter().enumerate() {
        let said = format!("I am {n}");
        socket.until(*session, |timeline| timeline.items.iter().any(|item| item.text == said)).await;
    }
}

#[tokio::test]
async fn a_session_is_let_go_and_taken_up_again() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let mut socket = rig.socket().await;
    socket.subscribe(session, 0).await;
    rig.message(session, turn, "one").await;
    socket.until(session, |timeline| timeline.items.iter().any(|item| item.text == "one")).await;
    let of = json!({ "session": session });
    let let_go = socket.call("unsubscribe", of.clone()).await;
    assert_eq!(let_go, Ok(json!({ "session": session, "subscribed": true })));
    assert_eq!(socket.call("unsubscribe", of).await, Ok(json!({ "session": session, "subscribed": false })));
    let cursor = socket.cursor(session);

    rig.message(session, turn, "two").await;
    let read = socket.call("session", json!({ "session": session })).await.unwrap();
    assert_eq!(read["preview"], "two");
    assert_eq!(socket.cursor(session), cursor, "nothing came meanwhile");
    socket.subscribe(session, cursor).await;
    socket.until(session, |timeline| timeline.items.iter().any(|item| item.text == "two")).await;

    // Once more while it is followed: from where the client says, and once.
    socket.subscribe(session, 3).await;
    rig.message(session, turn, "three").await;
    socket.until(session, |timeline| timeline.items.iter().any(|item| item.text == "three")).await;
    assert_eq!(socket.cursor(session), rig.hub.session(session).await.unwrap().head.0);
}

#[tokio::test]
async fn the_agents_own_frames_come_over_the_socket_when_asked_for() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let after = rig.hub.session(session).await.unwrap().head;
    let mut socket = rig.socket().await;
    socket.subscribe(session, after.0).await;
    socket.call("subscribe", json!({ "session": session, "after": after, "raw": true })).await.unwrap();
    let item = rig.item();
    let said = Draft::new(Body::MessageDone { phase: None, partial: false }).turn(turn).item(item).text("x");
    rig.say(session, vec![said.raw(Some("{\"from\":\"the agent\"}".into()))]).await;
    let frame = loop {
        let frame = socket.read().await.unwrap();
        if frame["method"] == "event" {
            break frame;
        }
    };
    assert_eq!(frame["params"]["rawEvent"], json!({ "from": "the agent" }));
}

#[tokio::test]
async fn what_cannot_be_followed_is_refused() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let nobody = SessionId::mint(&mut rig.context());
    let mut socket = rig.socket().await;
    assert_eq!(socket.refused("subscribe", json!({ "session": nobody })).await, "unknown_session");
    let ahead = socket.call("subscribe", json!({ "session": session, "after": 1_000 })).await.unwrap_err();
    assert_eq!((&ahead["code"], &ahead["details"]["head"]), (&json!("after_ahead"), &json!(2)));
    let far = json!({ "session": session, "after": u64::MAX });
    assert_eq!(socket.refused("subscribe", far).await, "after_ahead");
    assert_eq!(
        socket.refused("subscribe", json!({ "session": session, "after": -1 })).await,
        "invalid_request"
    );
}

#[tokio::test]
async fn more_subscriptions_than_fit_are_refused() {
    let mut rig = Rig::new().await;
    let mut socket = rig.socket().await;
    let mut last = None;
    for n in 0..=1_000 {
        let (session, _) = rig.open().await;
        match socket.call("subscribe", json!({ "session": session, "after": 1 })).await {
            Ok(_) => assert!(n < 1_000, "the one too many was taken"),
            Err(problem) => {
                assert_eq!((n, &problem["code"]), (1_000, &json!("too_many_subscriptions")), "{problem}");
                let again = last.expect("a session that is followed");
                socket.call("subscribe", json!({ "session": again, "after": 1 })).await.unwrap();
                socket.call("unsubscribe", json!({ "session": again })).await.unwrap();
                socket.call("subscribe", json!({ "session": session, "after": 1 })).await.unwrap();
            }
        }
        last = Some(session);
    }
}

#[tokio::test]
async fn a_watcher_sees_rows_change_until_it_looks_away() {
    let mut rig = Rig::new().await;
    let mut socket = rig.socket().await;
    assert_eq!(socket.call("watch", json!({})).await, Ok(json!({ "watching": true })));
    let (session, _) = rig.open().await;
    let row = socket.news("session").await;
    assert_eq!((&row["sessionId"], &row["activity"]), (&json!(session), &json!("starting")));
    rig.is_ready(session).await;
    assert_eq!(socket.news("session").await["activity"], "idle");
    assert_eq!(socket.call("unwatch", json!({})).await, Ok(json!({ "watching": false })));
    let renamed = json!({ "session": session, "title": "unseen" });
    socket.call("update", renamed).await.unwrap();
    assert_eq!(socket.call("watch", json!({})).await, Ok(json!({ "watching": true })));
    socket.call("update", json!({ "session": session, "title": "seen" })).await.unwrap();
    assert_eq!(socket.news("session").await["title"], "seen");
}

/// More rows change between two of the socket's steps than it is told of one by one.
#[tokio::test]
async fn a_watcher_that_missed_rows_is_told_to_list_anew() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut socket = rig.narrow_socket().await;
    socket.call("watch", json!({})).await.unwrap();
    // So many and so large that the socket has to wait for its reader, who does not read.
    let prompt = |_| Command::Prompt(Prompt { text: "x".repeat(500), ..Prompt::default() });
    let rename = |n: usize| Command::Rename(format!("{n}"));
    for command in (0..60).map(prompt).chain((0..800).map(rename)) {
        rig.hub.command(session, command, "owner".to_owned()).await.unwrap();
    }
    assert_eq!(socket.news("relist").await, json!({}));
    assert!(socket.news("session").await["title"].is_string(), "and then it goes on");
}

#[tokio::test]
async fn what_was_said_is_imported_as_it_was() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    rig.message(session, turn, "to be kept").await;
    rig.finish(session, turn).await;
    let call = rig.call("GET", format!("/api/v1/sessions/{session}/events?raw=true"));
    let export = call.header("accept", "application/x-ndjson").send().await;
    let events: Vec<Value> = export.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();

    let other = Rig::new().await;
    let mut socket = other.socket().await;
    let mut mixed = events.clone();
    mixed.swap(2, 3);
    for bad in [json!([]), json!([{}]), json!([7]), json!(&events[1..]), json!(mixed)] {
        assert_eq!(socket.refused("import", json!({ "events": bad })).await, "invalid_request", "{bad}");
    }
    let (first, rest) = events.split_at(2);
    let folder = socket.call("import", json!({ "events": first })).await.unwrap_err();
    assert!(folder["title"].as_str().unwrap().contains("`/w`"), "nobody has been there: {folder}");
    assert_eq!(socket.refused("import", json!({ "events": first, "cwd": "w" })).await, "invalid_request");
    socket.call("import", json!({ "events": first, "cwd": "/mine" })).await.unwrap();
    let imported = socket.call("import", json!({ "events": rest, "done": true })).await.unwrap();
    assert_eq!((&imported["sessionId"], &imported["cwd"]), (&json!(session), &json!("/mine")));
    let again = other.call("GET", format!("/api/v1/sessions/{session}/events?raw=true"));
    let again = again.header("accept", "application/x-ndjson").send().await;
    let again: Vec<Value> = again.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |events: &[Value]| {
        let is_said =
            |event: &&Value| matches!(event["type"].as_str(), Some("message_done" | "turn_finished"));
        let told =
            |event: &Value| ["timestamp", "turn", "item", "text", "payload"].map(|name| event[name].clone());
        events.iter().filter(is_said).map(told).collect::<Vec<_>>()
    };
    assert_eq!((said(&again), said(&events).len()), (said(&events), 2));
    assert_eq!(socket.refused("import", json!({ "events": events })).await, "session_exists");

    let third = Rig::new().await;
    let import = || third.call("POST", "/api/v1/import");
    assert_eq!(import().json(&json!({ "events": [{}] })).send().await.problem().1, "invalid_request");
    let whole = json!({ "events": events, "cwd": "/mine", "done": true });
    assert_eq!(import().json(&whole).send().await.ok(200)["sessionId"], json!(session));
    let theirs = third.call("GET", format!("/api/v1/sessions/{session}/events?raw=true"));
    let theirs = theirs.header("accept", "application/x-ndjson").send().await;
    let theirs: Vec<Value> = theirs.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said(&theirs), said(&events), "over HTTP as over the socket");
    assert_eq!(import().json(&whole).send().await.problem(), (409, "session_exists".to_owned()));
}

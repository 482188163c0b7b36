//! A thread over HTTP: its events, search, export, import, archive.

use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::id::SessionId;
use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
use serde_json::{Value, json};

use super::pocket::Pocket;
use super::screen::Screen;
use crate::rig::Rig;

impl Rig {
    /// A session with a turn that is over: a command, a decision, an answer.
    async fn talked(&mut self) -> SessionId {
        let (session, turn) = self.working().await;
        let approval = self.approval(session, turn).await;
        let decide = json!({ "decision": "allow_once" });
        self.call("POST", format!("/api/v1/approvals/{approval}")).json(&decide).send().await.ok(200);
        assert!(matches!(self.command().await, AgentCommand::Decide { .. }));
        let item = self.item();
        let call = ToolCall {
            name: "bash".to_owned(),
            kind: ToolKind::Execute,
            command: Some("make all".to_owned()),
            ..ToolCall::unknown()
        };
        let outcome = ToolOutcome { exit_code: Some(0), ..ToolOutcome::of(ToolStatus::Completed) };
        let drafts = vec![
            Draft::new(Body::ToolStarted(call)).turn(turn).item(item),
            Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item).text("cc boat.c\n"),
        ];
        self.say(session, drafts).await;
        self.message(session, turn, "The boat is built.").await;
        self.finish(session, turn).await;
        session
    }
}

fn lines(text: &str) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_review_finds_the_prompt_the_decision_and_the_end_of_each_turn() {
    let mut rig = Rig::new().await;
    let session = rig.talked().await;
    let reply = rig.get(format!("/threads/{session}/events")).await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/x-ndjson")));
    let events = lines(reply.text());
    assert!(events.iter().all(|event| event["ts"].is_string() && event["message"].is_object()));
    let told: Vec<String> = events
        .iter()
        .map(|event| {
            let message = &event["message"];
            let what = message["method"]
                .as_str()
                .unwrap_or_else(|| message["result"]["decision"].as_str().unwrap_or("thread"));
            format!("{} {what}", event["direction"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        told,
        [
            "client turn/start",
            "server turn/started",
            "server item/started",
            "server item/commandExecution/requestApproval",
            "client accept",
            "server item/completed",
            "server item/completed",
            "server turn/completed",
            "server thread",
        ]
    );
    assert_eq!(events[0]["message"]["params"]["input"][0]["text"], "go");
    assert_eq!(events[3]["message"]["id"], events[4]["message"]["id"], "the decision belongs to its request");

    // A thread is rebuilt from the newest event that has something to show.
    let newest = lines(rig.get(format!("/threads/{session}/events?order=desc&limit=30")).await.text());
    let turns = &newest[0]["message"]["result"]["thread"]["turns"];
    let mut screen = Screen::new(session);
    screen.load(turns);
    screen.check(&rig.hub.timeline(session).await.unwrap(), false);
    let two = lines(rig.get(format!("/threads/{session}/events?order=asc&limit=2")).await.text());
    assert_eq!(two, events[..2]);
    let empty = rig.ready().await;
    assert_eq!(rig.get(format!("/threads/{empty}/events")).await.text(), "", "no event, no line");
    let nobody = rig.get("/threads/0190b5c2-0000-7000-8000-000000000000/events").await;
    assert_eq!((nobody.status, nobody.json()["error"].is_string()), (404, true));
}

#[tokio::test]
async fn a_search_finds_messages_by_the_ids_that_the_ui_has() {
    let mut rig = Rig::new().await;
    let session = rig.talked().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    for (words, text) in
        [("BOAT is", "The boat is built."), ("make+all", "$ make all\ncc boat.c\n"), ("go", "go")]
    {
        let found =
            rig.get(format!("/api/threads/{session}/search?q={}", words.replace(' ', "%20"))).await.ok(200);
        assert_eq!(found["count"], found["results"].as_array().unwrap().len(), "{found}");
        let ids: Vec<&str> =
            found["results"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
        assert!(
            ids.iter().any(|id| pocket.screen(session).card(id).is_some_and(|card| card.text == text)),
            "{words}: {found}"
        );
    }
    let none = rig.get(format!("/api/threads/{session}/search?q=submarine")).await.ok(200);
    assert_eq!((&none["results"], &none["count"]), (&json!([]), &json!(0)));
    let empty = rig.get(format!("/api/threads/{session}/search?q=")).await;
    assert_eq!((empty.status, empty.json()["error"].is_string()), (400, true));
}

#[tokio::test]
async fn an_export_comes_back_as_a_thread_that_the_ui_can_open() {
    let mut rig = Rig::new().await;
    let session = rig.talked().await;
    let reply = rig.get(format!("/api/threads/{session}/export?format=json")).await;
    let disposition = reply.header("content-disposition").unwrap().to_owned();
    assert_eq!(disposition, format!("attachment; filename=\"thread-{session}.json\""));
    let exported = reply.ok(200);
    assert_eq!((&exported["threadId"], &exported["version"]), (&json!(session), &json!("1.0")));
    let row = &exported["events"][0];
    for field in ["id", "thread_id", "turn_id", "direction", "role", "method", "payload", "created_at"] {
        assert!(!row[field].is_null(), "{field}: {row}");
    }
    let text = rig.get(format!("/api/threads/{session}/export?format=markdown")).await;
    assert_eq!(text.header("content-type"), Some("text/markdown; charset=utf-8"));
    assert!(text.text().contains("## Assistant\n\nThe boat is built.\n"), "{}", text.text());
    assert_eq!(rig.get(format!("/api/threads/{session}/export?format=pdf")).await.status, 400);

    let body = json!({ "events": exported["events"] });
    let imported = rig.call("POST", "/api/threads/import").json(&body).send().await.ok(200);
    assert_eq!((&imported["success"], &imported["originalEventCount"]), (&json!(true), &json!(8)));
    let copy: SessionId = imported["threadId"].as_str().unwrap().parse().unwrap();
    assert_ne!(copy, session);
    let page = rig.bare("GET", format!("/threads/{copy}")).send().await;
    assert_eq!((page.status, page.header("location")), (307, Some(format!("/thread/{copy}").as_str())));
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(copy).await;
    let shown: Vec<&str> = pocket.screen(copy).cards.iter().map(|card| card.text.as_str()).collect();
    assert!(
        shown.contains(&"go")
            && shown.contains(&"$ make all\ncc boat.c\n")
            && shown.contains(&"The boat is built."),
        "{shown:?}"
    );
    assert_eq!(shown.iter().filter(|text| **text == "go").count(), 1);
    for events in [
        json!({}),
        json!({ "events": "x" }),
        json!({ "events": [] }),
        json!({ "events": [{ "payload": "{" }, 7, null] }),
    ] {
        let refused = rig.call("POST", "/api/threads/import").json(&events).send().await;
        assert!(refused.status == 400 && refused.json()["error"].is_string(), "{events}: {}", refused.text());
    }
}

#[tokio::test]
async fn an_archived_thread_is_in_the_list_and_says_so() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut pocket = Pocket::connect(&rig).await;
    for _ in 0..2 {
        assert_eq!(
            pocket.reliably("a", "thread/archive", json!({ "threadId": session })).await,
            Ok(json!({}))
        );
    }
    assert!(matches!(rig.command().await, AgentCommand::Archive(true)));
    let row = |list: Value| list["data"][0]["archived"].clone();
    assert_eq!(
        row(pocket.call("thread/list", json!({ "cursor": null, "limit": 50 })).await.unwrap()),
        json!(true)
    );
    let back =
        rig.call("PATCH", format!("/api/threads/{session}/archive")).json(&json!({ "archived": false }));
    assert_eq!(back.send().await.ok(200), json!({ "success": true, "threadId": session, "archived": false }));
    assert_eq!(row(pocket.call("thread/list", json!({})).await.unwrap()), json!(false));
}

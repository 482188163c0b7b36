//! The script of the UI, message by message: greeting, lists, threads, turns, cards.

use longshore_model::approval::Decision;
use longshore_model::command::{AgentCommand, AttachmentSource};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::item::{FileChange, FileChangeKind, FileDiff, PlanStatus, PlanStep, ToolStatus};
use serde_json::{Value, json};

use super::pocket::Pocket;
use crate::rig::{Rig, TOKEN};

fn input(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

async fn prompted(rig: &mut Rig) -> (String, TurnId) {
    match rig.command().await {
        AgentCommand::Prompt { text, turn, .. } => (text, turn),
        other => panic!("instead of a prompt: {other:?}"),
    }
}

impl Rig {
    async fn delta(
        &mut self,
        session: SessionId,
        turn: TurnId,
        item: longshore_model::id::ItemId,
        text: &str,
    ) {
        self.say(session, vec![Draft::new(Body::MessageDelta).turn(turn).item(item).text(text)]).await;
        self.hub.settle().await;
    }
}

#[tokio::test]
async fn the_first_words_are_those_that_the_ui_waits_for() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut pocket = Pocket::connect(&rig).await;
    let hello = pocket.read().await;
    assert_eq!((&hello["type"], &hello["role"]), (&json!("orbit.hello"), &json!("client")));
    assert!(hello["ts"].as_str().unwrap().ends_with('Z'));
    assert_eq!(pocket.read().await, json!({ "type": "orbit.anchor-auth", "status": "ok" }));

    pocket.say(json!({ "type": "ping" })).await;
    assert_eq!(pocket.text().await.unwrap(), r#"{"type":"pong"}"#, "byte for byte");
    pocket.say(json!({ "type": "orbit.list-anchors" })).await;
    let anchors = pocket.read().await;
    assert_eq!(
        (&anchors["type"], &anchors["anchors"][0]["hostname"]),
        (&json!("orbit.anchors"), &json!("here"))
    );
    for field in ["id", "platform", "connectedAt"] {
        assert!(anchors["anchors"][0][field].is_string(), "{anchors}");
    }

    let models = pocket.call("model/list", json!({})).await.unwrap();
    assert_eq!(
        (&models["data"][0]["id"], &models["data"][0]["displayName"]),
        (&json!("large"), &json!("Large"))
    );
    let modes = pocket.call("collaborationMode/list", json!({})).await.unwrap();
    let names: Vec<&str> =
        modes["data"].as_array().unwrap().iter().map(|mode| mode["mode"].as_str().unwrap()).collect();
    assert_eq!(names, ["plan", "code"]);
    let dirs = pocket.call("anchor.listDirs", json!({ "path": "" })).await.unwrap();
    assert_eq!(dirs, json!({ "dirs": ["boat"], "parent": "/home/dev", "current": "/home/dev" }));

    let listed = pocket.call("thread/list", json!({ "cursor": null, "limit": 50 })).await.unwrap();
    let row = &listed["data"][0];
    assert_eq!((&row["id"], &row["provider"], &row["cwd"]), (&json!(session), &json!("codex"), &json!("/w")));
    assert!(row["createdAt"].as_i64().unwrap() < 100_000_000_000, "seconds: {row}");
    assert!(row["status"].is_string(), "an object would be dropped: {row}");
    assert!(row.get("turns").is_none(), "an empty list would leave the thread blank");
}

#[tokio::test]
async fn a_list_is_followed_by_a_read_of_each_row_and_an_outbox_comes_at_once() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut pocket = Pocket::connect(&rig).await;
    let mut ids = Vec::new();
    for round in 0..200 {
        let params = json!({ "threadId": session, "includeTurns": false, "include_turns": false });
        ids.push((round, pocket.send("thread/read", params).await));
    }
    for (round, id) in ids {
        let read = pocket.response(id).await.unwrap_or_else(|error| panic!("{round}: {error}"));
        assert_eq!(read["thread"]["id"], json!(session));
    }
}

#[tokio::test]
async fn a_thread_is_started_prompted_streamed_and_ended() {
    let mut rig = Rig::new().await;
    let mut pocket = Pocket::connect(&rig).await;
    let start = json!({ "cwd": "/w/boat", "approvalPolicy": "on-request", "sandbox": "read-only" });
    let started = pocket.reliably("one", "thread/start", start.clone()).await.unwrap();
    let thread: SessionId = started["thread"]["id"].as_str().unwrap().parse().unwrap();
    assert_eq!((&started["sandbox"], &started["thread"]["cwd"]), (&json!("read-only"), &json!("/w/boat")));
    let again = pocket.reliably("one", "thread/start", start).await.unwrap();
    assert_eq!(again["thread"]["id"], json!(thread), "the same request again is the same thread");
    rig.launched().await;
    rig.is_ready(thread).await;

    pocket.open(thread).await;
    let turn = json!({ "threadId": thread, "input": input("Hello") });
    let first = pocket.reliably("two", "turn/start", turn.clone()).await.unwrap();
    let again = pocket.reliably("two", "turn/start", turn).await.unwrap();
    assert_eq!(first["turn"]["id"], again["turn"]["id"], "the second sender gets the first one's result");
    let (text, turn) = prompted(&mut rig).await;
    assert_eq!((text.as_str(), first["turn"]["id"].clone()), ("Hello", json!(turn)));
    pocket.see(thread, "the Stop button", |screen| screen.works).await;
    pocket
        .see(thread, "the prompt", |screen| {
            screen.cards.iter().any(|card| card.kind == "user" && card.text == "Hello")
        })
        .await;
    assert_eq!(pocket.screen(thread).turn, Some(turn.to_string()));

    let item = rig.item();
    for text in ["Good ", "morn", "ing."] {
        rig.delta(thread, turn, item, text).await;
    }
    pocket
        .see(thread, "the stream", |screen| {
            screen.card(item).is_some_and(|card| card.text == "Good morning.")
        })
        .await;
    let done = Body::MessageDone { phase: None, partial: false };
    rig.say(thread, vec![Draft::new(done).turn(turn).item(item).text("Good morning!")]).await;
    let step = |text: &str, status| PlanStep { text: text.to_owned(), status };
    let steps = vec![
        step("Look", PlanStatus::Completed),
        step("Leap", PlanStatus::InProgress),
        step("Land", PlanStatus::Pending),
    ];
    rig.say(thread, vec![Draft::new(Body::PlanUpdated { steps }).turn(turn).text("")]).await;
    let change = FileChange {
        path: "/w/boat/a.rs".to_owned(),
        kind: FileChangeKind::Update,
        moved_to: None,
        diff: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
    };
    let files = rig.item();
    let diff = Body::FileDiff(FileDiff { status: ToolStatus::Completed, changes: vec![change] });
    rig.say(thread, vec![Draft::new(diff).turn(turn).item(files)]).await;
    rig.finish(thread, turn).await;
    pocket.see(thread, "the end", |screen| !screen.works).await;
    let screen = pocket.screen(thread);
    let marks: Vec<&str> = screen.plan.iter().map(|(_, status)| status.as_str()).collect();
    assert_eq!(marks, ["Completed", "InProgress", "Pending"]);
    assert!(screen.diff.starts_with("diff --git a/a.rs b/a.rs\n"), "for an agent that has no diff of turns");
    screen.check(&rig.hub.timeline(thread).await.unwrap(), false);
    assert_eq!(screen.cards.iter().filter(|card| card.kind == "user").count(), 1);
}

#[tokio::test]
async fn several_cards_wait_at_once_and_each_is_decided_by_itself() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    let (one, two) = (rig.approval(session, turn).await, rig.approval(session, turn).await);
    pocket.see(session, "two cards", |screen| screen.asked.len() == 2).await;
    let card = pocket.screen(session).card(format!("approval-{one}")).unwrap().clone();
    assert_eq!(
        card.text, "The agent wants to run: make\nto build it",
        "the card shows nothing but the reason"
    );

    let rpc = |approval| format!("approval-{approval}");
    pocket.say(json!({ "id": rpc(two), "result": { "decision": "decline" }, "clientRequestId": "x" })).await;
    let AgentCommand::Decide { approval, decision } = rig.command().await else { panic!("no decision") };
    assert_eq!((approval, decision.decision, decision.by.as_str()), (two, Decision::Deny, "owner"));
    let accept =
        json!({ "decision": "acceptForSession", "collaborationMode": { "mode": "code", "settings": {} } });
    pocket.say(json!({ "id": rpc(one), "result": accept })).await;
    let AgentCommand::Decide { approval, decision } = rig.command().await else { panic!("no decision") };
    assert_eq!(
        (approval, decision.decision),
        (one, Decision::AllowOnce),
        "the nearest that the agent can do"
    );

    pocket.settle().await;
    rig.finish(session, turn).await;
    pocket.see(session, "the end", |screen| !screen.works).await;
    let screen = pocket.screen(session);
    assert_eq!(
        screen.card(format!("approval-{one}")).unwrap().kind,
        "approval",
        "its own card stays as the UI made it"
    );
    pocket.say(json!({ "id": rpc(one), "result": { "decision": "decline" } })).await;
    pocket
        .see(session, "the first answer", |screen| {
            screen.card(format!("approval-{one}")).unwrap().text.starts_with("$ Approved by owner")
        })
        .await;
    assert!(rig.left().is_empty(), "the agent hears one answer");
}

#[tokio::test]
async fn a_card_that_was_decided_elsewhere_is_closed_and_says_by_whom() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let (token, _) = rig.device("approve").await;
    let (mut one, mut two) = (Pocket::connect(&rig).await, Pocket::with(rig.at, &token).await.unwrap());
    one.open(session).await;
    two.open(session).await;
    let approval = rig.approval(session, turn).await;
    let request = two.asked().await;
    assert_eq!(request["method"], "item/commandExecution/requestApproval");
    one.asked().await;
    two.say(json!({ "id": request["id"], "result": { "decision": "accept" } })).await;
    let card = format!("approval-{approval}");
    one.see(session, "the closed card", |screen| screen.asked.is_empty()).await;
    let closed = one.screen(session).card(&card).unwrap();
    assert_eq!((closed.kind.as_str(), closed.text.as_str()), ("command", "$ Approved by my approve phone\n"));
    let item = one.heard.iter().rev().find(|frame| frame["params"]["item"]["id"] == card.as_str()).unwrap();
    assert_eq!((&item["method"], &item["params"]["item"]["exitCode"]), (&json!("item/completed"), &json!(0)));

    // Also for whoever reads the thread while the turn goes on.
    one.reload(session).await;
    assert_eq!(one.screen(session).card(&card).unwrap().kind, "command");
    let expired = rig.approval(session, turn).await;
    one.see(session, "another card", |screen| screen.asked.len() == 1).await;
    rig.finish(session, turn).await;
    one.see(session, "no card", |screen| screen.asked.is_empty() && !screen.works).await;
    let closed = one.screen(session).card(format!("approval-{expired}")).unwrap();
    assert!(closed.text.starts_with("$ No longer asked: "), "{closed:?}");
}

#[tokio::test]
async fn of_two_clients_at_the_same_moment_one_wins_and_both_see_the_same() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let (token, _) = rig.device("full").await;
    let (mut one, mut two) = (Pocket::connect(&rig).await, Pocket::with(rig.at, &token).await.unwrap());
    one.open(session).await;
    two.open(session).await;
    for _ in 0..10 {
        let approval = rig.approval(session, turn).await;
        let (mine, theirs) = (one.asked().await, two.asked().await);
        assert_eq!(mine["id"], theirs["id"]);
        let accept = one.say(json!({ "id": mine["id"], "result": { "decision": "accept" } }));
        let decline = two.say(json!({ "id": mine["id"], "result": { "decision": "decline" } }));
        tokio::join!(accept, decline);
        let AgentCommand::Decide { decision, .. } = rig.command().await else { panic!("no decision") };
        let card = format!("approval-{approval}");
        let lost = if decision.by == "owner" { &mut two } else { &mut one };
        lost.see(session, "who was first", |screen| !screen.asked.contains_key(&card)).await;
        let verb = if decision.decision == Decision::AllowOnce { "Approved" } else { "Denied" };
        let expected = format!("$ {verb} by {}\n", decision.by);
        assert_eq!(lost.screen(session).card(&card).unwrap().text, expected);
        assert!(rig.left().is_empty(), "the agent hears one answer");
    }
}

#[tokio::test]
async fn a_question_is_answered_in_texts_and_closed_for_the_others() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let (mut one, mut two) = (Pocket::connect(&rig).await, Pocket::connect(&rig).await);
    one.open(session).await;
    two.open(session).await;
    let fields = json!([
        { "id": "db", "label": "Database", "text": "Which one?", "kind": "one", "open": true,
          "choices": [{ "label": "SQLite", "description": "small" }, { "label": "Postgres" }] },
        { "id": "port", "label": "Port", "text": "Which port?", "kind": "integer" },
        { "id": "really", "label": "Sure", "text": "Really?", "kind": "boolean" },
        { "id": "more", "label": "More", "text": "Anything else?", "kind": "text", "optional": true },
    ]);
    let question = rig.question(session, turn, fields).await;
    let request = one.asked().await;
    assert_eq!(request["method"], "item/tool/requestUserInput");
    let asked = &request["params"]["questions"];
    assert_eq!(
        asked[0]["options"],
        json!([
            { "label": "SQLite", "description": "small" }, { "label": "Postgres", "description": "" },
        ])
    );
    assert_eq!(
        (&asked[0]["isOther"], &asked[0]["header"], &asked[2]["options"][0]["label"]),
        (&json!(true), &json!("Database"), &json!("Yes"))
    );
    let answer = |port: &str| {
        json!({
            "db": { "answers": ["SQLite"] }, "port": { "answers": [port] }, "really": { "answers": ["Yes"] },
            "more": { "answers": [""] },
        })
    };
    one.say(json!({ "id": request["id"], "result": { "answers": answer("many") } })).await;
    let refused = one.until("why not", |frame| frame["type"] == "orbit.error").await;
    assert_eq!(refused["rpcId"], request["id"]);
    assert!(refused["error"].as_str().unwrap().contains("`port`"), "{refused}");

    one.say(json!({ "id": request["id"], "result": { "answers": answer("8080") } })).await;
    let AgentCommand::Answer { answer, .. } = rig.command().await else { panic!("no answer") };
    assert_eq!(json!(answer.answers), json!({ "db": "SQLite", "port": 8080, "really": true }));
    let card = format!("user-input-{question}");
    let closed =
        |screen: &super::screen::Screen| screen.card(&card).is_some_and(|card| card.kind == "command");
    two.see(session, "the closed card", closed).await;
    let closed = two.screen(session).card(&card).unwrap();
    assert_eq!(closed.text, "$ Answered by owner\n");
}

#[tokio::test]
async fn a_turn_is_stopped_once_and_a_late_stop_stops_nothing_else() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    let stop = json!({ "threadId": session, "turnId": turn });
    assert_eq!(pocket.reliably("a", "turn/interrupt", stop.clone()).await, Ok(json!({})));
    assert!(matches!(rig.command().await, AgentCommand::Interrupt { turn: stopped } if stopped == turn));
    let end = longshore_model::lifecycle::TurnEnd::of(longshore_model::lifecycle::TurnOutcome::Interrupted);
    rig.say(session, vec![Draft::new(Body::TurnFinished(end)).turn(turn)]).await;
    let ended = pocket.notified("turn/completed").await;
    assert_eq!((&ended["turn"]["id"], &ended["turn"]["status"]), (&json!(turn), &json!("interrupted")));
    let next =
        pocket.call("turn/start", json!({ "threadId": session, "input": input("again") })).await.unwrap();
    prompted(&mut rig).await;
    assert_eq!(pocket.reliably("a", "turn/interrupt", stop).await, Ok(json!({})));
    assert!(rig.left().is_empty(), "the turn that it meant is over");
    assert_ne!(next["turn"]["id"], json!(turn));
}

#[tokio::test]
async fn whoever_comes_back_in_mid_turn_sees_the_text_so_far_and_the_rest_once() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    let item = rig.item();
    rig.delta(session, turn, item, "one ").await;
    pocket.see(session, "a piece", |screen| screen.card(item).is_some()).await;
    for round in 0..3 {
        // The connection is lost; pieces come meanwhile, and after it.
        rig.delta(session, turn, item, "two ").await;
        pocket.back(rig.at, TOKEN).await;
        pocket
            .see(session, "the text so far", |screen| {
                screen.card(item).unwrap().text.ends_with(&"two ".repeat(round + 1))
            })
            .await;
    }
    let approval = rig.approval(session, turn).await;
    pocket.back(rig.at, TOKEN).await;
    pocket
        .see(session, "the card", |screen| screen.asked.contains_key(&format!("approval-{approval}")))
        .await;
    pocket.reload(session).await;
    rig.delta(session, turn, item, "three").await;
    pocket
        .see(session, "the rest", |screen| screen.card(item).unwrap().text == "one two two two three")
        .await;
    assert!(pocket.screen(session).works, "with its Stop button");

    rig.message(session, turn, "Another.").await;
    rig.finish(session, turn).await;
    pocket.back(rig.at, TOKEN).await;
    pocket
        .see(session, "the end", |screen| {
            !screen.works && screen.cards.iter().any(|card| card.text == "Another.")
        })
        .await;
    pocket.settle().await;
    pocket.screen(session).check(&rig.hub.timeline(session).await.unwrap(), false);
}

#[tokio::test]
async fn only_who_asked_is_answered() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let (mut one, mut two) = (Pocket::connect(&rig).await, Pocket::connect(&rig).await);
    one.open(session).await;
    two.open(session).await;
    let before = two.heard.len();
    one.say(json!({ "id": 4711, "method": "thread/read", "params": { "threadId": session } })).await;
    one.response(4711).await.unwrap();
    two.settle().await;
    assert!(two.heard[before..].iter().all(|frame| frame["id"] != 4711), "ids of two tabs are the same");
}

#[tokio::test]
async fn a_prompt_changes_the_mode_and_the_model_only_where_it_says_something_of_the_session() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    let turn = |more: Value| {
        let mut turn = json!({ "threadId": session, "input": input("go") });
        turn.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        turn
    };
    // What the client sends though nobody chose it.
    let usual = turn(
        json!({ "model": "of-another-agent", "effort": "medium", "sandboxPolicy": { "type": "workspaceWrite" } }),
    );
    pocket.call("turn/start", usual).await.unwrap();
    let (_, first) = prompted(&mut rig).await;
    rig.finish(session, first).await;
    let plan = json!({ "mode": "plan", "settings": { "model": "large" } });
    pocket.call("turn/start", turn(json!({ "collaborationMode": plan }))).await.unwrap();
    assert!(matches!(rig.command().await, AgentCommand::SetMode(longshore_model::capability::Mode::Plan)));
    let (_, second) = prompted(&mut rig).await;
    rig.finish(session, second).await;
    let code = json!({ "mode": "code", "settings": {} });
    pocket.call("turn/start", turn(json!({ "collaborationMode": code }))).await.unwrap();
    assert!(matches!(rig.command().await, AgentCommand::SetMode(longshore_model::capability::Mode::Ask)));
    prompted(&mut rig).await;
}

#[tokio::test]
async fn a_picture_goes_along_and_what_is_none_is_refused() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut pocket = Pocket::connect(&rig).await;
    let image = |url: &str| json!({ "type": "image", "url": url, "mime": "image/png", "filename": "a.png" });
    let with =
        |image: Value| json!({ "threadId": session, "input": [{ "type": "text", "text": "look" }, image] });
    assert_eq!(pocket.refused("turn/start", with(image("/etc/passwd"))).await, -32602);
    assert!(rig.left().is_empty());
    pocket.call("turn/start", with(image("data:image/png;base64,aGk="))).await.unwrap();
    let AgentCommand::Prompt { attachments, .. } = rig.command().await else { panic!("no prompt") };
    assert_eq!(attachments[0].source, AttachmentSource::Data("aGk=".to_owned()));
    assert_eq!(attachments[0].name.as_deref(), Some("a.png"));
}

#[tokio::test]
async fn a_prompt_of_a_copilot_thread_is_a_prompt() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    let params = json!({ "threadId": session, "message": "hello" });
    let sent = pocket.reliably("k", "sendPrompt", params.clone()).await.unwrap();
    let again = pocket.reliably("k", "sendPrompt", params).await.unwrap();
    assert_eq!(sent, again);
    let (text, turn) = prompted(&mut rig).await;
    assert_eq!((text.as_str(), sent["turn"]["id"].clone()), ("hello", json!(turn)));
    pocket.see(session, "the Stop button", |screen| screen.works).await;
    let approval = rig.approval(session, turn).await;
    pocket.see(session, "a card", |screen| screen.asked.len() == 1).await;
    let decision =
        json!({ "type": "acp:approval_decision", "rpcId": format!("approval-{approval}"), "optionId": null });
    pocket.say(decision).await;
    let AgentCommand::Decide { decision, .. } = rig.command().await else { panic!("no decision") };
    assert_eq!(decision.decision, Decision::Deny);
    assert!(
        matches!(rig.command().await, AgentCommand::Interrupt { .. }),
        "to dismiss it is to stop the turn"
    );
}

#[tokio::test]
async fn a_thread_that_nobody_wants_to_hear_of_is_silent_until_somebody_does() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    pocket.say(json!({ "type": "orbit.unsubscribe", "threadId": session })).await;
    pocket.settle().await;
    // The thread is left after what was sent before it was.
    pocket.call("thread/read", json!({ "threadId": session })).await.unwrap();
    let before = pocket.heard.len();
    rig.message(session, turn, "Does anybody hear me?").await;
    pocket.call("thread/read", json!({ "threadId": session })).await.unwrap();
    assert!(pocket.heard[before..].iter().all(|frame| frame.get("method").is_none()), "{:#?}", pocket.heard);
    for _ in 0..2 {
        pocket.say(json!({ "type": "orbit.subscribe", "threadId": session })).await;
    }
    pocket
        .see(session, "the message", |screen| screen.cards.iter().any(|card| card.text.starts_with("Does")))
        .await;
}

#[tokio::test]
async fn a_thread_that_is_deleted_says_so_and_the_others_go_on() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let other = rig.ready().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    pocket.open(other).await;
    rig.call("DELETE", format!("/api/v1/sessions/{other}/history")).send().await.ok(200);
    let deleted = pocket.until("the end of the thread", |frame| frame["type"] == "orbit.error").await;
    assert_eq!(deleted["error"], "the thread was deleted");
    rig.message(session, turn, "Still here.").await;
    pocket
        .see(session, "the other thread", |screen| screen.cards.iter().any(|card| card.text == "Still here."))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_word_is_lost_or_doubled_though_a_client_reads_and_comes_back_in_the_middle_of_a_flood() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let mut pocket = Pocket::connect(&rig).await;
    pocket.open(session).await;
    let items = [rig.item(), rig.item(), rig.item()];
    let hub = rig.hub.clone();
    let flood = tokio::spawn(async move {
        for item in items {
            for word in 0..400 {
                let delta = Draft::new(Body::MessageDelta).turn(turn).item(item).text(format!("{word} "));
                let said = longshore_model::anchor::FromAnchor::Said { session, drafts: vec![delta] };
                hub.deliver(said).await;
            }
        }
    });
    let mut round = 0;
    while !flood.is_finished() || round < 6 {
        round += 1;
        match round % 3 {
            0 => pocket.back(rig.at, TOKEN).await,
            _ => pocket.reload(session).await,
        }
        pocket.settle().await;
        let texts = pocket
            .screen(session)
            .cards
            .iter()
            .filter(|card| items.iter().any(|item| item.to_string() == card.id));
        for card in texts {
            let words: Vec<usize> = card.text.split_whitespace().map(|word| word.parse().unwrap()).collect();
            assert!(words.iter().copied().eq(0..words.len()), "{:?}", card.text);
        }
    }
    flood.await.unwrap();
    rig.hub.settle().await;
    pocket
        .see(session, "the last word", |screen| {
            screen.card(items[2]).is_some_and(|card| card.text.ends_with("399 "))
        })
        .await;
    pocket.screen(session).check(&rig.hub.timeline(session).await.unwrap(), true);
}

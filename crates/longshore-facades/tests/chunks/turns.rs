//! Turns: sent, streamed, resumed, stopped.

use std::sync::Arc;

use longshore_log::MemoryLog;
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use serde_json::{Value, json};

use super::{NAME, active, create, form, message, messages, objects, pair, path, refused, said, send};
use crate::rig::Rig;

async fn prompted(rig: &mut Rig) -> (TurnId, String) {
    match rig.command().await {
        AgentCommand::Prompt { turn, text, .. } => (turn, text),
        other => panic!("instead of a prompt: {other:?}"),
    }
}

async fn say(rig: &mut Rig, session: SessionId, turn: TurnId, pieces: &[&str]) {
    let item = rig.item();
    let delta = |text: &&str| Draft::new(Body::MessageDelta).turn(turn).item(item).text(*text);
    let done = Draft::new(Body::MessageDone { phase: None, partial: false });
    let mut drafts: Vec<Draft> = pieces.iter().map(delta).collect();
    drafts.push(done.turn(turn).item(item).text(pieces.concat()));
    rig.say(session, drafts).await;
    rig.hub.settle().await;
}

#[tokio::test]
async fn the_front_end_opens_sends_streams_and_reads_the_history() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let nothing = active(&rig, session).await;
    assert_eq!(nothing.status, 404);
    assert_eq!(
        nothing.json(),
        json!({ "detail": { "error": "No active session found", "conversationId": session } })
    );

    let mut stream = send(&rig, session, "fix it", NAME).await;
    let (turn, text) = prompted(&mut rig).await;
    assert_eq!(text, "fix it");
    let first = stream.until("}").await;
    assert_eq!(first, r#"{"message":"","citations":[],"tool_calls":[],"thinking":null}"#, "to the byte");
    assert_eq!(messages(&rig, session).await, [pair("HUMAN", "fix it")], "before the answer ends");
    let running = active(&rig, session).await.ok(200);
    assert_eq!(
        (&running["sessionId"], &running["status"], &running["cursor"]),
        (&json!(NAME), &json!("active"), &json!("0-0"))
    );
    assert!(running["startedAt"].as_i64().unwrap() > 1_700_000_000_000, "{running}");
    let task = rig.get(path(session, "task-status")).await.ok(200);
    assert_eq!(
        (&task["isActive"], &task["sessionId"], &task["estimatedCompletion"]),
        (&json!(true), &json!(NAME), &Value::Null)
    );

    let item = rig.item();
    let call = ToolCall {
        name: "Read".to_owned(),
        kind: ToolKind::Read,
        command: None,
        cwd: None,
        input: json!({ "file_path": "/w/cart.py" }),
    };
    let of = |body| Draft::new(body).turn(turn).item(item);
    rig.say(session, vec![of(Body::ToolStarted(call)), of(Body::ToolOutputDelta).text("a = 1")]).await;
    let so_far = stream.until("stream_part\":\"a = 1\"").await;
    let calls: Vec<Value> =
        objects(&so_far).iter().flat_map(|one| one["tool_calls"].as_array().unwrap().clone()).collect();
    assert_eq!(
        (&calls[0]["event_type"], &calls[0]["tool_name"], &calls[0]["is_complete"]),
        (&json!("call"), &json!("Read"), &json!(true))
    );
    assert_eq!(calls[0]["tool_response"], "Reading: /w/cart.py");
    assert_eq!(calls[0]["tool_call_details"]["arguments"], json!({ "file_path": "/w/cart.py" }));
    assert_eq!((&calls[1]["event_type"], &calls[1]["is_complete"]), (&json!("call"), &json!(false)));
    rig.say(session, vec![of(Body::ToolFinished(ToolOutcome::of(ToolStatus::Completed))).text("a = 1")])
        .await;
    stream.until("\"result\"").await;
    say(&mut rig, session, turn, &["Hel", "lo."]).await;
    assert_eq!(messages(&rig, session).await, [pair("HUMAN", "fix it")], "no part of an answer");
    rig.finish(session, turn).await;
    let whole = stream.whole().await;
    assert_eq!(active(&rig, session).await.status, 404, "over when the body ends");
    assert_eq!(said(whole.text()), "Hello.");
    let last = objects(whole.text()).pop().unwrap();
    assert_eq!(last["citations"], json!(["cart.py"]), "each object has all of them");

    assert_eq!(messages(&rig, session).await, [pair("HUMAN", "fix it"), pair("AI_GENERATED", "Hello.")]);
    let all = rig.get(path(session, "messages/?start=1&limit=1")).await.ok(200);
    let answer = &all[0];
    assert_eq!(
        (&answer["citations"], &answer["tool_calls"][0]["event_type"]),
        (&json!(["cart.py"]), &json!("result"))
    );
    assert_eq!(
        (&answer["status"], &answer["has_attachments"], &answer["conversation_id"]),
        (&json!("ACTIVE"), &json!(false), &json!(session))
    );
    let info = rig.get(path(session, "info/")).await.ok(200);
    assert_eq!(
        (&info["title"], &info["agent_ids"], &info["project_ids"]),
        (&json!("fix it"), &json!(["codex"]), &json!(["/w"]))
    );
    assert_eq!((&info["total_messages"], &info["access_type"]), (&json!(2), &json!("write")));
}

#[tokio::test]
async fn the_same_name_is_the_same_turn_also_after_a_restart_of_the_hub() {
    let log = Arc::new(MemoryLog::default());
    let mut rig = Rig::over(Arc::clone(&log), None).await;
    let session = create(&mut rig).await;
    let mut first = send(&rig, session, "go", NAME).await;
    let (turn, _) = prompted(&mut rig).await;
    say(&mut rig, session, turn, &["one ", "two"]).await;
    first.until("two").await;

    // The connection broke: the client sends the same once more, and gets everything from the start.
    drop(first);
    let mut second = send(&rig, session, "go", NAME).await;
    second.until("two").await;
    let resumed = rig.call("POST", path(session, &format!("resume/{NAME}?cursor=0-0"))).stream().await;
    let other = rig.call("POST", path(session, &format!("resume/turn:{turn}"))).stream().await;
    rig.finish(session, turn).await;
    let (second, resumed, other) = (second.whole().await, resumed.whole().await, other.whole().await);
    for reply in [&second, &resumed, &other] {
        assert_eq!((reply.status, said(reply.text())), (200, "one two".to_owned()));
    }
    assert!(rig.left().is_empty(), "the agent got the prompt once");
    assert_eq!(messages(&rig, session).await, [pair("HUMAN", "go"), pair("AI_GENERATED", "one two")]);

    drop(rig);
    let mut rig = Rig::over(log, None).await;
    let again = send(&rig, session, "go", NAME).await.whole().await;
    assert_eq!(said(again.text()), "one two");
    let resumed = rig.call("POST", path(session, &format!("resume/{NAME}?cursor=0-0"))).send().await;
    assert_eq!(said(resumed.text()), "one two");
    assert!(rig.left().is_empty(), "nor after the restart");
    let unknown = rig.call("POST", path(session, "resume/conversation:x:1?cursor=0-0")).send().await;
    assert_eq!(refused(&unknown), (404, "Session conversation:x:1 not found or expired".to_owned()));
}

#[tokio::test]
async fn stop_ends_the_turn_its_calls_and_the_body_cleanly() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let mut stream = send(&rig, session, "wait", NAME).await;
    let (turn, _) = prompted(&mut rig).await;
    let item = rig.item();
    let call =
        ToolCall { name: "Bash".to_owned(), command: Some("sleep 9".to_owned()), ..ToolCall::unknown() };
    rig.say(session, vec![Draft::new(Body::ToolStarted(call)).turn(turn).item(item)]).await;
    stream.until("sleep 9").await;
    let stopped = rig.call("POST", path(session, "stop")).json(&json!({})).send().await.ok(200);
    assert_eq!(stopped["status"], "success");
    assert!(matches!(rig.command().await, AgentCommand::Interrupt { .. }));
    let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
    rig.say(session, vec![Draft::new(end).turn(turn)]).await;
    let body = stream.whole().await;
    let calls: Vec<Value> =
        objects(body.text()).iter().flat_map(|one| one["tool_calls"].as_array().unwrap().clone()).collect();
    assert_eq!(calls.last().unwrap()["event_type"], "error", "{calls:?}");
    assert!(said(body.text()).contains("The turn was stopped"), "{}", body.text());
    let nothing =
        rig.call("POST", path(session, "stop?session_id=other")).json(&json!({})).send().await.ok(200);
    assert_eq!(nothing["message"], "Nothing was running");
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn a_prompt_that_waits_behind_another_turn_is_streamed_when_its_turn_comes_or_taken_back() {
    let mut rig = Rig::new().await;
    let (session, first) = rig.working().await;
    let stream = send(&rig, session, "then this", NAME).await;
    let mut lost = send(&rig, session, "and this", "conversation:u:2").await;
    lost.until("}").await;
    let path_of = path(session, "stop?session_id=conversation:u:2");
    rig.call("POST", path_of).json(&json!({})).send().await.ok(200);
    assert!(said(lost.whole().await.text()).contains("taken back"));
    rig.finish(session, first).await;
    let (turn, text) = prompted(&mut rig).await;
    assert_eq!(text, "then this");
    say(&mut rig, session, turn, &["done"]).await;
    rig.finish(session, turn).await;
    assert_eq!(said(stream.whole().await.text()), "done", "nothing of the other turn");
}

#[tokio::test]
async fn a_failed_turn_and_a_deleted_conversation_say_so_and_end_cleanly() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let stream = send(&rig, session, "go", NAME).await;
    let (turn, _) = prompted(&mut rig).await;
    let message = "the allowance is used up".to_owned();
    let error = Some(TurnError { code: TurnErrorCode::UsageLimit, message, details: Value::Null });
    let end = TurnEnd { error, ..TurnEnd::of(TurnOutcome::Failed) };
    rig.say(session, vec![Draft::new(Body::TurnFinished(end)).turn(turn)]).await;
    let body = stream.whole().await;
    assert_eq!(said(body.text()), "❌ **The turn failed:** the allowance is used up");

    let mut stream = send(&rig, session, "more", "conversation:u:2").await;
    stream.until("}").await;
    let gone = rig.call("DELETE", format!("/api/v1/conversations/{session}/")).send().await.ok(200);
    assert_eq!(gone["status"], "success");
    let body = stream.whole().await;
    assert!(said(body.text()).contains("Longshore cannot show the rest"), "{}", body.text());
    assert_eq!(refused(&active(&rig, session).await).0, 404);
}

#[tokio::test]
async fn an_approval_that_is_decided_elsewhere_lets_the_stream_go_on() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let mut stream = send(&rig, session, "build", NAME).await;
    let (turn, _) = prompted(&mut rig).await;
    let approval = rig.approval(session, turn).await;
    let so_far = stream.until("waits for an approval").await;
    let place = format!("http://{}/sessions/{session}", rig.at);
    assert!(so_far.contains(&place) && so_far.contains("make"), "{so_far}");
    assert_eq!(active(&rig, session).await.status, 200, "it goes on");
    let decide = json!({ "decision": "allow_once" });
    rig.call("POST", format!("/api/v1/approvals/{approval}")).json(&decide).send().await.ok(200);
    stream.until("owner allowed it").await;
    let fields = json!([{ "id": "a", "label": "A", "text": "which?", "kind": "text" }]);
    let question = rig.question(session, turn, fields).await;
    stream.until("The agent asks").await;
    let answer = json!({ "answers": { "a": "this one" } });
    rig.call("POST", format!("/api/v1/questions/{question}")).json(&answer).send().await.ok(200);
    stream.until("owner answered it").await;
    rig.finish(session, turn).await;
    stream.whole().await;
}

#[tokio::test]
async fn two_clients_see_the_same_and_regenerate_asks_once_more() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let empty = rig.call("POST", path(session, "regenerate")).json(&json!({ "node_ids": [] })).send().await;
    assert_eq!(refused(&empty).0, 400);
    let one = send(&rig, session, "go", NAME).await;
    let (turn, _) = prompted(&mut rig).await;
    let found = active(&rig, session).await.ok(200)["sessionId"].as_str().unwrap().to_owned();
    let other = rig.call("POST", path(session, &format!("resume/{found}?cursor=0-0"))).stream().await;
    say(&mut rig, session, turn, &["the same"]).await;
    rig.finish(session, turn).await;
    let (one, other) = (one.whole().await, other.whole().await);
    assert_eq!((said(one.text()), said(other.text())), ("the same".to_owned(), "the same".to_owned()));

    let call = rig.call("POST", path(session, "regenerate?stream=true&background=true"));
    let mut anew = call.json(&json!({ "node_ids": [] })).stream().await;
    let (turn, text) = prompted(&mut rig).await;
    assert_eq!(text, "go");
    anew.until("}").await;
    let again = rig.call("POST", path(session, "regenerate")).json(&json!({})).stream().await;
    say(&mut rig, session, turn, &["another"]).await;
    rig.finish(session, turn).await;
    assert_eq!(said(anew.whole().await.text()), "another");
    assert_eq!(said(again.whole().await.text()), "another", "a second try follows the turn that runs");
    assert!(rig.left().is_empty());
    assert_eq!(rig.get(path(session, "info")).await.ok(200)["total_messages"], 4);
}

#[tokio::test]
async fn a_program_with_a_key_gets_one_object() {
    let mut rig = Rig::new().await;
    let body = json!({ "project_ids": ["/w"], "agent_ids": ["nobody's", "CODEX"] });
    let key = |method, path: String| rig.bare(method, path).header("x-api-key", crate::rig::TOKEN);
    let made = key("POST", "/api/v2/conversations/".to_owned()).json(&body).send().await.ok(200);
    let session: SessionId = made["conversation_id"].as_str().unwrap().parse().unwrap();
    let path = format!("/api/v2/conversations/{session}/message/?stream=false");
    let call = key("POST", path)
        .json(&json!({ "content": "why?", "node_ids": [{ "node_id": "1", "name": "main" }] }));
    let asked = tokio::spawn(call.send());
    assert_eq!(rig.launched().await.agent.as_ref(), "codex");
    rig.is_ready(session).await;
    let (turn, text) = prompted(&mut rig).await;
    assert_eq!(text, "why?\n\nAbout: main");
    say(&mut rig, session, turn, &["be", "cause"]).await;
    rig.finish(session, turn).await;
    let whole = asked.await.unwrap().ok(200);
    assert_eq!(whole, json!({ "message": "because", "citations": [], "tool_calls": [], "thinking": null }));

    let call = rig.bare("POST", "/api/v2/project/%2Fw/message/").header("x-api-key", crate::rig::TOKEN);
    let asked = tokio::spawn(call.json(&json!({ "content": "hi", "agent_id": "codex" })).send());
    let launch = rig.launched().await;
    assert_eq!(launch.cwd, "/w");
    rig.is_ready(launch.session).await;
    let (turn, _) = prompted(&mut rig).await;
    say(&mut rig, launch.session, turn, &["hello"]).await;
    rig.finish(launch.session, turn).await;
    assert_eq!(asked.await.unwrap().ok(200)["message"], "hello");
}

#[tokio::test]
async fn our_own_framings_have_lines_or_ids_and_go_on_where_they_were() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let mut bare = message(&rig, session, "go", NAME).header("accept", "text/event-stream").stream().await;
    let (turn, _) = prompted(&mut rig).await;
    let place = path(session, &format!("resume/{NAME}"));
    let call = |more: &str| rig.call("POST", format!("{place}{more}"));
    let lines = call("").header("accept", "application/x-ndjson").stream().await;
    let mut events = call("?format=sse").stream().await;
    let (first, object) = events.event().await.unwrap();
    assert_eq!((&object["message"], &object["response"]), (&json!(""), &json!("")));
    let last = call("")
        .header("accept", "text/event-stream")
        .header("last-event-id", first.to_string())
        .stream()
        .await;
    for text in ["one", "two"] {
        say(&mut rig, session, turn, &[text]).await;
        bare.until(text).await;
    }
    let (seq, object) = events.event().await.unwrap();
    assert!(seq > first && object["response"] == "one", "{seq} {object}");
    rig.finish(session, turn).await;
    let bare = bare.whole().await;
    assert!(
        bare.text().starts_with("{\"message\"") && !bare.text().contains('\n'),
        "as the original: {}",
        bare.text()
    );
    assert_eq!(said(bare.text()), "one\n\ntwo");
    let lines = lines.whole().await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let of_lines: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(of_lines.len() >= 3 && of_lines.iter().all(|line| line["message"] == line["response"]));
    let last = last.whole().await;
    assert!(
        last.text().starts_with("id: ") && last.text().ends_with("event: end\ndata: {}\n\n"),
        "{}",
        last.text()
    );
    let behind = rig.call("POST", format!("{place}?cursor={seq}-0")).send().await;
    assert_eq!(said(behind.text()), "one\n\ntwo", "the object of the cursor is sent again");
    let behind =
        rig.call("GET", format!("{place}?format=sse")).header("last-event-id", seq.to_string()).send().await;
    assert!(!behind.text().contains("one") && behind.text().contains("two"), "{}", behind.text());
    for (query, header) in [("?format=xml", "1"), ("", "x"), ("", "-1")] {
        let call = rig.call("POST", format!("{place}{query}")).header("last-event-id", header);
        assert_eq!(refused(&call.send().await).0, 400, "{query} {header}");
    }
}

#[tokio::test]
async fn images_of_a_form_are_attachments() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let call = form(rig.call("POST", path(session, "message?stream=true")), &[("content", "look")]);
    drop(call);
    let body = b"--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\nlook\r\n--B\r\nContent-Disposition: \
        form-data; name=\"images\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n--B--\r\n";
    let call =
        rig.call("POST", path(session, "message")).body("multipart/form-data; boundary=\"B\"", body.to_vec());
    let mut stream = call.stream().await;
    stream.until("}").await;
    let AgentCommand::Prompt { attachments, turn, .. } = rig.command().await else { panic!("no prompt") };
    assert_eq!((attachments.len(), attachments[0].media_type.as_str()), (1, "image/png"));
    rig.finish(session, turn).await;
    let all = rig.get(path(session, "messages")).await.ok(200);
    assert_eq!(
        (&all[0]["has_attachments"], &all[0]["attachments"][0]["file_name"]),
        (&json!(true), &json!("a.png"))
    );
}

#[tokio::test]
async fn a_long_answer_comes_whole_to_whoever_reads_late() {
    let mut rig = Rig::new().await;
    let session = create(&mut rig).await;
    let live = send(&rig, session, "go", NAME).await;
    let (turn, _) = prompted(&mut rig).await;
    let mut text = String::new();
    for round in 0..20 {
        let pieces: Vec<String> =
            (0..300).map(|piece| format!("{round}.{piece} {{\"}} ").repeat(40)).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        say(&mut rig, session, turn, &pieces).await;
        text = if round == 0 { pieces.concat() } else { [text.as_str(), "\n\n", &pieces.concat()].concat() };
    }
    rig.finish(session, turn).await;
    assert!(text.len() > 2 << 20, "more than is in memory");
    assert_eq!(said(live.whole().await.text()), text);
    let late = rig.call("POST", path(session, &format!("resume/{NAME}"))).send().await;
    assert_eq!(said(late.text()), text);
    let of_one = objects(late.text()).len();
    assert!(of_one < 2_000, "what only adds text is joined: {of_one} objects of 6000 deltas");
    assert_eq!(messages(&rig, session).await[1].1, text);
}

//! Several clients, clients that come back, and clients that may not.

use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::item::{ToolOutcome, ToolStatus};
use serde_json::json;

use super::OpenAgentsApp;
use super::sessions::{prompted, shell};
use crate::rig::Rig;

#[tokio::test]
async fn a_prompt_is_shown_by_its_sender_and_told_to_the_others() {
    let mut rig = Rig::new().await;
    let (mut one, mut two) = (OpenAgentsApp::of_owner(&rig).await, OpenAgentsApp::of_owner(&rig).await);
    let named = one.start("from one").await;
    let (session, turn, _) = prompted(&mut rig, &named).await;
    two.call("tinyvex/history.sessionTimeline", json!({ "session_id": named })).await;
    rig.message(session, turn, "Yes, one.").await;
    rig.finish(session, turn).await;
    let said = |heard: Vec<(String, String)>| heard.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    assert_eq!(said(one.until("Yes, one.").await), ["Yes, one."], "the app shows its own prompt itself");
    assert_eq!(said(two.until("Yes, one.").await), ["Yes, one."]);
    two.prompt(&named, "from two").await;
    let AgentCommand::Prompt { turn, .. } = rig.command().await else { panic!("no prompt") };
    rig.message(session, turn, "Yes, two.").await;
    rig.finish(session, turn).await;
    assert_eq!(said(one.until("Yes, two.").await), ["from two", "Yes, two."]);
    assert_eq!(said(two.until("Yes, two.").await), ["Yes, two."]);
    // One of another protocol.
    let path = format!("/api/v1/sessions/{session}/prompts");
    assert_eq!(rig.call("POST", path).json(&json!({ "content": "from the web" })).send().await.status, 202);
    for app in [&mut one, &mut two] {
        assert_eq!(app.next("user_message_chunk").await, "from the web");
    }
}

#[tokio::test]
async fn a_prompt_that_is_sent_twice_is_one_prompt() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let named = app.start("go").await;
    prompted(&mut rig, &named).await;
    let send = |id: &str, text: &str| {
        let params = json!({ "session_id": named, "prompt": [{ "type": "text", "text": text }] });
        json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params }).to_string()
    };
    let id = "session-prompt-6F1B1B8A-21D4-4C63-9B14-0D6B2E1F1C77";
    for (id, text) in
        [(id, "once"), (id, "once"), ("session-prompt-00000001", "a"), ("session-prompt-00000001", "b")]
    {
        app.write(&send(id, text)).await;
        assert_eq!(app.answer(&json!(id)).await["result"]["status"], "resumed");
    }
    let queue = rig.hub.session(named.parse().unwrap()).await.unwrap().queue;
    let texts: Vec<&str> = queue.iter().map(|waiting| waiting.text.as_str()).collect();
    assert_eq!(texts, ["once", "a", "b"], "an id that is not unique makes no prompt the same as another");
}

#[tokio::test]
async fn whoever_comes_back_in_mid_turn_hears_what_was_missed() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let named = app.start("go").await;
    let (session, turn, _) = prompted(&mut rig, &named).await;
    let tool = rig.item();
    let said = |body, text: &str| Draft::new(body).turn(turn).item(tool).text(text);
    rig.say(session, vec![said(Body::ToolStarted(shell("make")), "")]).await;
    assert_eq!(app.next("tool_call").await["call_id"], json!(tool));
    rig.message(session, turn, "Heard.").await;
    app.until("Heard.").await;
    app.prompt(&named, "waits").await;
    // Two answers later the hub has the pong to all that came before.
    app.call("threads/list", json!({})).await;
    app.call("threads/list", json!({})).await;
    drop(app);

    rig.message(session, turn, "Missed.").await;
    rig.hub.settle().await;
    // Whether or not the hub has noticed by now that the connection is gone.
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    assert_eq!(app.next("tool_call").await["call_id"], json!(tool), "the call that is under way");
    let done = ToolOutcome::of(ToolStatus::Failed);
    rig.say(session, vec![said(Body::ToolFinished(done), "no rule")]).await;
    let heard = app.until("Missed.").await;
    assert!(!heard.iter().any(|(_, text)| text == "Heard."), "{heard:?}");
    let result = app.next("tool_call_update").await;
    assert_eq!((&result["status"], &result["error"]), (&json!("error"), &json!("no rule")));
    rig.finish(session, turn).await;
    let AgentCommand::Prompt { turn, .. } = rig.command().await else { panic!("no prompt") };
    rig.message(session, turn, "After.").await;
    let heard = app.until("After.").await;
    let is_prompt = |(kind, _): &(String, String)| kind == "user_message_chunk";
    assert!(!heard.iter().any(is_prompt), "it shows its prompt since it sent it: {heard:?}");
    assert_eq!(app.prompt(&named, "next").await["status"], "resumed", "it goes on with the old session");
}

#[tokio::test]
async fn a_device_that_may_not_changes_nothing() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let before = rig.hub.session(session).await.unwrap();
    for mode in ["read_only", "approve"] {
        let (token, _) = rig.device(mode).await;
        let mut app = OpenAgentsApp::with(&rig, &token).await;
        let new = app.call("session/new", json!({ "cwd": "/w" })).await["session_id"].clone();
        for of in [&new, &json!(session)] {
            let refused = app.prompt(of.as_str().unwrap(), "rm").await;
            assert_eq!((&refused["status"], &refused["code"]), (&json!("refused"), &json!("not_allowed")));
            let words = app.next("agent_message_chunk").await;
            assert!(words.as_str().unwrap().contains("may not change anything here"), "{words}");
            assert_eq!(app.call("session/cancel", json!({ "session_id": of })).await["status"], "refused");
            assert_eq!(
                app.call("session/set_mode", json!({ "session_id": of, "mode_id": "claude-code" })).await,
                json!({})
            );
        }
        for (method, params) in [
            ("fs/read_text_file", json!({ "path": "boat.txt" })),
            ("fs/write_text_file", json!({ "path": "boat.txt", "content": "x" })),
            ("terminal/run", json!({ "command": ["ls"] })),
            ("tinyvex/history.deleteSession", json!({})),
            ("tinyvex/history.setSessionTitle", json!({ "title": "x" })),
            ("tinyvex/history.clearSessionTitle", json!({})),
        ] {
            let mut params = params;
            params["session_id"] = json!(session);
            assert_eq!(app.refused(method, params).await.0, -32000, "{mode} {method}");
        }
        let timeline = app.call("tinyvex/history.sessionTimeline", json!({ "session_id": session })).await;
        assert!(timeline.is_array(), "it may read");
    }
    assert_eq!(rig.hub.session(session).await.unwrap(), before);
    assert!(rig.left().is_empty(), "no agent was told anything");
}

#[tokio::test]
async fn a_revoked_device_leaves_at_once() {
    let rig = Rig::new().await;
    let (token, device) = rig.device("full").await;
    let mut app = OpenAgentsApp::with(&rig, &token).await;
    rig.call("DELETE", format!("/api/v1/devices/{device}")).send().await;
    assert_eq!(app.ended().await, Some(4401));
}

#[tokio::test]
async fn only_this_client_gets_less_of_a_long_output() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let named = app.start("go").await;
    let (session, turn, _) = prompted(&mut rig, &named).await;
    let (tool, message, end) = (rig.item(), rig.item(), rig.item());
    let said = |body, text: &str| Draft::new(body).turn(turn).text(text);
    let long = "x".repeat(2_000_000);
    rig.say(
        session,
        vec![
            said(Body::ToolStarted(shell("yes")), "").item(tool),
            said(Body::ToolFinished(ToolOutcome::of(ToolStatus::Completed)), &long).item(tool),
            said(Body::MessageDone { phase: None, partial: false }, &"\u{1}y".repeat(500_000)).item(message),
            said(Body::MessageDone { phase: None, partial: false }, "End.").item(end),
        ],
    )
    .await;
    assert_eq!(app.next("tool_call_update").await["output"], "(omitted 2000002 bytes)");
    let pieces = app.until("End.").await;
    let whole: String = pieces[..pieces.len() - 1].iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(whole, "\u{1}y".repeat(500_000), "a long message comes in pieces that fit");
    let timeline = rig.get(format!("/api/v1/sessions/{session}/timeline")).await.ok(200);
    let tools = timeline["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "tool");
    assert_eq!(tools.map(|item| item["text"].as_str().unwrap().len()).collect::<Vec<_>>(), [long.len()]);
    let page = app.call("tinyvex/history.sessionTimeline", json!({ "session_id": named })).await;
    let last = page.as_array().unwrap().last().unwrap();
    assert_eq!(last["update"]["content"]["content"]["text"], "End.", "cut from the oldest");
}

//! A session from the app: opened by its first prompt, followed, answered elsewhere, stopped, read again.

use std::sync::Arc;

use longshore_log::MemoryLog;
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{SessionId, TurnId};
use longshore_model::item::{PlanStatus, PlanStep, ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{TurnEnd, TurnOutcome};
use serde_json::{Value, json};

use super::OpenAgentsApp;
use crate::rig::Rig;

/// The agent starts and gets the prompt.
pub(crate) async fn prompted(rig: &mut Rig, session: &str) -> (SessionId, TurnId, String) {
    let launch = rig.launched().await;
    assert_eq!(launch.session.to_string(), session, "its id is ours");
    rig.is_ready(launch.session).await;
    match rig.command().await {
        AgentCommand::Prompt { turn, text, .. } => (launch.session, turn, text),
        other => panic!("instead of a prompt: {other:?}"),
    }
}

pub(crate) fn shell(command: &str) -> ToolCall {
    ToolCall {
        name: "Bash".to_owned(),
        kind: ToolKind::Execute,
        command: Some(command.to_owned()),
        cwd: None,
        input: json!({ "command": command }),
    }
}

#[tokio::test]
async fn a_turn_is_what_the_app_draws_of_it() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let named =
        app.call("session/new", json!({ "cwd": "/w/boat", "mcp_servers": [] })).await["session_id"].clone();
    let named = named.as_str().unwrap();
    assert!(rig.left().is_empty(), "no agent starts before there is something to do");
    app.write(
        &json!({ "jsonrpc": "2.0", "id": 7, "method": "session/set_mode",
                 "params": { "session_id": named, "mode_id": "codex" } })
        .to_string(),
    )
    .await;
    let first = app.frame().await.unwrap();
    let update = json!({ "sessionUpdate": "current_mode_update", "current_mode_id": "codex" });
    assert_eq!(first["params"], json!({ "session_id": named, "update": update }), "the update comes first");
    let second = app.frame().await.unwrap();
    assert_eq!((&second["id"], &second["result"]), (&json!(7), &json!({})));

    assert_eq!(app.prompt(named, "row the boat").await, json!({ "status": "started" }), "at once");
    let (session, turn, text) = prompted(&mut rig, named).await;
    assert_eq!(text, "row the boat");
    assert_eq!(rig.hub.session(session).await.unwrap().cwd, "/w/boat");

    let (message, thought, tool) = (rig.item(), rig.item(), rig.item());
    let said = |body, text: &str| Draft::new(body).turn(turn).text(text);
    rig.say(
        session,
        vec![
            said(Body::ReasoningDone { partial: false }, "Where are the oars?").item(thought),
            said(Body::MessageDelta, "Let me ").item(message),
            said(Body::MessageDelta, "look.").item(message),
            said(Body::MessageDone { phase: None, partial: false }, "Let me look.").item(message),
            said(Body::ToolStarted(shell("ls -la")), "").item(tool),
            said(Body::ToolOutputDelta, "oars\n").item(tool),
        ],
    )
    .await;
    let chunk = |kind: &str, text: &str| json!({ "sessionUpdate": kind, "content": { "content": { "type": "text", "text": text } } });
    assert_eq!(app.update().await, (named.to_owned(), chunk("agent_thought_chunk", "Where are the oars?")));
    assert_eq!(
        app.update().await.1,
        chunk("agent_message_chunk", "Let me look."),
        "one chunk for one message"
    );
    let call = json!({ "call_id": tool, "name": "Bash", "arguments": { "command": "ls -la" } });
    assert_eq!(app.update().await.1, json!({ "sessionUpdate": "tool_call", "tool_call": call }));

    let plan = vec![
        PlanStep { text: "Look".to_owned(), status: PlanStatus::Completed },
        PlanStep { text: "Row".to_owned(), status: PlanStatus::InProgress },
    ];
    let plan = Draft::new(Body::PlanUpdated { steps: plan }).turn(turn).item(rig.item());
    let done = said(Body::ToolFinished(ToolOutcome::of(ToolStatus::Completed)), "oars\n").item(tool);
    rig.say(session, vec![done, plan]).await;
    let result = json!({ "call_id": tool, "status": "completed", "output": "oars\n" });
    assert_eq!(
        app.update().await.1,
        json!({ "sessionUpdate": "tool_call_update", "tool_call_update": result }),
        "nothing before, because the app draws `started` as a failure"
    );
    let entry = |text: &str, status: &str| json!({ "content": text, "priority": "medium", "status": status });
    let entries = json!({ "entries": [entry("Look", "completed"), entry("Row", "in_progress")] });
    assert_eq!(app.update().await.1, json!({ "sessionUpdate": "plan", "plan": entries }));
    rig.message(session, turn, "Rowed.").await;
    rig.finish(session, turn).await;
    assert_eq!(app.next("agent_message_chunk").await, "Rowed.");

    assert_eq!(app.prompt(named, "and back").await, json!({ "status": "resumed" }));
    assert!(matches!(rig.command().await, AgentCommand::Prompt { text, .. } if text == "and back"));
}

#[tokio::test]
async fn approvals_and_questions_are_decided_elsewhere_and_the_app_reads_of_it() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let named = app.start("build it").await;
    let (session, turn, _) = prompted(&mut rig, &named).await;
    let approval = rig.approval(session, turn).await;
    let waits = app.next("agent_message_chunk").await;
    let waits = waits.as_str().unwrap();
    assert!(waits.contains("`make`") && waits.contains("to build it"), "{waits}");
    assert!(waits.contains("web app") && waits.contains("longshore approve"), "where to answer: {waits}");
    let path = format!("/api/v1/approvals/{approval}");
    rig.call("POST", path).json(&json!({ "decision": "allow_once" })).send().await.ok(200);
    assert!(app.next("agent_message_chunk").await.as_str().unwrap().contains("owner allowed this once"));
    assert!(matches!(rig.command().await, AgentCommand::Decide { .. }));

    let denied = rig.approval(session, turn).await;
    app.next("agent_message_chunk").await;
    let path = format!("/api/v1/approvals/{denied}");
    rig.call("POST", path).json(&json!({ "decision": "deny" })).send().await.ok(200);
    assert!(app.next("agent_message_chunk").await.as_str().unwrap().contains("owner denied this"));
    rig.command().await;

    let fields = json!([{ "id": "db", "label": "Database", "text": "Which one?", "kind": "one",
                          "choices": [{ "label": "SQLite" }, { "label": "Postgres" }] }]);
    let question = rig.question(session, turn, fields).await;
    let asked = app.next("agent_message_chunk").await;
    assert!(asked.as_str().unwrap().contains("Which one? (SQLite, Postgres)"), "{asked}");
    let path = format!("/api/v1/questions/{question}");
    rig.call("POST", path).json(&json!({ "answers": { "db": "SQLite" } })).send().await.ok(200);
    assert!(
        app.next("agent_message_chunk").await.as_str().unwrap().contains("owner answered: db: \"SQLite\"")
    );
    rig.command().await;

    // One that nobody decided before the turn ended.
    rig.approval(session, turn).await;
    app.next("agent_message_chunk").await;
    let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
    rig.say(session, vec![Draft::new(end).turn(turn)]).await;
    let heard = app.until("interrupted").await;
    assert!(
        heard.iter().any(|(_, text)| text.contains("Nobody can give the permission any more")),
        "{heard:?}"
    );
}

#[tokio::test]
async fn a_turn_is_stopped_by_a_notification_and_by_a_request() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let named = app.start("go").await;
    let (session, turn, _) = prompted(&mut rig, &named).await;
    app.tell("session/cancel", json!({ "session_id": named })).await;
    assert_eq!(rig.command().await, AgentCommand::Interrupt { turn }, "the original drops it");
    let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
    rig.say(session, vec![Draft::new(end).turn(turn)]).await;
    app.until("The turn was interrupted").await;
    assert_eq!(
        app.call("session/cancel", json!({ "session_id": named })).await["status"],
        "no_active_session"
    );
    app.prompt(&named, "again").await;
    let AgentCommand::Prompt { turn, .. } = rig.command().await else { panic!("no prompt") };
    assert_eq!(app.call("session/cancel", json!({ "session_id": named })).await["status"], "cancelled");
    assert_eq!(rig.command().await, AgentCommand::Interrupt { turn });
}

#[tokio::test]
async fn history_is_bare_arrays_in_the_shapes_that_the_app_decodes() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let named = app.start("row the boat").await;
    let (session, turn, _) = prompted(&mut rig, &named).await;
    let tool = rig.item();
    let said = |body, text: &str| Draft::new(body).turn(turn).item(tool).text(text);
    let done = Body::ToolFinished(ToolOutcome::of(ToolStatus::Completed));
    rig.say(session, vec![said(Body::ToolStarted(shell("ls")), ""), said(done, "oars")]).await;
    rig.message(session, turn, "Rowed.").await;
    rig.finish(session, turn).await;

    let recent = app.call("tinyvex/history.recentSessions", json!({})).await;
    let row = &recent.as_array().unwrap()[0];
    assert_eq!(row["session_id"], *named);
    assert!(row["last_ts"].as_i64().unwrap() > 1_700_000_000_000 && row["message_count"].is_u64(), "{row}");
    let threads = app.call("threads/list", json!({ "topK": 10 })).await;
    let thread = &threads["items"][0];
    assert_eq!(
        (&thread["id"], &thread["source"], &thread["title"]),
        (&json!(named), &json!("codex"), &json!("row the boat"))
    );
    assert!(thread["updated_at"].is_i64() && thread["created_at"].is_i64(), "{thread}");

    let mut other = OpenAgentsApp::of_owner(&rig).await;
    let timeline = other.call("tinyvex/history.sessionTimeline", json!({ "session_id": named })).await;
    let kinds = |list: &Value| -> Vec<String> {
        let rows = list.as_array().unwrap().iter();
        rows.map(|row| row["update"]["sessionUpdate"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["user_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"];
    assert_eq!(kinds(&timeline), all, "the prompt is in it too");
    assert_eq!(timeline[0]["session_id"], *named);
    assert_eq!(timeline[0]["update"]["content"]["content"]["text"], "row the boat");
    let two = app.call("tinyvex/history.sessionTimeline", json!({ "session_id": named, "limit": 1 })).await;
    assert_eq!(kinds(&two), all[3..], "the newest");
    let typed = app.call("thread/load_latest_typed", json!({})).await;
    assert_eq!(typed["id"], *named);
    assert_eq!(typed["updates"].as_array().unwrap().len(), 4);
    assert_eq!(typed["updates"][3], timeline[3]["update"]);
    let lines = app.call("thread/load_latest", json!({ "limit_lines": 100, "max_bytes": 100_000 })).await;
    let lines: Vec<Value> = lines["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| serde_json::from_str(line.as_str().unwrap()).unwrap())
        .collect();
    assert_eq!((&lines[0]["type"], &lines[0]["thread_id"]), (&json!("thread.started"), &json!(named)));
    assert_eq!(
        (&lines[2]["item"]["type"], &lines[2]["item"]["command"]),
        (&json!("command_execution"), &json!("ls"))
    );
    assert_eq!(lines.last().unwrap()["type"], "turn.completed");
    let status = app.call("index.status", json!({ "session_id": named })).await;
    assert_eq!((&status["workspace_path"], &status["exists"]), (&json!("/w"), &json!(true)));

    // Whoever reads a session hears of it from then on, and nothing twice.
    rig.hub.settle().await;
    app.prompt(&named, "more").await;
    assert_eq!(other.update().await.1["content"]["content"]["text"], "more");
}

#[tokio::test]
async fn titles_are_read_set_and_cleared_and_sessions_deleted() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let draft = app.call("session/new", json!({})).await["session_id"].clone();
    assert_eq!(
        app.call("tinyvex/history.getSessionTitle", json!({ "session_id": draft })).await,
        json!({ "title": null })
    );
    let named = app.start("row the boat\nand back").await;
    prompted(&mut rig, &named).await;
    let of = json!({ "session_id": named });
    let set = json!({ "session_id": named, "title": "Rowing" });
    assert_eq!(app.call("tinyvex/history.setSessionTitle", set).await, json!({ "ok": true }));
    assert_eq!(app.call("tinyvex/history.getSessionTitle", of.clone()).await, json!({ "title": "Rowing" }));
    assert_eq!(app.call("tinyvex/history.clearSessionTitle", of.clone()).await, json!({ "ok": true }));
    assert_eq!(
        app.call("tinyvex/history.getSessionTitle", of.clone()).await,
        json!({ "title": "row the boat" })
    );
    assert_eq!(app.call("tinyvex/history.deleteSession", of.clone()).await, json!({ "ok": true }));
    app.until("Longshore lost this session").await;
    assert_eq!(app.call("tinyvex/history.recentSessions", json!({})).await, json!([]));
    assert_eq!(app.refused("tinyvex/history.deleteSession", of).await.0, -32002);
    assert_eq!(
        app.prompt(&named, "still there?").await["status"],
        "refused",
        "what is deleted stays deleted"
    );
}

#[tokio::test]
async fn the_mode_chooses_the_agent_until_the_first_prompt() {
    let mut rig = Rig::new().await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let new =
        app.call("session/new", json!({ "cwd": "/w", "mode_id": "claude-code" })).await["session_id"].clone();
    let named = new.as_str().unwrap();
    let refused = app.prompt(named, "hi").await;
    assert_eq!(refused["status"], "refused", "Claude Code is not there");
    assert!(app.next("agent_message_chunk").await.as_str().unwrap().contains("claude"));
    let set = |mode: &str| json!({ "session_id": named, "mode_id": mode });
    assert_eq!(app.call("session/set_mode", set("orchestrator")).await, json!({}));
    assert_eq!(app.next("current_mode_update").await, "default_mode", "only later apps know that one");
    assert_eq!(app.prompt(named, "hi").await["status"], "started");
    prompted(&mut rig, named).await;
    app.call("session/set_mode", set("claude-code")).await;
    assert_eq!(app.next("current_mode_update").await, "codex", "its agent is chosen for good");

    // An agent that is no mode: the app would lose a notification that names it.
    let (plain, _) = rig.open_with("plain").await;
    let set = json!({ "session_id": plain, "mode_id": "codex" });
    assert_eq!(app.call("session/set_mode", set).await, json!({}));
    let threads = app.call("threads/list", json!({})).await;
    let row =
        threads["items"].as_array().unwrap().iter().find(|row| row["id"] == json!(plain)).unwrap().clone();
    assert_eq!(row["source"], "codex", "the app would lose the list for another source");
    assert!(row["title"].as_str().unwrap().ends_with("(plain)"), "{row}");
}

#[tokio::test]
async fn an_id_lives_across_connections_and_restarts_before_anything_was_said() {
    let log = Arc::new(MemoryLog::default());
    let rig = Rig::over(Arc::clone(&log), None).await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    let new = app.call("session/new", json!({ "cwd": "/w/boat" })).await["session_id"].clone();
    let named = new.as_str().unwrap().to_owned();
    app.call("session/set_mode", json!({ "session_id": named, "mode_id": "codex" })).await;
    drop((app, rig));
    let mut rig = Rig::over(log, None).await;
    let mut app = OpenAgentsApp::of_owner(&rig).await;
    assert_eq!(app.prompt(&named, "hi").await, json!({ "status": "started" }));
    let (session, ..) = prompted(&mut rig, &named).await;
    assert_eq!(rig.hub.session(session).await.unwrap().cwd, "/w/boat");
}

//! Agents: opening, prompting, streaming, tools, stopping, putting away.

use longshore_model::command::{AgentCommand, AttachmentSource};
use longshore_model::event::{Body, Draft};
use longshore_model::item::{
    FileChange, FileChangeKind, FileDiff, PlanStatus, PlanStep, ToolCall, ToolKind, ToolOutcome, ToolStatus,
};
use longshore_model::lifecycle::{TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use serde_json::{Value, json};

use crate::rig::Rig;

const PNG: &str = "iVBORw0KGgpyZXN0";

fn call(name: &str, kind: ToolKind, command: Option<&str>) -> ToolCall {
    ToolCall {
        name: name.to_owned(),
        kind,
        command: command.map(str::to_owned),
        cwd: None,
        input: Value::Null,
    }
}

#[tokio::test]
async fn an_agent_is_opened_prompted_and_put_away_and_every_phone_sees_it() {
    let mut rig = Rig::new().await;
    let (mut one, _) = rig.phone("full").await;
    let (mut other, _) = rig.phone("read_only").await;
    one.send(json!({ "type": "createAgent", "agentType": "codex", "projectId": "/w", "model": "large" }))
        .await;
    let launch = rig.launched().await;
    assert_eq!((launch.cwd.as_str(), launch.model.as_deref()), ("/w", Some("large")));
    let created = one.until("agentCreated").await["agent"].clone();
    let expected = json!({ "type": "codex", "status": "starting", "sessionName": "New Agent", "cwd": "/w",
        "autoApprove": false, "pendingPermissions": [], "totalCost": 0.0, "projectName": "w" });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&created[key], value, "{created}");
    }
    assert_eq!(other.until("agentCreated").await["agent"]["id"], created["id"]);
    let id = created["id"].as_str().unwrap().to_owned();
    let session = id.parse().unwrap();

    // The prompt comes before the agent listens, and is shown at once.
    one.send(json!({ "type": "sendMessage", "agentId": id, "text": "go",
        "imageData": { "uri": "blob:http://x/1.jpg", "base64": PNG, "mimeType": "image/jpeg" } }))
        .await;
    let echo = one.until("userMessage").await;
    assert_eq!((&echo["content"], &echo["imageData"]["mimeType"]), (&json!("go"), &json!("image/png")));
    assert_eq!(echo["imageData"]["uri"], format!("data:image/png;base64,{PNG}"));
    assert_eq!(other.until("userMessage").await["content"], "go");
    rig.is_ready(session).await;
    let AgentCommand::Prompt { turn, text, attachments, .. } = rig.command().await else {
        panic!("no prompt")
    };
    assert_eq!((text.as_str(), attachments[0].media_type.as_str()), ("go", "image/png"));
    assert_eq!(attachments[0].source, AttachmentSource::Data(PNG.to_owned()));
    let id_ = id.clone();
    other.shows("it works", |app| app.agent(&id_).snapshot["status"] == "running").await;
    assert_eq!(other.app.agent(&id).snapshot["sessionName"], "go");

    // Pieces, then the whole.
    let item = rig.item();
    for piece in ["Hel", "lo"] {
        rig.say(session, vec![Draft::new(Body::MessageDelta).turn(turn).item(item).text(piece)]).await;
    }
    one.shows("the bubble", |app| app.agent(&id).bubble == "Hello").await;
    let done = Body::MessageDone { phase: None, partial: false };
    rig.say(session, vec![Draft::new(done).turn(turn).item(item).text("Hello!")]).await;
    one.has_said(session, "assistant: Hello!").await;
    assert_eq!(one.app.agent(&id).bubble, "", "the whole message took its place");

    one.send(json!({ "type": "interruptAgent", "agentId": id })).await;
    assert!(matches!(rig.command().await, AgentCommand::Interrupt { .. }));
    let end = Body::TurnFinished(TurnEnd::of(TurnOutcome::Interrupted));
    rig.say(session, vec![Draft::new(end).turn(turn)]).await;
    let result = one.until("agentResult").await;
    assert!(
        result["isError"] == false && result["duration"].is_u64() && result["usage"].is_object(),
        "{result}"
    );
    assert_eq!(one.said(session), ["user: go", "assistant: Hello!"]);
    other.until("agentResult").await;
    assert_eq!(other.said(session), one.said(session));

    one.send(json!({ "type": "destroyAgent", "agentId": id })).await;
    one.until("agentDestroyed").await;
    other.until("agentDestroyed").await;
    let kept = rig.get(format!("/api/v1/sessions/{id}")).await.ok(200);
    assert_eq!((&kept["archived"], &kept["activity"]), (&json!(true), &json!("idle")), "nothing is lost");
}

#[tokio::test]
async fn whatever_an_agent_does_has_a_card_and_every_card_gets_its_result() {
    let mut rig = Rig::new().await;
    let (mut phone, _) = rig.phone("full").await;
    let (session, turn) = rig.working().await;
    let (shell, read, plan, diff, think, note) =
        (rig.item(), rig.item(), rig.item(), rig.item(), rig.item(), rig.item());
    let change = FileChange {
        path: "a.rs".to_owned(),
        kind: FileChangeKind::Update,
        moved_to: None,
        diff: "-a\n+b".to_owned(),
    };
    let steps = |status| vec![PlanStep { text: "Look".to_owned(), status }];
    let file = |status, changes| Body::FileDiff(FileDiff { status, changes });
    let outcome =
        |status, exit_code| Body::ToolFinished(ToolOutcome { exit_code, ..ToolOutcome::of(status) });
    let failed = TurnEnd {
        error: Some(TurnError {
            code: TurnErrorCode::Other,
            message: "no more".to_owned(),
            details: Value::Null,
        }),
        duration_ms: Some(1_200),
        cost_usd: Some(0.5),
        ..TurnEnd::of(TurnOutcome::Failed)
    };
    let script = [
        (think, "think", Body::ReasoningDone { partial: false }),
        (shell, "", Body::ToolStarted(call("exec_command", ToolKind::Execute, Some("make")))),
        (shell, "building", Body::ToolOutputDelta),
        (read, "", Body::ToolStarted(call("Read", ToolKind::Read, None))),
        (read, "", outcome(ToolStatus::Completed, None)),
        (shell, "", file(ToolStatus::Running, vec![change.clone()])),
        (shell, "built", outcome(ToolStatus::Failed, Some(2))),
        (plan, "", Body::PlanUpdated { steps: steps(PlanStatus::Pending) }),
        (plan, "", Body::PlanUpdated { steps: steps(PlanStatus::Completed) }),
        (diff, "", file(ToolStatus::Running, vec![change.clone()])),
        (diff, "", file(ToolStatus::Completed, vec![change])),
    ];
    let mut drafts: Vec<Draft> = script
        .into_iter()
        .map(|(item, text, body)| Draft::new(body).turn(turn).item(item).text(text))
        .collect();
    let level = longshore_model::event::NoticeLevel::Warning;
    drafts.push(Draft::new(Body::Notice { level }).turn(turn).item(note).text("slow network"));
    drafts.push(Draft::new(Body::TurnFinished(failed)).turn(turn).text("it broke"));
    rig.say(session, drafts).await;
    let result = phone.until("agentResult").await;
    assert_eq!(
        (&result["isError"], &result["duration"], &result["cost"]),
        (&json!(true), &json!(1_200), &json!(0.5))
    );
    let expected = [
        "user: go",
        "thinking: think",
        "tool: command_execution",
        "result: built\n[exit code 2]",
        "tool: Read",
        "result: (no output)",
        "tool: TodoWrite",
        "result: Updated",
        "tool: file_change",
        "result: (no output)",
        "assistant: slow network",
        "assistant: Failed: it broke",
    ];
    assert_eq!(phone.said(session), expected);
    let id = session.to_string();
    let agent = phone.app.agent(&id);
    assert_eq!(agent.running(), 0);
    let input = |at: usize| agent.rows[at]["content"][0]["input"].clone();
    assert_eq!(
        (input(2)["command"].clone(), input(2)["changes"][0]["path"].clone()),
        (json!("make"), json!("a.rs"))
    );
    assert_eq!(input(4)["todos"][0]["status"], "completed");
    assert!(phone.heard.iter().any(|frame| frame["type"] == "toolProgress"));

    // An app that was started anew has the same, from the history.
    let (mut fresh, _) = rig.phone("full").await;
    fresh.until("agentHistory").await;
    assert_eq!(fresh.said(session), expected);
}

#[tokio::test]
async fn models_and_skills_are_told_as_the_app_wants_them() {
    let rig = Rig::new().await;
    let (mut phone, _) = rig.phone("full").await;
    for agent in ["claude", "codex", "opencode"] {
        phone.send(json!({ "type": "listModels", "agentType": agent })).await;
    }
    let mut lists = std::collections::BTreeMap::new();
    for _ in 0..3 {
        let list = phone.until("modelList").await;
        lists.insert(list["agentType"].as_str().unwrap().to_owned(), list["models"].clone());
    }
    let auto = json!({ "value": "", "label": "Auto (Recommended)" });
    assert_eq!(lists["codex"], json!([auto, { "value": "large", "label": "Large" }]));
    assert_eq!((&lists["claude"], &lists["opencode"]), (&json!([]), &json!([])), "they are not installed");

    assert_eq!(phone.ask(json!({ "type": "listSkills" }), "skillList").await["skills"], json!([]));
    assert_eq!(
        phone.ask(json!({ "type": "searchSkills", "query": "x" }), "skillSearchResults").await["results"],
        json!([])
    );
    let install = json!({ "type": "installSkill", "packageRef": "a/b" });
    let progress = phone.ask(install, "skillInstallProgress").await;
    assert_eq!((&progress["status"], &progress["installStatus"]), (&json!("error"), &json!("error")));
    phone.ask(json!({ "type": "getSkill", "name": "x" }), "error").await;
    phone.ask(json!({ "type": "updateSkill", "name": "x", "body": "y" }), "error").await;
    assert_eq!(phone.ask(json!({ "type": "listAgents" }), "agentList").await["agents"], json!([]));
}

#[tokio::test]
async fn a_message_that_does_not_get_through_says_so_in_the_conversation() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let (mut reader, _) = rig.phone("read_only").await;
    reader.send(json!({ "type": "sendMessage", "agentId": session, "text": "go" })).await;
    reader.until("error").await;
    reader.has_said(session, "assistant: Longshore did not take your message: a device of mode read_only may not change anything here").await;
    let (mut phone, _) = rig.phone("full").await;
    phone.ask(json!({ "type": "sendMessage", "agentId": session, "text": "  " }), "error").await;
    let image = json!({ "base64": "bm8gcGljdHVyZQ==", "mimeType": "image/png" });
    phone
        .ask(json!({ "type": "sendMessage", "agentId": session, "text": "x", "imageData": image }), "error")
        .await;
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn never_asking_is_a_mode_that_all_clients_see() {
    let mut rig = Rig::new().await;
    let (mut phone, _) = rig.phone("full").await;
    let (session, turn) = rig.working().await;
    rig.approval(session, turn).await;
    phone.until("permissionRequest").await;
    phone.send(json!({ "type": "setAutoApprove", "agentId": session, "enabled": true })).await;
    phone.shows("the switch", |app| app.agent(&session.to_string()).snapshot["autoApprove"] == true).await;
    let told = [rig.command().await, rig.command().await];
    assert!(
        told.iter()
            .any(|told| matches!(told, AgentCommand::SetMode(longshore_model::capability::Mode::Full)))
    );
    assert!(
        told.iter().any(
            |told| matches!(told, AgentCommand::Decide { decision, .. } if decision.by == "Ada's phone")
        )
    );
    assert_eq!(rig.get(format!("/api/v1/sessions/{session}")).await.ok(200)["mode"], "full");
    phone.send(json!({ "type": "setAutoApprove", "agentId": session, "enabled": false })).await;
    assert!(matches!(rig.command().await, AgentCommand::SetMode(longshore_model::capability::Mode::Ask)));
    phone.shows("the switch", |app| app.agent(&session.to_string()).snapshot["autoApprove"] == false).await;

    let (plain, _) = rig.open_with("plain").await;
    phone.shows("the other agent", |app| app.agents.contains_key(&plain.to_string())).await;
    assert_eq!(phone.app.agent(&plain.to_string()).snapshot["sessionName"], "New Agent (plain)");
    phone.send(json!({ "type": "setAutoApprove", "agentId": plain, "enabled": true })).await;
    assert!(phone.until("error").await["error"].as_str().unwrap().contains("cannot work without asking"));
    assert_eq!(
        phone.until("agentUpdated").await["autoApprove"],
        false,
        "the app has moved its switch already"
    );
}

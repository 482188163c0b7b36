//! Permissions and questions, here and elsewhere.

use longshore_model::approval::{AnswerAction, Decision};
use longshore_model::command::AgentCommand;
use serde_json::{Value, json};

use crate::rig::Rig;

fn answer(session: impl serde::Serialize, asked: &Value, behavior: &str, input: Value) -> Value {
    json!({ "type": "respondPermission", "agentId": session, "requestId": asked["requestId"],
        "behavior": behavior, "updatedInput": input })
}

#[tokio::test]
async fn a_permission_is_allowed_or_denied_with_the_same_input_or_another() {
    let mut rig = Rig::new().await;
    let (mut phone, _) = rig.phone("full").await;
    let (session, turn) = rig.working().await;
    for (behavior, other, expected) in [
        ("allow", false, Decision::AllowOnce),
        ("deny", false, Decision::Deny),
        ("allow", true, Decision::AllowOnce),
    ] {
        rig.approval(session, turn).await;
        let asked = phone.until("permissionRequest").await;
        assert_eq!(asked["toolName"], "command_execution");
        assert_eq!(asked["toolInput"], json!({ "command": "make", "args": [], "reason": "to build it" }));
        let mut input = asked["toolInput"].clone();
        if other {
            input["command"] = "make -n".into();
        }
        phone.send(answer(session, &asked, behavior, input.clone())).await;
        let AgentCommand::Decide { decision, .. } = rig.command().await else { panic!("no decision") };
        assert_eq!((decision.decision, decision.by.as_str()), (expected, "Ada's phone"));
        assert_eq!(decision.input, other.then_some(input), "what nobody changed is not sent");
        phone.shows("the card is gone", |app| app.agent(&session.to_string()).asked.is_empty()).await;
    }
}

#[tokio::test]
async fn what_was_decided_elsewhere_is_withdrawn_and_the_loser_is_told() {
    let mut rig = Rig::new().await;
    let (mut one, _) = rig.phone("full").await;
    let (mut other, _) = rig.phone("full").await;
    let (session, turn) = rig.working().await;
    let approval = rig.approval(session, turn).await;
    let second = rig.approval(session, turn).await;
    let asked = one.until("permissionRequest").await;
    one.until("permissionRequest").await;
    other.until("permissionRequest").await;
    other.until("permissionRequest").await;
    let rows = other.said(session);
    rig.call("POST", format!("/api/v1/approvals/{approval}"))
        .json(&json!({ "decision": "deny" }))
        .send()
        .await
        .ok(200);
    for phone in [&mut one, &mut other] {
        let withdrawn = phone.until("agentHistory").await;
        assert_eq!(withdrawn["messages"], json!([]));
        assert_eq!(withdrawn["pendingPermissions"][0]["requestId"], format!("approval-{second}"));
        assert_eq!(withdrawn["pendingPermissions"].as_array().unwrap().len(), 1);
    }
    assert_eq!(other.said(session), rows, "no message is touched");
    rig.command().await;
    one.send(answer(session, &asked, "allow", asked["toolInput"].clone())).await;
    assert!(one.until("error").await["error"].as_str().unwrap().contains("already decided"));
    assert_eq!(one.until("agentHistory").await["pendingPermissions"].as_array().unwrap().len(), 1);
    // The end of the turn takes the rest away.
    rig.finish(session, turn).await;
    other.shows("nothing is asked", |app| app.agent(&session.to_string()).asked.is_empty()).await;
    assert!(rig.left().is_empty(), "the agent heard one answer");
}

#[tokio::test]
async fn a_question_is_a_card_and_a_permission_and_its_answers_come_back() {
    let mut rig = Rig::new().await;
    let (mut phone, _) = rig.phone("full").await;
    let (session, turn) = rig.working().await;
    let fields = json!([
        { "id": "db", "label": "Database", "text": "Which database?", "kind": "one",
          "choices": [{ "label": "SQLite", "description": "small" }, { "label": "Postgres" }] },
        { "id": "tags", "label": "Tags", "text": "Which tags?", "kind": "many",
          "choices": [{ "label": "a" }, { "label": "b" }] },
    ]);
    rig.question(session, turn, fields.clone()).await;
    let asked = phone.until("permissionRequest").await;
    assert_eq!(asked["toolName"], "AskUserQuestion");
    let shown = &asked["toolInput"]["questions"];
    assert_eq!(shown[0]["options"][0], json!({ "label": "SQLite", "description": "small" }));
    assert_eq!((&shown[0]["multiSelect"], &shown[1]["multiSelect"]), (&json!(false), &json!(true)));
    assert!(phone.said(session).contains(&"tool: AskUserQuestion".to_owned()), "the card comes first");
    let mut input = asked["toolInput"].clone();
    input["answers"] = json!({ "Which database?": "SQLite", "Which tags?": "a, b" });
    phone.send(answer(session, &asked, "allow", input)).await;
    let AgentCommand::Answer { answer: given, .. } = rig.command().await else { panic!("no answer") };
    assert_eq!(json!(given.answers), json!({ "db": "SQLite", "tags": ["a", "b"] }));
    phone
        .shows("the result", |app| {
            let agent = app.agent(&session.to_string());
            agent.asked.is_empty() && agent.running() == 0
        })
        .await;

    rig.question(session, turn, fields).await;
    let asked = phone.until("permissionRequest").await;
    phone.send(answer(session, &asked, "deny", Value::Null)).await;
    let AgentCommand::Answer { answer: given, .. } = rig.command().await else { panic!("no answer") };
    assert_eq!(given.action, AnswerAction::Decline);
}

#[tokio::test]
async fn a_phone_that_only_approves_decides_and_does_nothing_else() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    rig.approval(session, turn).await;
    let (mut phone, _) = rig.phone("approve").await;
    phone.until("agentHistory").await;
    let asked = phone.app.agent(&session.to_string()).asked[0].clone();
    let mut changed = asked["toolInput"].clone();
    changed["command"] = "rm".into();
    phone.send(answer(session, &asked, "allow", changed)).await;
    assert!(phone.until("error").await["error"].as_str().unwrap().contains("may not change"));
    phone.send(answer(session, &asked, "allow", asked["toolInput"].clone())).await;
    let AgentCommand::Decide { decision, .. } = rig.command().await else { panic!("no decision") };
    assert_eq!((decision.decision, decision.input), (Decision::AllowOnce, None));
    rig.question(session, turn, json!([{ "id": "a", "label": "A", "text": "A?", "kind": "text" }])).await;
    let asked = phone.until("permissionRequest").await;
    phone.send(answer(session, &asked, "allow", json!({ "answers": { "A?": "x" } }))).await;
    phone.until("error").await;
    assert!(rig.left().is_empty());
}

#[tokio::test]
async fn what_waits_in_a_session_that_appears_is_asked_once() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    rig.approval(session, turn).await;
    let archive = async |archived: bool| {
        let update = rig.call("PATCH", format!("/api/v1/sessions/{session}"));
        update.json(&json!({ "archived": archived })).send().await.ok(200);
    };
    archive(true).await;
    let (mut phone, _) = rig.phone("full").await;
    phone.settle().await;
    assert!(phone.app.agents.is_empty());
    archive(false).await;
    phone.until("permissionRequest").await;
    phone.settle().await;
    assert_eq!(phone.said(session), ["user: go"]);
    assert_eq!(phone.app.agent(&session.to_string()).asked.len(), 1);
}

//! The real codex: what turns of it do that no scenario tells.

use longshore_model::approval::Subject;
use longshore_model::event::Body;
use longshore_model::item::{PlanStatus, ToolStatus};
use longshore_model::lifecycle::{TurnErrorCode, TurnOutcome};
use longshore_model::timeline::Content;
use serde_json::json;

use super::rig::{Rig, Talk};

fn run(command: &str) -> serde_json::Value {
    json!({ "call": "exec_command", "args": { "cmd": command, "yield_time_ms": 30_000 } })
}

#[tokio::test]
async fn a_plain_turn_with_reasoning() {
    let rig = Rig::with(json!([{
        "do": [
            { "reason": "Thinking about hello" },
            { "say": "Hello from the script.", "chunks": 4, "delay_ms": 5 },
        ],
        "usage": { "input": 100, "cached": 40, "output": 20, "reasoning": 5 },
    }]))
    .await;
    let mut talk = rig.talk("full", "hi").await;
    talk.until_turn_ends_somehow().await;
    assert_eq!(talk.messages(), ["Hello from the script."]);
    assert_eq!(talk.said(|body| matches!(body, Body::ReasoningDone { .. })), ["Thinking about hello"]);
    let deltas = talk.said(|body| matches!(body, Body::MessageDelta)).concat();
    assert_eq!(deltas, "Hello from the script.", "it was streamed");
    let end = talk.events.iter().find_map(|event| match &event.body {
        Body::TurnFinished(end) => Some(end.clone()),
        _ => None,
    });
    let end = end.unwrap();
    let usage = end.usage.unwrap();
    assert_eq!((usage.input, usage.cached_input, usage.output), (Some(100), Some(40), Some(20)));
    assert_eq!((end.outcome, end.cost_usd), (TurnOutcome::Completed, None), "what is unknown is not 0");
    let info = talk.info().await;
    assert_eq!((info.title.as_str(), info.preview.as_deref()), ("hi", Some("Hello from the script.")));
    assert!(info.native.is_some() && info.context_percent.is_some());
}

#[tokio::test]
async fn two_approvals_open_at_once_are_answered_in_reverse() {
    let rig = Rig::with(json!([
        { "do": [
            { "call": "exec_command", "args": { "cmd": "touch a" }, "id": "call_a" },
            { "call": "exec_command", "args": { "cmd": "touch b" }, "id": "call_b" },
        ] },
        { "do": [{ "say": "Both." }] },
    ]))
    .await;
    let mut talk = rig.talk("ask", "make both").await;
    let asked = talk.until_asked(2).await;
    assert_eq!(asked.len(), 2, "both wait at the same time");
    talk.decide(&asked[1], "deny").await.unwrap();
    talk.decide(&asked[0], "allow_once").await.unwrap();
    assert_eq!(talk.until_turn_ends(talk.last_turn()).await, TurnOutcome::Completed);
    let made = |subject: &Subject| match subject {
        Subject::Command { command, .. } => rig.work().join(command.rsplit(' ').next().unwrap()).exists(),
        _ => panic!("not a command"),
    };
    assert_eq!((made(&asked[0].request.subject), made(&asked[1].request.subject)), (true, false));
}

#[tokio::test]
async fn two_clients_answer_one_approval_at_the_same_moment() {
    let rig = Rig::with(json!([{ "do": [run("echo x >> made")] }, { "do": [{ "say": "Done." }] }])).await;
    let mut talk = rig.talk("ask", "make it").await;
    let asked = talk.until_asked(1).await;
    let mut other = rig.follow(talk.session, longshore_model::id::Seq::ZERO).await;
    let (mine, theirs) = tokio::join!(talk.decide(&asked[0], "allow_once"), other.decide(&asked[0], "deny"));
    assert_ne!(mine.is_ok(), theirs.is_ok(), "one wins: {mine:?} {theirs:?}");
    let refused = mine.err().or(theirs.err()).unwrap();
    let refused = refused.downcast::<longshore::client::Refused>().unwrap();
    assert_eq!(refused.code, "already_decided");
    talk.until_turn_ends(talk.last_turn()).await;
    other.until_turn_ends(talk.last_turn()).await;
    let record = |talk: &Talk| {
        let decided = talk.events.iter().filter(|event| matches!(event.body, Body::ApprovalDecided { .. }));
        decided.cloned().collect::<Vec<_>>()
    };
    assert_eq!(record(&talk).len(), 1);
    assert_eq!(record(&talk), record(&other), "both see the same record");
    let Body::ApprovalDecided { decision, .. } = &record(&talk)[0].body else { unreachable!() };
    assert_eq!(decision.by, "owner");
    assert_eq!(
        serde_json::to_value(decision).unwrap(),
        refused.details["decision"],
        "the loser is told the winner's"
    );
    assert_eq!(rig.work().join("made").exists(), decision.decision.allows(), "the agent heard that one");
}

#[tokio::test]
async fn a_file_change_shows_its_diff_before_and_after() {
    let patch = "*** Begin Patch\n*** Update File: README.md\n@@\n # demo\n-line two\n+line TWO\n*** Add File: new.txt\n+hello\n+world\n*** End Patch\n";
    let rig = Rig::with(json!([
        { "do": [{ "custom": "apply_patch", "input": patch, "id": "p1" }] },
        { "do": [{ "say": "Changed." }] },
    ]))
    .await;
    std::fs::write(rig.work().join("README.md"), "# demo\nline two\n").unwrap();
    let mut talk = rig.talk("ask", "change it").await;
    let asked = talk.until_asked(1).await;
    let Subject::Edit { changes, .. } = &asked[0].request.subject else { panic!("{:?}", asked[0].request) };
    assert_eq!(changes.len(), 2);
    assert!(changes.iter().any(|change| change.diff.contains("+line TWO")), "{changes:?}");
    assert!(changes.iter().any(|change| change.path.ends_with("new.txt") && change.diff.contains("+hello")));
    talk.decide(&asked[0], "allow_once").await.unwrap();
    talk.until_turn_ends(talk.last_turn()).await;
    assert_eq!(std::fs::read_to_string(rig.work().join("README.md")).unwrap(), "# demo\nline TWO\n");
    let diffs: Vec<ToolStatus> = talk
        .timeline
        .items
        .iter()
        .filter_map(|item| match &item.content {
            Content::Diff { status, .. } => Some(*status),
            _ => None,
        })
        .collect();
    assert_eq!(diffs, [ToolStatus::Completed], "{}", talk.story());
    let whole = talk.said(|body| matches!(body, Body::TurnDiff));
    assert!(whole.last().is_some_and(|diff| diff.contains("+line TWO")), "the turn has a diff of its own");
}

#[tokio::test]
async fn a_plan_is_kept() {
    let plan = |first: &str, second: &str| {
        json!({ "call": "update_plan", "args": { "plan": [
            { "step": "Look", "status": first }, { "step": "Leap", "status": second },
        ] } })
    };
    let rig = Rig::with(json!([
        { "do": [plan("in_progress", "pending")] },
        { "do": [plan("completed", "in_progress")] },
        { "do": [{ "say": "Planned." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "plan it").await;
    talk.until_turn_ends_somehow().await;
    let plans: Vec<_> = talk
        .timeline
        .items
        .iter()
        .filter_map(|item| match &item.content {
            Content::Plan { steps } => Some(steps.iter().map(|step| step.status).collect::<Vec<_>>()),
            _ => None,
        })
        .collect();
    assert_eq!(plans, [[PlanStatus::Completed, PlanStatus::InProgress]], "one plan, as it stands at the end");
}

#[tokio::test]
async fn a_question_in_plan_mode_is_answered() {
    let question = json!({ "questions": [{
        "id": "color", "header": "Color", "question": "Which color?",
        "options": [{ "label": "Blue", "description": "calm" }, { "label": "Red", "description": "loud" }],
    }] });
    let rig = Rig::with(json!([
        { "do": [{ "call": "request_user_input", "args": question }] },
        { "do": [{ "say": "Blue it is." }] },
    ]))
    .await;
    let mut talk = rig.talk("plan", "paint it").await;
    let open = talk.until_question().await;
    assert_eq!(open.request.fields[0].choices[0].label, "Blue");
    let field = open.request.fields[0].id.clone();
    let wrong = json!({ "question": open.request.question, "answers": { "nothing": "asked" } });
    assert!(talk.client.call::<serde_json::Value>("answer", wrong).await.is_err());
    let right = json!({ "question": open.request.question, "answers": { field: "Blue" } });
    let _: serde_json::Value = talk.client.call("answer", right).await.unwrap();
    assert_eq!(talk.until_turn_ends(talk.last_turn()).await, TurnOutcome::Completed);
    let heard = rig.heard_by_model(2).await;
    assert!(heard.contains("Blue"), "the model hears it");
}

#[tokio::test]
async fn an_mcp_tool_asks_for_approval_and_elicits() {
    let server = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/agents/mcp-server.mjs");
    let config =
        format!("[mcp_servers.demo]\ncommand = \"node\"\nargs = [{:?}]\n", server.canonicalize().unwrap());
    let rig = Rig::with_config(
        json!([
            { "do": [{ "call": "confirm", "namespace": "mcp__demo", "args": { "x": "1" } }] },
            { "do": [{ "call": "write", "namespace": "mcp__demo", "args": { "x": "2" } }] },
            { "do": [{ "say": "Both done." }] },
        ]),
        &config,
    )
    .await;
    let mut talk = rig.talk("ask", "use the tools").await;
    let open = talk.until_question().await;
    assert_eq!((open.text.as_deref(), open.request.source.as_deref()), (Some("Really?"), Some("demo")));
    let answer = json!({ "question": open.request.question, "answers": { "ok": true, "name": "me" } });
    let _: serde_json::Value = talk.client.call("answer", answer).await.unwrap();
    let asked = talk.until_asked(1).await;
    assert!(
        matches!(&asked[0].request.subject, Subject::Tool { name, .. } if name == "demo.write"),
        "{asked:?}"
    );
    talk.decide(&asked[0], "allow_once").await.unwrap();
    assert_eq!(talk.until_turn_ends(talk.last_turn()).await, TurnOutcome::Completed);
    let outputs = talk.said(|body| matches!(body, Body::ToolFinished(_))).join("\n");
    assert!(outputs.contains("elicited") && outputs.contains("wrote"), "{outputs}\n{}", talk.story());
}

/// What a model that fails in some way does to a turn.
async fn failing(step: serde_json::Value) -> (Talk, Rig) {
    let rig = Rig::with(json!([step])).await;
    let mut talk = rig.talk("full", "go").await;
    talk.until_turn_ends_somehow().await;
    (talk, rig)
}

fn code_of(talk: &Talk) -> Option<TurnErrorCode> {
    talk.events.iter().find_map(|event| match &event.body {
        Body::TurnFinished(end) => Some(end.error.as_ref()?.code),
        _ => None,
    })
}

#[tokio::test]
async fn a_model_that_answers_500_fails_the_turn_and_not_the_session() {
    let (mut talk, rig) =
        failing(json!({ "http": 500, "body": { "error": { "message": "boom" } }, "repeat": "forever" }))
            .await;
    assert!(code_of(&talk).is_some(), "{}", talk.story());
    assert!(talk.events.iter().any(|event| matches!(event.body, Body::Notice { .. })), "retries are told");
    rig.model.replace(
        longshore_models::script::Script::from_value(json!([{ "do": [{ "say": "Back." }] }])).unwrap(),
    );
    let turn = talk.prompt("again").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed);
}

#[tokio::test]
async fn a_model_that_answers_429_is_told_as_rate_limited() {
    let body = json!({ "error": { "code": "rate_limit_exceeded", "message": "slow down" } });
    let (talk, _rig) = failing(json!({ "http": 429, "body": body, "repeat": "forever" })).await;
    assert_eq!(code_of(&talk), Some(TurnErrorCode::RateLimited), "{}", talk.story());
}

#[tokio::test]
async fn a_stream_that_is_cut_leaves_what_was_said() {
    let (talk, _rig) = failing(
        json!({ "do": [{ "say": "Half a sen", "chunks": 2, "unfinished": true }, { "cut": true }], "repeat": "forever" }),
    )
    .await;
    assert!(code_of(&talk).is_some(), "{}", talk.story());
    let partial =
        talk.events.iter().any(|event| matches!(event.body, Body::MessageDone { partial: true, .. }));
    assert!(partial, "{}", talk.story());
    assert!(talk.messages().iter().all(|message| "Half a sen".starts_with(message)));
}

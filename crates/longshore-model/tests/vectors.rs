//! The vectors: events in, timeline out. Every fold, in whatever language, runs the same files.

use std::path::Path;

use longshore_model::event::Event;
use longshore_model::timeline::Timeline;
use serde_json::{Value, json};

use crate::stage::Stage;

#[test]
fn every_vector_folds_to_its_timeline() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let vector: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let events: Vec<Event> = serde_json::from_value(vector["events"].clone()).unwrap();
        let timeline = serde_json::to_value(Timeline::of(&events)).unwrap();
        assert_eq!(timeline, vector["timeline"], "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 3, "there are vectors in {}", folder.display());
}

/// Writes the vectors anew from the scenes below: run with `LONGSHORE_BLESS=1` after a wanted change, and read the
/// difference before committing it.
#[test]
fn vectors_can_be_written_anew() {
    for (name, stage) in scenes() {
        let vector = json!({ "events": stage.events, "timeline": Timeline::of(&stage.events) });
        let text = format!("{vector:#}\n");
        if std::env::var_os("LONGSHORE_BLESS").is_some() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(format!("{name}.json")), &text).unwrap();
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/vectors/{name}.json"));
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{name} is stale: bless it");
    }
}

fn scenes() -> Vec<(&'static str, Stage)> {
    use longshore_model::event::{Body, Draft, NoticeLevel};
    use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
    use longshore_model::lifecycle::{Sleep, TurnOutcome};

    let mut plain = Stage::ready();
    let turn = plain.prompt("hello");
    let (thought, message) = (plain.item(), plain.item());
    plain.said(Draft::new(Body::ReasoningDelta).turn(turn).item(thought).text("think"));
    plain.said(Draft::new(Body::ReasoningDone { partial: false }).turn(turn).item(thought).text("thinking"));
    plain.said(Draft::new(Body::MessageDelta).turn(turn).item(message).text("Hel"));
    plain.said(Draft::new(Body::MessageDelta).turn(turn).item(message).text("lo"));
    plain.said(
        Draft::new(Body::MessageDone { phase: None, partial: false }).turn(turn).item(message).text("Hello!"),
    );
    plain.finish(turn, TurnOutcome::Completed);

    let mut tool = Stage::ready();
    let turn = tool.prompt("run it");
    let item = tool.item();
    let call = ToolCall {
        name: "exec_command".to_owned(),
        kind: ToolKind::Execute,
        command: Some("make test".to_owned()),
        cwd: Some("/home/dev/project".to_owned()),
        input: json!({ "cmd": "make test" }),
    };
    tool.said(Draft::new(Body::ToolStarted(call)).turn(turn).item(item).text("make test"));
    tool.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("line 2\n"));
    let outcome = ToolOutcome { exit_code: Some(0), ..ToolOutcome::of(ToolStatus::Completed) };
    tool.said(Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item).text("line 1\nline 2\n"));
    tool.finish(turn, TurnOutcome::Completed);

    let mut cut = Stage::ready();
    let turn = cut.prompt("go on");
    let message = cut.item();
    cut.said(Draft::new(Body::MessageDelta).turn(turn).item(message).text("I was about to"));
    cut.gone(Sleep { signal: Some(9), ..Sleep::default() }, "the agent was killed");

    let mut retried = Stage::ready();
    let turn = retried.prompt("hello");
    let line = retried.item();
    let notice = || Draft::new(Body::Notice { level: NoticeLevel::Warning }).turn(turn);
    retried.said(notice().item(line).text("429; retry 1 of 10 in 1 s."));
    retried.said(notice().text("The conversation was not compacted."));
    retried.said(notice().item(line).text("429; retry 2 of 10 in 2 s."));
    retried.finish(turn, TurnOutcome::Failed);

    vec![
        ("retried", retried),
        ("plain", plain),
        ("tool", tool),
        ("cut", cut),
        ("asked", asked()),
        ("edited", edited()),
        ("shared", shared()),
    ]
}

/// Approvals and questions: answered, refused, and no longer asked.
fn asked() -> Stage {
    use longshore_model::approval::{
        AnswerAction, ApprovalRequest, Decision, Field, FieldKind, QuestionRequest, Subject,
    };
    use longshore_model::command::Command;
    use longshore_model::event::{Body, Draft};
    use longshore_model::id::QuestionId;
    use longshore_model::lifecycle::Sleep;

    let mut stage = Stage::ready();
    let turn = stage.prompt("deploy it");
    for decision in [Some(Decision::AllowOnce), Some(Decision::Deny), None] {
        let (item, approval) = (stage.item(), stage.approval());
        let subject = Subject::Command { command: "make deploy".to_owned(), cwd: None, always: Vec::new() };
        let options = vec![Decision::AllowOnce, Decision::Deny];
        let request = ApprovalRequest { approval, subject, options };
        stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn).item(item).text("it goes live"));
        if let Some(decision) = decision {
            let message = (decision == Decision::Deny).then(|| "not today".to_owned());
            stage.command(Command::Decide { approval, decision, message, input: None }).unwrap();
        }
    }
    for action in [Some(AnswerAction::Accept), None] {
        let question = stage.mint(QuestionId::mint);
        let field = Field {
            id: "color".to_owned(),
            label: "Color".to_owned(),
            text: "Which color?".to_owned(),
            kind: FieldKind::Text,
            choices: Vec::new(),
            open: false,
            secret: false,
            optional: false,
        };
        let request = QuestionRequest { question, source: None, fields: vec![field] };
        stage.said(Draft::new(Body::QuestionAsked(request)).turn(turn).text("Which color?"));
        if let Some(action) = action {
            let answers = [("color".to_owned(), json!("blue"))].into();
            stage.command(Command::Answer { question, action, answers }).unwrap();
        }
    }
    stage.gone(Sleep::default(), "the agent ended");
    stage
}

/// Diffs: of a tool, by themselves, cut short, and of a whole turn; a plan that goes on.
fn edited() -> Stage {
    use longshore_model::event::{Body, Draft};
    use longshore_model::item::{
        FileChange, FileChangeKind, FileDiff, PlanStatus, PlanStep, ToolCall, ToolKind, ToolOutcome,
        ToolStatus,
    };
    use longshore_model::lifecycle::TurnOutcome;

    let mut stage = Stage::ready();
    let turn = stage.prompt("fix it");
    let change = FileChange {
        path: "cart.py".to_owned(),
        kind: FileChangeKind::Update,
        moved_to: None,
        diff: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
    };
    let diff = |status, changes| Body::FileDiff(FileDiff { status, changes });
    let plan = stage.item();
    stage.said(Draft::new(Body::PlanDelta).turn(turn).item(plan).text("first"));
    for status in [PlanStatus::InProgress, PlanStatus::Completed] {
        let steps = vec![PlanStep { text: "fix".to_owned(), status }];
        stage.said(Draft::new(Body::PlanUpdated { steps }).turn(turn).item(plan));
    }
    let (tool, alone, cut) = (stage.item(), stage.item(), stage.item());
    let call = ToolCall { name: "Edit".to_owned(), kind: ToolKind::Edit, ..ToolCall::unknown() };
    stage.said(Draft::new(Body::ToolStarted(call.clone())).turn(turn).item(tool));
    stage.said(
        Draft::new(Body::ToolUpdated(ToolCall { input: json!({ "a": 1 }), ..call })).turn(turn).item(tool),
    );
    stage.said(Draft::new(diff(ToolStatus::Running, vec![change.clone()])).turn(turn).item(tool));
    stage.said(Draft::new(Body::ToolFinished(ToolOutcome::of(ToolStatus::Declined))).turn(turn).item(tool));
    stage.said(Draft::new(diff(ToolStatus::Running, vec![change.clone()])).turn(turn).item(alone));
    stage.said(Draft::new(diff(ToolStatus::Completed, vec![change.clone()])).turn(turn).item(alone));
    stage.said(Draft::new(diff(ToolStatus::Running, vec![change])).turn(turn).item(cut));
    stage.said(Draft::new(diff(ToolStatus::Failed, Vec::new())).turn(turn).item(cut));
    for whole in ["one", "one and two"] {
        stage.said(Draft::new(Body::TurnDiff).turn(turn).text(whole));
    }
    stage.finish(turn, TurnOutcome::Failed);
    stage
}

/// Work handed on, which is one thing with the call that hands it on, and the lines between things.
fn shared() -> Stage {
    use longshore_model::command::Command;
    use longshore_model::event::{Body, Draft, NoticeLevel};
    use longshore_model::id::SessionId;
    use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};
    use longshore_model::lifecycle::{Delegation, DelegationEnd, TurnOutcome};

    let mut stage = Stage::ready();
    let turn = stage.prompt("share it");
    for named in [true, false] {
        let (item, child) = (stage.item(), stage.mint(SessionId::mint));
        let delegation = Delegation { child, agent: "helper".into() };
        let item = named.then_some(item);
        stage
            .said(Draft::new(Body::DelegationStarted(delegation)).turn(turn).item(item).text("look into it"));
        let end = DelegationEnd { child, outcome: TurnOutcome::Completed };
        stage.said(Draft::new(Body::DelegationFinished(end)).turn(turn).item(item).text("found it"));
    }
    // By a call that waits for the work, and by one that does not. One child says something on the way.
    for waits in [true, false] {
        let (item, child) = (stage.item(), stage.mint(SessionId::mint));
        let call = ToolCall {
            name: "delegate_to_helper".to_owned(),
            kind: ToolKind::Delegate,
            ..ToolCall::unknown()
        };
        let delegation = Delegation { child, agent: "helper".into() };
        let end = DelegationEnd { child, outcome: TurnOutcome::Completed };
        let returns =
            Draft::new(Body::ToolFinished(ToolOutcome::of(ToolStatus::Completed))).turn(turn).item(item);
        let ends = Draft::new(Body::DelegationFinished(end)).turn(turn).item(item).text("found it");
        stage.said(Draft::new(Body::ToolStarted(call)).turn(turn).item(item));
        stage
            .said(Draft::new(Body::DelegationStarted(delegation)).turn(turn).item(item).text("look into it"));
        stage.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("I look"));
        if waits {
            stage.said(ends);
            stage.said(returns.text("found it"));
        } else {
            stage.said(returns.text("it works in the background"));
            stage.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("too late"));
            stage.said(ends);
        }
    }
    // One that still works when the session is closed.
    let (item, child) = (stage.item(), stage.mint(SessionId::mint));
    let delegation = Delegation { child, agent: "helper".into() };
    stage.said(Draft::new(Body::DelegationStarted(delegation)).turn(turn).item(item).text("look again"));
    stage.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text("I look"));
    for level in [NoticeLevel::Info, NoticeLevel::Warning, NoticeLevel::Error] {
        stage.said(Draft::new(Body::Notice { level }).turn(turn).text("a word on the way"));
    }
    stage.finish(turn, TurnOutcome::Completed);
    stage.command(Command::Rename("Shared".to_owned())).unwrap();
    stage.command(Command::Close).unwrap();
    stage
}

#[test]
fn a_delegation_and_the_call_that_makes_it_are_one_thing() {
    use longshore_model::timeline::Content;

    let timeline = Timeline::of(&shared().events);
    let mut ids: Vec<_> = timeline.items.iter().filter_map(|item| item.id).collect();
    let told = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), told, "no two things have one id: {:#?}", timeline.items);
    let called = timeline.items.iter().filter(|item| {
        matches!(&item.content, Content::Delegation { call: Some(_), outcome: Some(_), end: Some(_), task, .. }
            if task == "look into it" && item.text == "found it" && item.ended_at.is_some())
    });
    assert_eq!(called.count(), 2, "{:#?}", timeline.items);
    assert!(!timeline.items.iter().any(|item| matches!(item.content, Content::Tool { .. })));
}

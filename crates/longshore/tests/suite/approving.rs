//! What a person approves is what will happen: with the real agents, of every version that is pinned.

use std::process::Stdio;

use longshore_model::approval::Subject;
use longshore_model::capability::Mode;
use longshore_model::info::OpenApproval;
use longshore_model::item::FileChange;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};

use super::rig::{Rig, Talk, WITHIN, until};
use super::scripted::{CLAUDE, CLAUDE_AGENT_ACP, CLAUDE_CODE_ACP, CLAUDE_NEXT, QWEN, ScriptedAgent, steps};

const CART: &str = "def total(prices, discount):\n    return sum(prices) + discount\n";

/// How the model of Claude Code reads and edits a file.
fn claude_edits(path: &str) -> [Value; 2] {
    [
        json!({ "call": "Read", "args": { "file_path": path } }),
        json!({ "call": "Edit", "args": { "file_path": path, "old_string": "sum(prices) +", "new_string": "sum(prices) -" } }),
    ]
}

fn qwen_edits(path: &str) -> [Value; 2] {
    let [_, mut edit] = claude_edits(path);
    edit["call"] = json!("edit");
    [json!({ "call": "read_file", "args": { "file_path": path, "absolute_path": path } }), edit]
}

fn change_in(asked: &OpenApproval) -> &FileChange {
    let Subject::Edit { changes, .. } = &asked.request.subject else { panic!("{asked:?}") };
    assert_eq!(changes.len(), 1, "{changes:?}");
    &changes[0]
}

/// The lines of a diff below its heads.
fn lines_of(change: &FileChange) -> Vec<&str> {
    change.diff.lines().filter(|line| !line.starts_with("---") && !line.starts_with("+++")).collect()
}

async fn sees_the_change(cast: &ScriptedAgent, edits: fn(&str) -> [Value; 2]) {
    let rig = Rig::with(json!([])).await;
    let path = rig.work().join("cart.py");
    std::fs::write(&path, CART).unwrap();
    let [read, edit] = edits(path.to_str().unwrap());
    let story = json!([{ "do": [read] }, { "do": [edit] }, { "do": [{ "say": "Done." }] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps(story)).unwrap());
    let mut talk = rig.open_with(cast.name, "ask").await;
    let turn = talk.prompt("mend it").await;
    let asked = talk.until_asked(1).await;
    assert_eq!(
        lines_of(change_in(&asked[0])),
        [
            "@@ -1,2 +1,2 @@",
            " def total(prices, discount):",
            "-    return sum(prices) + discount",
            "+    return sum(prices) - discount",
        ],
        "{}",
        talk.story()
    );
    talk.decide(&asked[0], "allow_once").await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), CART.replace('+', "-"));
}

#[tokio::test]
async fn claude_shows_the_lines_that_it_will_change() {
    sees_the_change(&CLAUDE, claude_edits).await;
}

#[tokio::test]
async fn a_newer_claude_shows_the_lines_that_it_will_change() {
    sees_the_change(&CLAUDE_NEXT, claude_edits).await;
}

#[tokio::test]
async fn claude_over_acp_shows_the_lines_that_it_will_change() {
    sees_the_change(&CLAUDE_CODE_ACP, claude_edits).await;
}

#[tokio::test]
async fn a_newer_claude_over_acp_shows_the_lines_that_it_will_change() {
    sees_the_change(&CLAUDE_AGENT_ACP, claude_edits).await;
}

#[tokio::test]
async fn qwen_shows_the_lines_that_it_will_change() {
    sees_the_change(&QWEN, qwen_edits).await;
}

#[tokio::test]
async fn what_qwen_does_is_printed_by_its_name_and_a_change_once_before_and_once_after() {
    let rig = Rig::with(json!([])).await;
    let path = rig.work().join("cart.py");
    std::fs::write(&path, CART).unwrap();
    let [read, edit] = qwen_edits(path.to_str().unwrap());
    let run = (QWEN.run)("echo heron > made.txt");
    let story = json!([{ "do": [read] }, { "do": [edit] }, { "do": [run] }, { "do": [{ "say": "Done." }] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps(story)).unwrap());
    let mut talk = rig.open_with(QWEN.name, "ask").await;
    let mut watching = rig.longshore();
    let watching = watching.args(["prompt", "-", "mend it"]).stdout(Stdio::piped()).spawn().unwrap();
    for count in 1..=2 {
        let asked = talk.until_asked(count).await;
        talk.decide(asked.last().unwrap(), "allow_once").await.unwrap();
    }
    let ended =
        tokio::time::timeout(WITHIN, watching.wait_with_output()).await.expect("it did not end").unwrap();
    let shown = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{shown}");
    assert_eq!(shown.matches("return sum(prices) - discount").count(), 2, "{shown}");
    assert!(shown.contains("Run  echo heron"), "{shown}");
    for stands_in in ["Terminal", "Preparing", "● tool", "A tool"] {
        assert!(!shown.contains(stands_in), "{stands_in}: {shown}");
    }
}

#[tokio::test]
async fn what_a_stopped_command_was_for_is_not_taken_for_its_output() {
    let wait = json!({ "command": "touch began; sleep 100", "description": "look for the heron" });
    let rig = Rig::with(steps(json!([{ "do": [{ "call": "Bash", "args": wait }] }]))).await;
    let mut talk = rig.open_with(CLAUDE_AGENT_ACP.name, "full").await;
    let turn = talk.prompt("wait").await;
    let began = rig.work().join("began");
    until("the command runs", || began.exists()).await;
    talk.call("interrupt", json!({})).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    let tools = talk.tools();
    assert!(tools.len() == 1 && !tools[0].0.contains("heron"), "{tools:?}");
}

/// While it plans, it asks a person before it does anything.
async fn asks_while_it_plans(cast: &ScriptedAgent) {
    let story = json!([{ "do": [(cast.run)("echo x > made.txt")] }, { "do": [{ "say": "Done." }] }]);
    let rig = Rig::with(steps(story)).await;
    let mut talk: Talk = rig.open_with(cast.name, "plan").await;
    let turn = talk.prompt("make it").await;
    let asked = talk.until_asked(1).await;
    assert!(matches!(&asked[0].request.subject, Subject::Command { .. }), "{asked:?}");
    talk.decide(&asked[0], "deny").await.unwrap();
    talk.until_turn_ends(turn).await;
    assert!(!rig.work().join("made.txt").exists());
}

#[tokio::test]
async fn claude_asks_while_it_plans() {
    asks_while_it_plans(&CLAUDE).await;
}

#[tokio::test]
async fn a_newer_claude_asks_while_it_plans() {
    asks_while_it_plans(&CLAUDE_NEXT).await;
}

#[tokio::test]
async fn a_newer_claude_over_acp_asks_while_it_plans() {
    asks_while_it_plans(&CLAUDE_AGENT_ACP).await;
}

/// The plan of the story, and what follows it: a change of a file.
fn plan_story(rig: &Rig) -> Value {
    let path = rig.work().join("new.txt");
    let write = json!({ "call": "Write", "args": { "file_path": path, "content": "grey heron\n" } });
    steps(json!([
        { "do": [{ "call": "ExitPlanMode", "args": { "plan": "# The plan\n\n1. Write it" } }] },
        { "do": [write] },
        { "do": [{ "say": "Done." }] },
    ]))
}

async fn goes_ahead_with_its_plan(cast: &ScriptedAgent) {
    for (decision, mode) in [("allow_once", Mode::Ask), ("allow_session", Mode::AutoEdit)] {
        let rig = Rig::with(json!([])).await;
        rig.model.replace(longshore_models::script::Script::from_value(plan_story(&rig)).unwrap());
        let mut talk = rig.open_with(cast.name, "plan").await;
        let turn = talk.prompt("plan it").await;
        let asked = talk.until_asked(1).await;
        let plan = Subject::Plan { plan: "# The plan\n\n1. Write it".to_owned() };
        assert_eq!(asked[0].request.subject, plan, "{}", talk.story());
        talk.decide(&asked[0], decision).await.unwrap();
        if mode == Mode::Ask {
            let asked = talk.until_asked(2).await;
            assert!(matches!(&asked.last().unwrap().request.subject, Subject::Edit { .. }), "{asked:?}");
            talk.decide(asked.last().unwrap(), "allow_once").await.unwrap();
        }
        assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
        assert!(rig.work().join("new.txt").exists(), "{}", talk.story());
        assert_eq!(talk.info().await.mode, mode, "{decision}\n{}", talk.story());
    }
}

#[tokio::test]
async fn claude_goes_ahead_with_its_plan_and_asks_about_edits_or_not() {
    goes_ahead_with_its_plan(&CLAUDE).await;
}

#[tokio::test]
async fn a_newer_claude_goes_ahead_with_its_plan_and_asks_about_edits_or_not() {
    goes_ahead_with_its_plan(&CLAUDE_NEXT).await;
}

#[tokio::test]
async fn a_newer_claude_over_acp_goes_ahead_with_its_plan_and_asks_about_edits_or_not() {
    goes_ahead_with_its_plan(&CLAUDE_AGENT_ACP).await;
}

#[tokio::test]
async fn claude_goes_on_planning_after_a_no_and_hears_why() {
    let story = json!([
        { "do": [{ "call": "ExitPlanMode", "args": { "plan": "# The plan" } }] },
        { "do": [{ "say": "I plan on." }] },
    ]);
    let rig = Rig::with(steps(story)).await;
    let mut talk = rig.open_with(CLAUDE.name, "plan").await;
    let turn = talk.prompt("plan it").await;
    let asked = talk.until_asked(1).await;
    let no = json!({ "approval": asked[0].request.approval, "decision": "deny", "message": "name the files first" });
    let _: Value = talk.client.call("decide", no).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(rig.model_heard(&["name the files first"]), "the words of the no reach the model");
    assert_eq!(talk.info().await.mode, Mode::Plan);
}

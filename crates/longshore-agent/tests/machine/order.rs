//! When calls begin, what they are called, and how many other sessions work at once.

use longshore_agent::machine::MachineInput;
use longshore_agent::tools::CallVerdict;
use longshore_model::command::AgentCommand;
use longshore_model::delegation::{ChildNews, DelegationRequest};
use longshore_model::event::Body;
use longshore_model::lifecycle::TurnOutcome;
use longshore_models::tool::ToolDefinition;
use serde_json::json;

use super::harness::{MachineHarness, call, ended};

fn begun(harness: &MachineHarness) -> Vec<String> {
    let name = |draft: &longshore_model::event::Draft| match &draft.body {
        Body::ToolStarted(shown) => Some(shown.input["n"].to_string()),
        _ => None,
    };
    harness.drafts().filter_map(name).collect()
}

#[test]
fn a_call_is_shown_when_it_begins_and_looks_do_not_wait_for_commands() {
    let mut harness = MachineHarness::new();
    let turn = harness.prompt("go");
    harness.answer(vec![
        call("a", "shell", r#"{"n":1}"#),
        call("b", "shell", r#"{"n":2}"#),
        call("c", "read_file", r#"{"n":3}"#),
        ended(),
    ]);
    assert!(begun(&harness).is_empty(), "nothing has begun");
    let runs: Vec<String> = harness.let_go().into_iter().map(|(call, _)| call.id).collect();
    assert_eq!(runs, ["a", "c"], "what only looks does not wait for commands");
    assert_eq!(begun(&harness), ["1", "3"]);
    harness.ran("a", "A");
    assert_eq!(begun(&harness), ["1", "3", "2"]);
    // What never began is shown with its end.
    harness.tell(AgentCommand::Interrupt { turn });
    assert_eq!(begun(&harness).len(), 3);
    let finished = harness.drafts().filter(|draft| matches!(draft.body, Body::ToolFinished(_))).count();
    assert_eq!(finished, 3);
    let turn = harness.prompt("again");
    harness.answer(vec![call("d", "shell", r#"{"n":4}"#), call("e", "shell", r#"{"n":5}"#), ended()]);
    harness.let_go();
    let at = harness.drafts().count();
    harness.tell(AgentCommand::Interrupt { turn });
    let kinds: Vec<String> = harness
        .drafts()
        .skip(at)
        .map(|draft| serde_json::to_value(&draft.body).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["tool_finished", "tool_started", "tool_finished", "turn_finished"]);
}

#[test]
fn what_is_offered_is_said_truly() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    let (_, request) = harness.asked().unwrap();
    assert!(
        request.instructions.contains("commands and edits run one after another"),
        "{}",
        request.instructions
    );
    let codex = request.tools.iter().find(|tool| tool.name == "delegate_to_codex").unwrap();
    assert!(
        codex.description.contains("4 may work side by side, further ones wait"),
        "{}",
        codex.description
    );
}

#[test]
fn a_tool_that_there_is_not_is_answered_with_all_that_there_are() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![call("a", "nothing", "{}"), ended()]);
    let verdict =
        CallVerdict::Refuse("there is no tool called `nothing`; there are shell, read_file".to_owned());
    harness.handle(MachineInput::Weighed { call: "a".to_owned(), verdict, preview: None });
    let heard = format!("{:?}", harness.heard().last());
    for name in [
        "shell, read_file, ",
        "ask_user",
        "update_plan",
        "create_todo",
        "delegate_to_codex",
        "delegate_to_think_execute",
    ] {
        assert!(heard.contains(name), "{name}: {heard}");
    }
}

#[test]
fn a_tool_of_a_server_goes_back_under_the_name_that_is_offered() {
    let mut harness = MachineHarness::new();
    let offered = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({ "type": "object" }),
        side_by_side: false,
    };
    let tools = vec![offered("a__hello"), offered("a__say_it"), offered("a__a_long_name_0123abcd")];
    harness.handle(MachineInput::Tools(tools));
    harness.prompt("go");
    harness.answer(vec![
        call("a", "a.hello", "{}"),
        call("b", "a.say/it", "{}"),
        call("c", "b.hello", "{}"),
        call("d", "a.a long name", "{}"),
        ended(),
    ]);
    let weighed: Vec<String> = harness.weighed().into_iter().map(|call| call.name).collect();
    assert_eq!(weighed, ["a__hello", "a__say_it", "b.hello", "a__a_long_name_0123abcd"]);
    harness.let_go();
    for id in ["a", "b", "c", "d"] {
        harness.ran(id, "hi");
    }
    let heard = format!("{:?}", harness.heard());
    assert!(heard.contains("\"a__hello\"") && !heard.contains("\"a.hello\""), "{heard}");
}

#[test]
fn a_fifth_delegation_waits_until_one_has_ended() {
    let mut harness = MachineHarness::new();
    let turn = harness.prompt("go");
    let mut calls: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .map(|id| call(id, "delegate_to_codex", &format!(r#"{{"task":"{id}"}}"#)))
        .collect();
    calls.push(ended());
    harness.answer(calls);
    let tasks = |harness: &MachineHarness| -> Vec<String> {
        let begun = harness.said.iter().filter_map(|said| match &said.delegate.as_ref()?.request {
            DelegationRequest::Begin(task) => Some(task.task.clone()),
            DelegationRequest::Recall => None,
        });
        begun.collect()
    };
    assert_eq!(tasks(&harness), ["a", "b", "c", "d"]);
    let shown = |harness: &MachineHarness| {
        harness.drafts().filter(|draft| matches!(draft.body, Body::ToolStarted(_))).count()
    };
    assert_eq!(shown(&harness), 4, "those that wait have not begun");
    let end = ChildNews::Ended { outcome: TurnOutcome::Completed, text: "done".to_owned() };
    harness.tell(AgentCommand::Child { call: "c".to_owned(), news: end.clone() });
    assert_eq!(tasks(&harness), ["a", "b", "c", "d", "e"]);
    assert_eq!(shown(&harness), 5);
    // One that waits is not called back: nobody knows of it.
    harness.tell(AgentCommand::Interrupt { turn });
    let recalled = harness.said.iter().filter_map(|said| said.delegate.as_ref());
    let recalled: Vec<&str> = recalled
        .filter(|one| one.request == DelegationRequest::Recall)
        .map(|one| one.call.as_str())
        .collect();
    assert_eq!(recalled, ["a", "b", "d", "e"]);
    assert_eq!(harness.outcome(), Some(TurnOutcome::Interrupted));
}

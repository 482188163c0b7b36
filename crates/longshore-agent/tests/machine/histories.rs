//! The conversation: legal for every API whatever happened, and the same when it is folded from its lines.

use std::sync::Arc;

use longshore_agent::AgentLine;
use longshore_agent::memory::Memory;
use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::PromptId;
use longshore_model::item::{PlanStatus, PlanStep};
use longshore_model::service::ModelApi;
use longshore_models::history::{History, HistoryItem, HistoryPart, INTERRUPTED, Role};
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

fn call(step: u64, id: &str) -> HistoryItem {
    HistoryItem::FunctionCall {
        step,
        call_id: id.to_owned(),
        name: "shell".to_owned(),
        arguments: "{}".to_owned(),
    }
}

fn thought(step: u64) -> HistoryItem {
    HistoryItem::Reasoning { step, api: ModelApi::Responses, from: None, data: json!({}) }
}

fn result(id: &str) -> HistoryItem {
    HistoryItem::result(id, format!("of {id}"), true)
}

fn user(text: &str) -> HistoryItem {
    HistoryItem::user(None, text, &[])
}

fn legal(items: Vec<HistoryItem>) -> Vec<HistoryItem> {
    let mut history = History::default();
    items.into_iter().for_each(|item| history.push(item));
    history.legal().iter().map(|item| HistoryItem::clone(item)).collect()
}

#[test]
fn results_follow_their_answer_in_the_order_of_the_calls() {
    let told = legal(vec![
        user("go"),
        call(1, "a"),
        result("b"),
        call(1, "b"),
        call(1, "c"),
        result("c"),
        result("a"),
    ]);
    let expected =
        vec![user("go"), call(1, "a"), call(1, "b"), call(1, "c"), result("a"), result("b"), result("c")];
    assert_eq!(told, expected);
}

#[test]
fn what_a_person_says_meanwhile_comes_after_the_results() {
    let told = legal(vec![call(1, "a"), user("wait"), result("a"), HistoryItem::assistant(2, "Yes.")]);
    assert_eq!(told, [call(1, "a"), result("a"), user("wait"), HistoryItem::assistant(2, "Yes.")]);
    let told = legal(vec![HistoryItem::assistant(1, "I"), user("wait"), call(1, "a"), result("a")]);
    assert_eq!(told, [HistoryItem::assistant(1, "I"), call(1, "a"), result("a"), user("wait")]);
}

#[test]
fn a_call_without_a_result_gets_one() {
    let told = legal(vec![user("go"), call(1, "a"), user("again"), call(2, "b"), result("b")]);
    let missing = HistoryItem::result("a", INTERRUPTED, false);
    assert_eq!(told, [user("go"), call(1, "a"), missing, user("again"), call(2, "b"), result("b")]);
}

#[test]
fn results_of_nothing_and_thoughts_that_came_to_nothing_are_left_out() {
    assert_eq!(legal(vec![user("go"), result("x"), thought(1)]), [user("go")]);
    assert_eq!(
        legal(vec![thought(1), HistoryItem::assistant(1, "so"), thought(1)]),
        [thought(1), HistoryItem::assistant(1, "so")]
    );
}

fn line(said: AgentLine) -> Raw {
    said.to_line().unwrap().into()
}

fn prompt(number: u128) -> PromptId {
    PromptId(Uuid::from_u128(number))
}

fn told(number: u128, text: &str, attachments: Vec<Attachment>) -> Raw {
    let body = Body::UserMessage { prompt: Some(prompt(number)), attachments, by: None };
    line(AgentLine::draft(Draft::new(body).text(text)))
}

#[test]
fn a_prompt_that_the_agent_died_of_is_remembered_all_the_same() {
    let heard = line(AgentLine::history(HistoryItem::user(Some(prompt(1)), "one", &[])));
    let memory = Memory::of_lines(&[told(1, "one", vec![]), heard, told(2, "two", vec![])]);
    let texts: Vec<HistoryItem> =
        memory.history.legal().iter().map(|item| HistoryItem::clone(item)).collect();
    assert_eq!(
        texts,
        [HistoryItem::user(Some(prompt(1)), "one", &[]), HistoryItem::user(Some(prompt(2)), "two", &[])]
    );
}

#[test]
fn what_came_with_a_prompt_is_found_where_it_was_told() {
    let source = AttachmentSource::Data("QUJD".to_owned());
    let image = Attachment { name: None, media_type: "image/png".to_owned(), source };
    let heard = line(AgentLine::history(HistoryItem::user(Some(prompt(1)), "one", &[])));
    let memory = Memory::of_lines(&[told(1, "one", vec![image.clone()]), heard]);
    let items = memory.history.legal();
    let HistoryItem::Message { content, role: Role::User, .. } = &*items[0] else { panic!("{items:?}") };
    assert_eq!(content[1], HistoryPart::Attached(image));
    assert_eq!(items.len(), 1);
}

#[test]
fn plan_rules_and_lines_that_say_nothing() {
    let steps = vec![PlanStep { text: "one".to_owned(), status: PlanStatus::Completed }];
    let memory = Memory::of_lines(&[
        "no json".into(),
        "{\"else\":1}".into(),
        line(AgentLine::history(HistoryItem::Allowed { rules: vec!["cargo test".to_owned()] })),
        line(AgentLine::draft(Draft::new(Body::PlanUpdated { steps: steps.clone() }))),
    ]);
    assert_eq!((memory.plan, memory.rules), (steps, vec!["cargo test".to_owned()]));
    assert!(memory.history.is_empty());
}

#[test]
fn the_log_reads_as_the_wire_of_responses_does() {
    let json = |item: &HistoryItem| serde_json::to_value(item).unwrap();
    assert_eq!(
        json(&result("call_123")),
        json!({ "type": "function_call_output", "call_id": "call_123",
            "output": { "content": "of call_123", "success": true } })
    );
    assert_eq!(
        json(&user("Create a file and write to it")),
        json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "Create a file and write to it" }] })
    );
}

/// What every API demands: results right after the answer that called, one for each call, and no others.
pub(super) fn check(items: &[Arc<HistoryItem>]) -> Result<(), String> {
    let mut owed: Vec<&str> = Vec::new();
    let mut answered = false;
    for item in items {
        match &**item {
            HistoryItem::FunctionCall { call_id, .. } if answered => {
                return Err(format!("{call_id} among results"));
            }
            HistoryItem::FunctionCall { call_id, .. } => owed.push(call_id),
            HistoryItem::FunctionCallOutput { call_id, .. } => {
                if owed.first() != Some(&call_id.as_str()) {
                    return Err(format!("{call_id} is not the result that is due: {owed:?}"));
                }
                owed.remove(0);
                answered = !owed.is_empty();
            }
            HistoryItem::Message { role: Role::User, .. } | HistoryItem::Summary { .. }
                if !owed.is_empty() =>
            {
                return Err(format!("words before the results of {owed:?}"));
            }
            HistoryItem::Message { .. } | HistoryItem::Reasoning { .. } if answered => {
                return Err("words among results".to_owned());
            }
            HistoryItem::Message { .. } | HistoryItem::Reasoning { .. } | HistoryItem::Summary { .. } => {}
            HistoryItem::Allowed { .. } => return Err("the model is told what was allowed".to_owned()),
        }
    }
    if owed.is_empty() { Ok(()) } else { Err(format!("no results for {owed:?}")) }
}

fn any_item() -> impl Strategy<Value = HistoryItem> {
    let id = || (0..6_u32).prop_map(|id| format!("c{id}"));
    prop_oneof![
        Just(user("hello")),
        (1..5_u64).prop_map(|step| HistoryItem::assistant(step, "so")),
        (1..5_u64).prop_map(thought),
        (1..5_u64, id()).prop_map(|(step, id)| call(step, &id)),
        id().prop_map(|id| result(&id)),
        Just(HistoryItem::Summary { text: "sum".to_owned() }),
    ]
}

proptest! {
    #[test]
    fn whatever_happened_is_legal(items in proptest::collection::vec(any_item(), 0..40)) {
        let mut history = History::default();
        let mut lines: Vec<Raw> = Vec::new();
        for item in items {
            lines.push(line(AgentLine::history(item.clone())));
            history.push(item);
        }
        prop_assert_eq!(check(&history.legal()), Ok(()));
        prop_assert_eq!(Memory::of_lines(&lines).history, history);
    }
}

//! Thoughts go back to the service that gave them, as it gave them, and to no other.

use longshore_agent::memory::Memory;
use longshore_drivers::react::settings::ReactSettings;
use longshore_model::event::Body;
use longshore_model::service::ModelApi;
use longshore_models::api::{self, Event};
use longshore_models::history::{History, HistoryItem};
use serde_json::{Value, json};

use super::harness::{MachineHarness, call, ended, settings, text};
use crate::stream_text::{call_delta, delta, finish, read};

/// What a Chat service is told after an answer of these chunks, by an agent that was started anew in between or not.
fn given_back(chunks: &[Value]) -> Value {
    let events = read(ModelApi::Chat, chunks);
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(events);
    harness.let_go();
    harness.ran("a", "A");
    let (_, request) = harness.asked().expect("the model was not asked");
    let body: Value = serde_json::from_str(&api::body(ModelApi::Chat, request)).unwrap();
    let mut anew = MachineHarness::with(settings(), harness.lines());
    anew.prompt("more");
    let (_, request) = anew.asked().unwrap();
    let revived: Value = serde_json::from_str(&api::body(ModelApi::Chat, request)).unwrap();
    assert_eq!(revived["messages"][2], body["messages"][2], "an agent that starts anew gives the same back");
    body["messages"][2].clone()
}

fn shell() -> Value {
    json!({ "index": 0, "id": "a", "type": "function", "function": { "name": "shell", "arguments": "{}" } })
}

fn function() -> Value {
    json!({ "name": "shell", "arguments": "{}" })
}

#[test]
fn deepseek_gets_its_thoughts_back() {
    let message = given_back(&[
        delta(json!({ "role": "assistant", "content": null, "reasoning_content": "" })),
        delta(json!({ "content": null, "reasoning_content": "Let me " })),
        delta(json!({ "content": null, "reasoning_content": "see." })),
        delta(json!({ "content": "Looking.", "reasoning_content": null })),
        call_delta(shell()),
        finish("tool_calls"),
        json!("[DONE]"),
    ]);
    let call = json!({ "id": "a", "type": "function", "function": function() });
    assert_eq!(
        message,
        json!({ "role": "assistant", "content": "Looking.", "reasoning_content": "Let me see.", "tool_calls": [call] })
    );
}

#[test]
fn a_thought_that_is_empty_goes_back_with_calls_and_with_words_it_need_not() {
    let message = given_back(&[
        delta(json!({ "role": "assistant", "content": null, "reasoning_content": "" })),
        call_delta(shell()),
        finish("tool_calls"),
    ]);
    assert_eq!(message["reasoning_content"], "");
    let words = read(
        ModelApi::Chat,
        &[delta(json!({ "reasoning_content": "" })), delta(json!({ "content": "x" })), finish("stop")],
    );
    assert_eq!(words, [Event::Text("x".into()), ended()]);
}

#[test]
fn gemini_gets_the_signature_of_each_call_back() {
    let signed = |sign: &str| json!({ "google": { "thought_signature": sign } });
    let mut first = shell();
    first["extra_content"] = signed("s1");
    let message = given_back(&[
        call_delta(first),
        call_delta(json!({ "index": 1, "id": "b", "function": { "name": "nothing", "arguments": "{" } })),
        delta(json!({ "extra_content": signed("of all") })),
        finish("tool_calls"),
    ]);
    assert_eq!(message["tool_calls"][0]["extra_content"], signed("s1"));
    assert_eq!(
        (&message["tool_calls"][1]["id"], message["tool_calls"][1].get("extra_content")),
        (&json!("b"), None)
    );
    assert_eq!(message["extra_content"], signed("of all"));
}

#[test]
fn openrouter_gets_its_details_back_in_one_piece_each() {
    let text = |text: &str| json!({ "type": "reasoning.text", "text": text, "format": "f", "index": 0, "signature": null });
    let message = given_back(&[
        delta(json!({ "reasoning": "Let me", "reasoning_details": [text("Let me")] })),
        delta(json!({ "reasoning": " see", "reasoning_details": [text(" see")] })),
        delta(json!({ "reasoning_details": [{ "type": "reasoning.text", "signature": "sig", "index": 0 }] })),
        delta(json!({ "content": "So." })),
        delta(json!({ "reasoning_details": [{ "type": "reasoning.encrypted", "data": "xyz", "index": 1 }] })),
        call_delta(shell()),
        finish("tool_calls"),
    ]);
    assert_eq!(message["reasoning"], "Let me see");
    assert_eq!(
        message["reasoning_details"],
        json!([
            { "type": "reasoning.text", "text": "Let me see", "format": "f", "index": 0, "signature": "sig" },
            { "type": "reasoning.encrypted", "data": "xyz", "index": 1 },
        ])
    );
}

#[test]
fn what_stood_in_tags_goes_back_in_front_of_the_words() {
    let message = given_back(&[
        delta(json!({ "content": "<think>Hm.</think>\n\nLooking." })),
        call_delta(shell()),
        finish("tool_calls"),
    ]);
    assert_eq!(message["content"], "<think>Hm.</think>\n\nLooking.");
}

#[test]
fn what_signs_words_after_them_is_kept_and_a_thought_without_words_is_not() {
    let signed = json!({ "google": { "thought_signature": "s" } });
    let chat = |data: &Value| HistoryItem::Reasoning {
        step: 1,
        api: ModelApi::Chat,
        from: None,
        data: data.clone(),
    };
    let mut history = History::default();
    history.push(HistoryItem::user(None, "hi", &[]));
    history.push(HistoryItem::assistant(1, "Hello."));
    history.push(chat(&json!({ "extra_content": signed })));
    assert_eq!(history.legal().len(), 3);
    let mut history = History::default();
    history.push(HistoryItem::user(None, "hi", &[]));
    history.push(chat(&json!({ "reasoning_content": "hm" })));
    assert_eq!(history.legal().len(), 1);
}

#[test]
fn another_service_is_not_told_what_this_one_thought() {
    let mut harness = MachineHarness::with(
        ReactSettings { base_url: "https://one.example/v1".to_owned(), ..settings() },
        Vec::new(),
    );
    harness.prompt("go");
    let data = json!({ "reasoning_content": "hm" });
    harness.answer(vec![Event::ReasoningDone { text: String::new(), data }, text("So."), ended()]);
    let thoughts = |harness: &MachineHarness| {
        harness.heard().iter().filter(|item| matches!(item, HistoryItem::Reasoning { .. })).count()
    };
    harness.prompt("again");
    assert_eq!(thoughts(&harness), 1);
    let elsewhere = ReactSettings { base_url: "https://two.example/v1".to_owned(), ..settings() };
    let mut other = MachineHarness::with(elsewhere, harness.lines());
    other.prompt("again");
    assert_eq!(thoughts(&other), 0);
    let before = json!({ "history": { "type": "reasoning", "step": 1, "api": "chat", "data": { "reasoning_content": "hm" } } });
    let memory = Memory::of_lines(&[before.to_string().into()]);
    assert_eq!(memory.history.into_items().len(), 1, "lines of older agents do not say who thought it");
}

#[test]
fn an_id_that_the_service_gave_goes_back_as_it_is_where_that_is_taken() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    harness.answer(vec![call("functions.shell:0", "shell", "{}"), ended()]);
    harness.let_go();
    harness.ran("functions.shell:0", "A");
    let (_, request) = harness.asked().unwrap();
    let body = |api| -> Value { serde_json::from_str(&api::body(api, request)).unwrap() };
    let chat = body(ModelApi::Chat);
    assert_eq!(chat["messages"][2]["tool_calls"][0]["id"], "functions.shell:0");
    assert_eq!(chat["messages"][3]["tool_call_id"], "functions.shell:0");
    let responses = body(ModelApi::Responses);
    let (called, answered) = (&responses["input"][1]["call_id"], &responses["input"][2]["call_id"]);
    assert_eq!(called, answered);
    let id = called.as_str().unwrap();
    assert!(id.len() <= 64 && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{id}");
    let messages = body(ModelApi::Messages);
    assert_eq!(messages["messages"][1]["content"][0]["id"], *called);
    assert_eq!(messages["messages"][2]["content"][0]["tool_use_id"], *called);
}

#[test]
fn two_messages_of_one_speaker_are_one() {
    let mut harness = MachineHarness::new();
    harness.prompt("first");
    let refused = longshore_models::api::Failure::new(longshore_models::api::FailureKind::Refused, "no");
    harness.answer(vec![Event::Failed(refused)]);
    harness.prompt("second");
    let roles = |harness: &MachineHarness, api: ModelApi, key: &str| {
        let (_, request) = harness.asked().unwrap();
        let body: Value = serde_json::from_str(&api::body(api, request)).unwrap();
        let all = body[key].as_array().unwrap().clone();
        (all.iter().map(|message| message["role"].clone()).collect::<Vec<_>>(), all)
    };
    let (told, all) = roles(&harness, ModelApi::Chat, "messages");
    assert_eq!(told, ["system", "user"]);
    assert_eq!(all[1]["content"], "first\n\nsecond");
    assert_eq!(roles(&harness, ModelApi::Responses, "input").0, ["user"]);
    harness.answer(vec![text("Yes."), ended()]);
    harness.prompt("/compact");
    harness.answer(vec![text("They spoke."), ended()]);
    harness.prompt("third");
    let (told, all) = roles(&harness, ModelApi::Chat, "messages");
    assert_eq!(told, ["system", "user"], "a summary and what follows it are one message");
    assert!(all[1]["content"].as_str().unwrap().ends_with("\n\nthird"), "{all:?}");
    assert_eq!(roles(&harness, ModelApi::Responses, "input").0, ["user"]);
}

#[test]
fn words_that_turn_out_to_be_a_thought_become_one_where_they_stand() {
    let mut harness = MachineHarness::new();
    harness.prompt("go");
    let data = json!({ "content": "Hm, so.</think>\n" });
    harness.answer(vec![text("Hm, so."), Event::ThoughtAloud { data }, text("Hello."), ended()]);
    let of = |fits: fn(&Body) -> bool| -> Vec<_> {
        let fitting = harness.drafts().filter(|draft| fits(&draft.body));
        fitting.map(|draft| (draft.item, draft.text.as_deref().unwrap_or_default())).collect()
    };
    let deltas = of(|body| matches!(body, Body::MessageDelta));
    assert_eq!(of(|body| matches!(body, Body::ReasoningDone { .. })), [(deltas[0].0, "Hm, so.")]);
    assert_eq!(of(|body| matches!(body, Body::MessageDone { .. })), [(deltas[1].0, "Hello.")]);
    harness.prompt("and?");
    let (_, request) = harness.asked().unwrap();
    let body: Value = serde_json::from_str(&api::body(ModelApi::Chat, request)).unwrap();
    assert_eq!(body["messages"][2], json!({ "role": "assistant", "content": "Hm, so.</think>\nHello." }));

    // A thought alone is no answer.
    let data = json!({ "content": "Hm.</think>" });
    harness.answer(vec![text("Hm."), Event::ThoughtAloud { data }, ended()]);
    assert!(harness.notices()[0].contains("the model answered nothing"), "{:?}", harness.notices());
}

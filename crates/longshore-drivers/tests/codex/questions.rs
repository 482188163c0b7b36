//! What codex and MCP servers want to know.

use std::collections::BTreeMap;

use longshore_model::approval::{AnswerAction, FieldKind, QuestionAnswer};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::Output;
use longshore_model::event::Body;
use longshore_model::id::QuestionId;
use serde_json::{Value, json};

use super::harness::{DriverHarness, only_draft, only_line, question_in};

fn answer(
    harness: &mut DriverHarness,
    question: QuestionId,
    action: AnswerAction,
    answers: &[(&str, Value)],
) -> Output {
    let answers: BTreeMap<String, Value> =
        answers.iter().map(|(field, value)| ((*field).to_owned(), value.clone())).collect();
    harness.tell(AgentCommand::Answer {
        question,
        answer: QuestionAnswer { action, answers, by: "owner".to_owned() },
    })
}

#[test]
fn a_question_of_the_agent_has_choices_and_room_for_others() {
    let questions = json!([
        {"id": "color", "header": "Color", "question": "Which color?", "isOther": true, "isSecret": false,
         "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": null}]},
        {"id": "key", "header": "Key", "question": "Which key?", "isOther": true, "isSecret": true, "options": null},
    ]);
    let mut harness = DriverHarness::in_turn(Mode::Plan);
    let out = harness.request(
        json!(0),
        "item/tool/requestUserInput",
        json!({"itemId": "q", "questions": questions}),
    );
    assert_eq!(only_draft(&out).text, None, "every part has its own text");
    let asked = question_in(&out);
    let [color, key] = asked.fields.as_slice() else { panic!("{asked:?}") };
    assert_eq!((color.kind, color.open, color.secret, color.choices.len()), (FieldKind::One, true, false, 2));
    assert_eq!((key.kind, key.open, key.secret, key.choices.len()), (FieldKind::Text, false, true, 0));
    let given = [("color", json!("Blue")), ("key", json!(["a", "b"]))];
    let out = answer(&mut harness, asked.question, AnswerAction::Accept, &given);
    assert_eq!(
        only_line(&out),
        json!({"id": 0, "result": {"answers": {"color": {"answers": ["Blue"]}, "key": {"answers": ["a", "b"]}}}})
    );
    assert!(answer(&mut harness, asked.question, AnswerAction::Accept, &given).lines.is_empty());
}

#[test]
fn a_question_that_is_waved_away_has_no_answers() {
    for action in [AnswerAction::Decline, AnswerAction::Cancel] {
        let mut harness = DriverHarness::in_turn(Mode::Plan);
        let asked = question_in(&harness.request(
            json!(0),
            "item/tool/requestUserInput",
            json!({"questions": [{"id": "a"}]}),
        ));
        let out = answer(&mut harness, asked.question, action, &[("a", json!("x"))]);
        assert_eq!(only_line(&out), json!({"id": 0, "result": {"answers": {}}}));
    }
}

#[test]
fn every_kind_of_property_is_a_field() {
    let rows = [
        (json!({"type": "string"}), FieldKind::Text, vec![]),
        (json!({"type": "string", "format": "email"}), FieldKind::Text, vec![]),
        (json!({"type": "number"}), FieldKind::Number, vec![]),
        (json!({"type": "integer", "minimum": 1}), FieldKind::Integer, vec![]),
        (json!({"type": "boolean", "default": true}), FieldKind::Boolean, vec![]),
        (
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A!", "b"]}),
            FieldKind::One,
            vec![("a", "A!"), ("b", "")],
        ),
        (
            json!({"type": "string", "oneOf": [{"const": "x", "title": "The X"}]}),
            FieldKind::One,
            vec![("x", "The X")],
        ),
        (
            json!({"type": "array", "items": {"enum": ["p", "q"]}}),
            FieldKind::Many,
            vec![("p", ""), ("q", "")],
        ),
        (
            json!({"type": "array", "items": {"anyOf": [{"const": "r", "title": "R"}]}}),
            FieldKind::Many,
            vec![("r", "R")],
        ),
        (json!({"type": "of tomorrow"}), FieldKind::Text, vec![]),
        (json!({}), FieldKind::Text, vec![]),
    ];
    for (property, kind, choices) in rows {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let schema = json!({"type": "object", "properties": {"f": property}});
        let params = json!({"serverName": "demo", "mode": "form", "message": "?", "requestedSchema": schema});
        let asked = question_in(&harness.request(json!(0), "mcpServer/elicitation/request", params));
        let [field] = asked.fields.as_slice() else { panic!("{asked:?}") };
        let got: Vec<(&str, &str)> =
            field.choices.iter().map(|one| (one.label.as_str(), one.description.as_str())).collect();
        assert_eq!((field.kind, got), (kind, choices), "of {property}");
        assert!(field.optional);
    }
}

#[test]
fn a_form_is_accepted_declined_or_waved_away() {
    let schema = json!({"type": "object", "required": ["ok"], "properties": {"name": {"type": "string"}, "ok": {"type": "boolean", "title": "OK?"}}});
    let params = json!({"serverName": "demo", "mode": "form", "message": "Really?", "requestedSchema": schema, "_meta": null});
    for (action, word, content) in [
        (AnswerAction::Accept, "accept", json!({"ok": true})),
        (AnswerAction::Decline, "decline", Value::Null),
        (AnswerAction::Cancel, "cancel", Value::Null),
    ] {
        let mut harness = DriverHarness::in_turn(Mode::Ask);
        let asked = question_in(&harness.request(json!(0), "mcpServer/elicitation/request", params.clone()));
        assert_eq!(asked.source.as_deref(), Some("demo"));
        // What must be filled in comes first.
        let fields: Vec<(&str, &str, bool)> = asked
            .fields
            .iter()
            .map(|field| (field.id.as_str(), field.label.as_str(), field.optional))
            .collect();
        assert_eq!(fields, [("ok", "OK?", false), ("name", "name", true)]);
        let out = answer(&mut harness, asked.question, action, &[("ok", json!(true))]);
        assert_eq!(
            only_line(&out),
            json!({"id": 0, "result": {"action": word, "content": content, "_meta": null}})
        );
    }
}

#[test]
fn an_address_to_visit_is_shown() {
    let mut harness = DriverHarness::in_turn(Mode::Ask);
    let params = json!({"serverName": "demo", "mode": "url", "message": "Log in:", "url": "https://example.org/login", "elicitationId": "e"});
    let out = harness.request(json!(0), "mcpServer/elicitation/request", params);
    assert_eq!(only_draft(&out).text.as_deref(), Some("Log in:\nhttps://example.org/login"));
    assert!(question_in(&out).fields.is_empty());
    let out = harness.note("serverRequest/resolved", json!({"requestId": 0}));
    assert!(matches!(only_draft(&out).body, Body::QuestionExpired { .. }));
}

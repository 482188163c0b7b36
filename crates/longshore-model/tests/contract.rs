//! The public contract: generated from the Rust types, committed, and never older than they are.

use std::path::Path;

use longshore_model::anchor::Folders;
use longshore_model::capability::AgentInfo;
use longshore_model::device::Device;
use longshore_model::event::EventJson;
use longshore_model::info::SessionInfo;
use longshore_model::timeline::Item;
use longshore_model::usage::DayUsage;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::stage::Stage;
use crate::typescript;

fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    let mut generator = settings.for_serialize().into_generator();
    generator.subschema_for::<EventJson<'static>>();
    generator.subschema_for::<SessionInfo>();
    generator.subschema_for::<Item>();
    generator.subschema_for::<AgentInfo>();
    generator.subschema_for::<Device>();
    generator.subschema_for::<DayUsage>();
    generator.subschema_for::<Folders>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Longshore",
        "$defs": generator.take_definitions(true),
    })
}

/// Compares a generated file with the committed one; a stale one is rewritten, and the test says so.
fn committed(name: &str, fresh: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("contract").join(name);
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    if found != fresh {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, fresh).unwrap();
        panic!(
            "contract/{name} was older than the types; it is rewritten now: look at the difference and commit it"
        );
    }
}

#[test]
fn the_json_schema_is_fresh() {
    committed("longshore.schema.json", &format!("{:#}\n", schema()));
}

#[test]
fn the_typescript_is_fresh() {
    let header = "// Generated from the Rust types by `cargo test -p longshore-model`. Do not edit.\n";
    let types = typescript::types(schema()["$defs"].as_object().unwrap());
    committed("longshore.ts", &format!("{header}{types}"));
}

/// The members that a client which knows only the categories relies on.
#[test]
fn an_event_has_the_members_of_the_contract() {
    let mut stage = Stage::ready();
    stage.prompt("hello");
    let event = stage.events.last().unwrap();
    let json = serde_json::to_value(event).unwrap();
    let names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let mut expected = vec![
        "seq",
        "eventId",
        "sessionId",
        "provider",
        "category",
        "timestamp",
        "turn",
        "item",
        "parentEventId",
        "text",
        "type",
        "payload",
    ];
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!((&json["category"], &json["type"]), (&json!("user_message"), &json!("user_message")));
    assert_eq!((&json["provider"], &json["text"]), (&json!("codex"), &json!("hello")));
}

#[test]
fn a_session_has_the_members_of_the_contract() {
    let mut stage = Stage::ready();
    stage.prompt("hello");
    let json = serde_json::to_value(stage.session.info()).unwrap();
    for name in ["provider", "sessionId", "title", "project", "status", "createdAt", "updatedAt"] {
        assert!(json.get(name).is_some(), "{name} is missing in {json}");
    }
    assert_eq!(json["status"], "active");
}

//! The documents say what the code does: every code, every method.

use std::collections::BTreeSet;

use longshore_facades::native::{calls, socket_methods};
use longshore_model::event::{Body, Category};
use serde_json::{Value, json};

const PROBLEMS: &str = include_str!("../src/problem.rs");
const ERRORS: &str = include_str!("../../../docs/errors.md");
const API: &str = include_str!("../../../docs/api.md");

/// What stands between quotes right after `before`, wherever that occurs.
fn quoted_after<'a>(text: &'a str, before: &str) -> BTreeSet<&'a str> {
    let rest = text.split(before).skip(1).map(str::trim_start);
    rest.filter_map(|rest| rest.strip_prefix('"')?.split('"').next()).collect()
}

/// The table of codes: code, status, whether it may be tried again.
fn rows() -> Vec<(&'static str, u16, bool)> {
    let rows = ERRORS.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 5, "code, status, meaning, what to do, retryable: {row}");
        let retryable = cells[4] == "yes";
        assert!(retryable || cells[4] == "no", "{row}");
        (cells[0].trim_matches('`'), cells[1].parse().unwrap(), retryable)
    })
    .collect()
}

/// Every problem that a test meets is one of the table, in every respect.
pub(crate) fn check(problem: &Value) {
    let code = problem["code"].as_str().expect("a problem has a code");
    let (_, status, retryable) = *rows().iter().find(|(known, ..)| *known == code).expect(code);
    assert_eq!((&problem["status"], &problem["retry"]), (&json!(status), &json!(retryable)), "{problem}");
    assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()), "{problem}");
}

#[test]
fn every_code_is_documented_and_every_documented_code_exists() {
    let made = quoted_after(PROBLEMS, "new(");
    let documented: BTreeSet<&str> = rows().iter().map(|(code, ..)| *code).collect();
    assert!(made.len() > 25, "{made:?}");
    assert_eq!(documented, made);
    assert_eq!(rows().len(), documented.len(), "each once");
}

#[test]
fn every_method_of_the_socket_is_documented() {
    let own = socket_methods().map(|method| method.name);
    for method in calls().iter().map(|call| call.name).chain(own) {
        assert!(API.contains(&format!("| `{method}` |")), "docs/api.md has no row for `{method}`");
    }
}

#[test]
fn every_call_of_http_is_documented() {
    for call in calls() {
        let (verb, path) = (call.verb.name(), call.path);
        let of_session = path.strip_prefix("/api/v1/sessions/{session}/").map(|rest| format!(".../{rest}"));
        let row = |path: &str| format!("| `{verb} {path}` |");
        let is_there = API.contains(&row(path)) || of_session.is_some_and(|short| API.contains(&row(&short)));
        assert!(is_there, "docs/api.md has no row for `{verb} {path}`");
    }
}

#[test]
fn every_type_and_category_of_an_event_is_documented() {
    let schema = |schema: schemars::Schema| schema.to_value();
    let types: Vec<Value> = schema(schemars::schema_for!(Body))["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|body| body["properties"]["type"]["const"].clone())
        .collect();
    let categories = schema(schemars::schema_for!(Category))["enum"].as_array().unwrap().clone();
    assert!(types.len() > 40 && categories.len() == 10, "{types:?} {categories:?}");
    for word in types.iter().chain(&categories) {
        assert!(API.contains(&format!("`{}`", word.as_str().unwrap())), "docs/api.md does not know {word}");
    }
}

//! What is written down of what passes between an anchor and its agents.

use std::sync::{Arc, Mutex};

use longshore_drivers::anchor::AnchorConfig;
use longshore_drivers::capture::{Direction, Tape};
use serde_json::{Value, json};

use crate::rig::Rig;

type Written = Arc<Mutex<Vec<(Direction, String)>>>;

/// What is written down from now on.
fn tape(config: &mut AnchorConfig) -> Written {
    let written = Written::default();
    let sink = Arc::clone(&written);
    config.tape = Some(Tape::new(move |entry| sink.lock().unwrap().push((entry.dir, entry.line()))));
    written
}

#[tokio::test]
async fn lines_are_written_down_as_they_pass() {
    let mut written = Written::default();
    let script =
        json!([{"do": "print", "line": "hello"}, {"do": "stderr", "text": "oh"}, {"do": "exit", "code": 3}]);
    let mut rig = Rig::with(script.clone(), 64, |config| written = tape(config));
    let session = rig.open().await;
    rig.life(session).await;
    let written = written.lock().unwrap().clone();
    let (first, rest) = written.split_first().unwrap();
    let spawned: Value = serde_json::from_str(&first.1).unwrap();
    assert_eq!(first.0, Direction::Spawn);
    assert_eq!(spawned["spawn"], json!(["fake-agent", script.to_string()]));
    assert!(spawned["pid"].as_i64().is_some_and(|pid| pid > 1), "{spawned}");
    let passed: Vec<(Direction, &str)> = rest.iter().map(|(dir, line)| (*dir, line.as_str())).collect();
    assert!(passed.contains(&(Direction::FromAgent, "hello")), "{passed:?}");
    assert!(passed.contains(&(Direction::Stderr, "oh")), "{passed:?}");
    let (dir, ended) = passed.last().unwrap();
    let ended: Value = serde_json::from_str(ended).unwrap();
    assert_eq!((*dir, ended), (Direction::Exit, json!({ "code": 3, "pid": spawned["pid"] })));
}

#[tokio::test]
async fn requests_to_a_server_are_written_down_with_their_answers() {
    let mut written = Written::default();
    let mut rig = Rig::server(|config| written = tape(config));
    let session = rig.open().await;
    rig.hear(session, "event hello").await;
    rig.prompt(session, "POST /a/b?c=d some body").await;
    rig.hear(session, "200 POST /a/b?c=d some body").await;
    let written = written.lock().unwrap().clone();
    let said = |dir: Direction, what: Value| {
        let is_it = |(one, line): &(Direction, String)| {
            *one == dir && serde_json::from_str::<Value>(line).is_ok_and(|said| said == what)
        };
        assert!(written.iter().any(is_it), "no {dir:?} {what} in {written:#?}");
    };
    let raw = |text: &str| json!({ "_raw": text });
    said(Direction::ToAgent, json!({ "method": "POST", "path": "/a/b?c=d", "body": raw("some body") }));
    let answer = raw("POST /a/b?c=d some body");
    said(
        Direction::FromAgent,
        json!({ "method": "POST", "path": "/a/b?c=d", "status": 200, "body": answer }),
    );
    assert!(written.contains(&(Direction::FromAgent, "hello".to_owned())), "{written:?}");
}

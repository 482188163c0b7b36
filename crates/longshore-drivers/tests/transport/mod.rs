//! The stdio transport by itself, with real processes.

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use longshore_drivers::transport::{ChildEvent, ChildExit, Limits, Spawn, SpawnError, Stdio, WireLine};
use serde_json::{Value, json};

use crate::rig::{Phone, fake_agent, hasty, listen, patient, soon};

fn start(script: Value, limits: Limits) -> Stdio {
    let spawn = Spawn {
        program: fake_agent(),
        arguments: vec![script.to_string()],
        around: Default::default(),
        env: [("FAKE".to_owned(), "yes".to_owned())].into(),
        cwd: None,
    };
    Stdio::spawn(&spawn, limits).unwrap()
}

/// All lines until the end.
async fn to_the_end(child: &mut Stdio) -> (Vec<WireLine>, ChildExit) {
    let mut lines = Vec::new();
    loop {
        let happened = soon("the child", child.next(true)).await;
        lines.extend(std::iter::from_fn(|| child.line()));
        if let ChildEvent::Ended(ended) = happened {
            return (lines, ended);
        }
    }
}

#[tokio::test]
async fn all_that_waits_is_written_and_read_back() {
    let mut child = start(json!([{"do": "echo"}]), patient());
    let words: Vec<String> = (0..20_000).map(|n| format!("line {n}")).collect();
    child.tell(words.clone());
    child.stop();
    child.tell(["too late".to_owned()]);
    let (lines, ended) = to_the_end(&mut child).await;
    let expected: Vec<_> = words.iter().map(|word| WireLine::Whole(word.as_str().into())).collect();
    assert_eq!(lines, expected);
    assert_eq!(ended.status.and_then(|status| status.code()), Some(0));
    assert!(ended.signalled.is_none());
}

/// Whoever has no room for more input reads nothing, and a child may answer with more than a pipe holds.
#[tokio::test]
async fn a_child_that_has_read_enough_is_listened_to_again() {
    let mut limits = patient();
    limits.outgoing = 64 * 1024;
    let mut child = start(json!([{"do": "echo"}]), limits);
    let line = "x".repeat(1 << 20);
    child.tell([line.clone()]);
    assert!(child.is_full());
    assert!(matches!(soon("room", child.next(false)).await, ChildEvent::Room));
    assert!(!child.is_full());
    child.stop();
    let (lines, _) = to_the_end(&mut child).await;
    assert_eq!(lines, [WireLine::Whole(line.as_str().into())]);
}

#[tokio::test]
async fn nothing_is_read_that_is_not_wanted() {
    let mut child =
        start(json!([{"do": "print", "line": "here"}, {"do": "stderr", "text": "there"}]), hasty());
    // The process ends, and its words stay where they are for longer than a pipe may stay open after the end.
    let unwanted = tokio::time::timeout(Duration::from_millis(300), child.next(false)).await;
    assert!(unwanted.is_err(), "{unwanted:?}");
    assert_eq!(child.line(), None);
    let (lines, ended) = to_the_end(&mut child).await;
    assert_eq!(lines, [WireLine::Whole("here".into())]);
    assert_eq!(ended.stderr, "there");
}

#[tokio::test]
async fn who_left_the_group_and_holds_the_pipes_ends_with_the_child() {
    let phone = Phone::new().await;
    let grandchild = json!({"do": "grandchild", "call": phone.number, "own_group": true});
    let script = json!([grandchild, {"do": "read"}, {"do": "print", "line": "mine"}]);
    let mut child = start(script, patient());
    child.tell(["end now".to_owned()]);
    let (lines, call) = tokio::join!(to_the_end(&mut child), phone.call());
    assert_eq!(lines.0, [WireLine::Whole("mine".into())]);
    assert_eq!(listen(call).await, "", "it is dead");
}

#[tokio::test]
async fn a_child_that_is_dropped_is_killed_with_its_group() {
    let phone = Phone::new().await;
    let grandchild = json!({"do": "grandchild", "call": phone.number, "own_group": false});
    let mut child =
        start(json!([{"do": "call", "call": phone.number}, grandchild, {"do": "hang"}]), patient());
    assert!(child.pid() > 1);
    let calls = [phone.call().await, phone.call().await];
    assert!(tokio::time::timeout(Duration::ZERO, child.next(true)).await.is_err());
    drop(child);
    for call in calls {
        assert_eq!(listen(call).await, "");
    }
}

#[tokio::test]
async fn only_the_end_of_stderr_is_kept() {
    let script =
        json!([{"do": "stderr", "text": "noise\n", "times": 100_000}, {"do": "stderr", "text": "the end\n"}]);
    let (_, ended) = to_the_end(&mut start(script, patient())).await;
    assert!(ended.stderr.len() <= 64 * 1024);
    assert!(ended.stderr.starts_with("noise\nnoise") && ended.stderr.ends_with("noise\nthe end"));
}

#[tokio::test]
async fn stopping_gets_harsher_until_it_works() {
    let mut child =
        start(json!([{"do": "ignore_term"}, {"do": "print", "line": "up"}, {"do": "hang"}]), hasty());
    assert!(matches!(soon("a word", child.next(true)).await, ChildEvent::Readable));
    assert_eq!(child.line(), Some(WireLine::Whole("up".into())));
    assert_eq!(child.line(), None);
    child.stop();
    let (_, ended) = to_the_end(&mut child).await;
    assert_eq!(ended.status.and_then(|status| status.signal()), Some(9));
}

#[tokio::test]
async fn a_folder_that_is_missing_is_not_blamed_on_the_program() {
    let spawn = Spawn {
        program: fake_agent(),
        arguments: Vec::new(),
        around: Default::default(),
        env: Default::default(),
        cwd: Some("/does/not/exist".into()),
    };
    assert!(matches!(Stdio::spawn(&spawn, patient()), Err(SpawnError::NoFolder(_))));
    let file = Spawn { cwd: Some(fake_agent()), ..spawn };
    let said = Stdio::spawn(&file, patient()).unwrap_err().to_string();
    assert!(said.ends_with("fake-agent is not a folder; open the session in a folder"), "{said}");
}

//! What readers make of records that real agents wrote, and of some that were written by hand.

use longshore_drivers::capture::Narrator;
use longshore_drivers::import::Reading;
use longshore_model::event::Body;
use longshore_model::id::SessionId;
use longshore_model::lifecycle::TurnOutcome;

use super::{folder, hear, kind_of, lines_of, read, reader_of, records};

#[test]
fn a_record_tells_the_same_story() {
    for (name, file) in records() {
        let mut told = Reading::default();
        let mut reader = reader_of(&name);
        hear(&mut *reader, &lines_of(&file), &mut told);
        let lines = told.drafts.len();
        reader.rest(&mut told);
        let mut narrator = Narrator::new();
        let mut story = String::new();
        for (at, (when, draft)) in told.drafts.iter().enumerate() {
            if at == lines {
                story.push_str("at rest\n");
            }
            let time = when.to_string();
            let line = narrator.event(SessionId::of_past("test", "one"), draft);
            let raw = if draft.raw.is_some() { ' ' } else { '+' };
            story.push_str(&format!("{}{raw}{line}\n", &time[11..23]));
        }
        insta::with_settings!({ snapshot_suffix => name, omit_expression => true }, {
            insta::assert_snapshot!(story);
        });
    }
}

#[test]
fn every_line_is_kept_as_it_is() {
    for (name, file) in records() {
        let lines = lines_of(&file);
        let drafts = read(&name, &lines);
        let kept: Vec<&str> = drafts.iter().filter_map(|(_, draft)| draft.raw.as_deref()).collect();
        let were: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
        assert_eq!(kept, were, "of {name}");
    }
}

#[test]
fn secrets_of_a_remote_are_in_nothing_that_is_told() {
    let line = r#"{"timestamp":"2026-11-15T21:52:17.449Z","type":"session_meta","payload":{"id":"a","cwd":"/w","git":{"branch":"main","repository_url":"https:\/\/me:s3cret@git.example/x?token=t0ken"}}}"#;
    let mut told = Reading::default();
    reader_of("codex").line(&line.into(), None, &mut told);
    let git = told.drafts.iter().find_map(|(_, draft)| match &draft.body {
        Body::GitChanged(git) => Some(git),
        _ => None,
    });
    assert_eq!(git.unwrap().remote.as_deref(), Some("https://git.example/x"));
    let all = format!("{:?}", told.drafts);
    assert!(all.contains("session_meta") && !all.contains("s3cret") && !all.contains("t0ken"), "{all}");
}

#[test]
fn every_turn_that_begins_ends_once() {
    for (name, file) in records() {
        let mut told = Reading::default();
        let mut reader = reader_of(&name);
        hear(&mut *reader, &lines_of(&file), &mut told);
        reader.rest(&mut told);
        let mut running = None;
        for (_, draft) in &told.drafts {
            match &draft.body {
                Body::TurnStarted { .. } => assert_eq!(running.replace(draft.turn), None, "of {name}"),
                Body::TurnFinished(_) => assert_eq!(running.take(), Some(draft.turn), "of {name}"),
                _ => {}
            }
        }
        assert_eq!(running, None, "of {name}");
    }
}

#[test]
fn the_beginning_tells_what_it_is_about() {
    let look = |name: &str, file: &str| {
        let path = folder().join(file);
        let mut lines = lines_of(&path).into_iter().map(|line| line.text);
        kind_of(name).look(&path, &mut lines)
    };
    let head = look("codex", "codex-0.166.0/k02_child.jsonl").unwrap();
    assert_eq!((head.cwd.as_str(), head.title.as_deref()), ("/home/dev/demo", Some("child task: say hi")));
    assert_eq!(head.parent.as_deref(), Some("01a1e132-5f80-7c03-a6c7-93efbc5e7fa3"));
    assert_eq!(head.created_at.to_string(), "2026-11-15T21:52:17.449000Z");
    let fork = look("codex", "codex-0.166.0/e01_fork.jsonl").unwrap();
    assert_eq!(fork.base.unwrap().native, "01a1e132-0d09-7120-8d53-76857eae9d17");
    let older = look("codex", "by-hand/codex-older.jsonl").unwrap();
    assert_eq!(older.title.as_deref(), Some("list the files"));
    let claude = look("claude", "claude-2.1.197/plan.jsonl").unwrap();
    assert_eq!((claude.cwd.as_str(), claude.title.as_deref()), ("/home/dev/demo", Some("SCRIPT:plan go")));
    assert_eq!(claude.created_at.to_string(), "2026-11-15T21:53:23.589000Z");
    assert_eq!(look("claude", "by-hand/claude-older.jsonl").unwrap().title.as_deref(), Some("/model opus"));
}

/// A fork's record begins in its parent's.
#[test]
fn a_fork_has_the_part_that_it_shares() {
    use longshore_drivers::import::{RecordLines, RecordPart};
    let at = |name: &str| folder().join("codex-0.166.0").join(name);
    let head = kind_of("codex")
        .look(&at("e01_fork.jsonl"), &mut lines_of(&at("e01_fork.jsonl")).into_iter().map(|line| line.text))
        .unwrap();
    let until = head.base.unwrap().until;
    let parts = vec![
        RecordPart { file: Some(at("e01_parent.jsonl")), until: Some(until) },
        RecordPart { file: Some(at("e01_fork.jsonl")), until: None },
    ];
    let mut lines = RecordLines::of(parts);
    let mut all = Vec::new();
    while let Some(line) = lines.next().unwrap() {
        all.push(line);
    }
    let own = std::fs::metadata(at("e01_fork.jsonl")).unwrap().len();
    assert_eq!((all.len(), lines.place()), (21 + 2, until + own));
    let said: Vec<String> = read("codex", &all)
        .into_iter()
        .filter(|(_, draft)| matches!(draft.body, Body::UserMessage { .. } | Body::MessageDone { .. }))
        .filter_map(|(_, draft)| draft.text)
        .collect();
    assert_eq!(said, ["first prompt", "first answer"], "and not what was said after the fork");
}

#[test]
fn an_older_rollout_has_turns_and_tools() {
    let drafts = read("codex", &lines_of(&folder().join("by-hand/codex-older.jsonl")));
    let ends: Vec<TurnOutcome> = drafts
        .iter()
        .filter_map(|(_, draft)| match &draft.body {
            Body::TurnFinished(end) => Some(end.outcome),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [TurnOutcome::Completed, TurnOutcome::Interrupted], "the last one may still go on");
    let commands: Vec<String> = drafts
        .iter()
        .filter_map(|(_, draft)| match &draft.body {
            Body::ToolStarted(call) => Some(call.command.clone().unwrap_or_else(|| call.name.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(commands, ["ls -la", "apply_patch", "git status"]);
}

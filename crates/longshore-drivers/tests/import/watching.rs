//! The anchor as it looks for records and reads them: real files, and a hub that writes down what it is told.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use longshore_drivers::discover::{AgentSettings, Surroundings};
use longshore_drivers::import::{BATCH, WatchPast};
use longshore_drivers::{claude, codex};
use longshore_model::anchor::{
    Answer, FromAnchor, GitQuery, Past, PastCount, PastQuery, RecordSizeQuery, ToAnchor,
};
use longshore_model::event::{Body, Draft};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use serde_json::json;
use tempfile::TempDir;

use super::folder;
use crate::rig::Rig;

struct Stage {
    home: TempDir,
    rig: Rig,
}

impl Stage {
    fn new() -> Self {
        Self::watching(WatchPast::default(), 64)
    }

    fn watching(past: WatchPast, room: usize) -> Self {
        let home = tempfile::tempdir().unwrap();
        let around = Surroundings::of([("HOME", home.path())]);
        let rig = Rig::with(json!([]), room, |config| {
            config.agents = vec![Arc::new(codex::CodexSpec), Arc::new(claude::ClaudeSpec::default())];
            config.surroundings = around;
            config.past = past;
        });
        Self { home, rig }
    }

    fn rollout(&self, native: &str) -> PathBuf {
        let day = self.home.path().join(".codex/sessions/2026/11/15");
        fs::create_dir_all(&day).unwrap();
        day.join(format!("rollout-2026-11-15T21-51-56-{native}.jsonl"))
    }

    /// Puts a captured rollout into its place.
    fn put(&self, capture: &str, native: &str) -> PathBuf {
        let to = self.rollout(native);
        fs::copy(folder().join(capture), &to).unwrap();
        to
    }

    /// Has the anchor look, and says what it found.
    async fn look(&mut self) -> (Vec<Past>, u64) {
        let id = self.rig.ask(PastQuery {}).await;
        let mut all = Vec::new();
        loop {
            match self.rig.next().await {
                FromAnchor::FoundPast { found } => all.extend(found),
                FromAnchor::Answer { id: other, answer } => {
                    assert_eq!(other, id);
                    let Ok(Answer::Past(PastCount { found, .. })) = answer else { panic!("{answer:?}") };
                    return (all, found);
                }
                other => panic!("instead of an answer: {other:?}"),
            }
        }
    }

    /// Reads on in a record until so much of it was read.
    async fn read(&mut self, native: &str, after: u64, size: u64) -> Vec<(Timestamp, Draft)> {
        let session = SessionId::of_past("codex", native);
        let (agent, native) = ("codex".into(), native.to_owned());
        self.rig.send(ToAnchor::ReadPast { session, agent, native, after, told: None }).await;
        let (mut all, mut place) = (Vec::new(), after);
        while place < size {
            match self.rig.next().await {
                FromAnchor::ReadPast { session: other, after, drafts, until, .. } => {
                    assert_eq!((other, after), (session, place), "each follows on the one before");
                    assert!(drafts.len() < BATCH + 20, "{} at once", drafts.len());
                    (place, all) = (until, [all, drafts].concat());
                }
                other => panic!("instead of what was said: {other:?}"),
            }
        }
        assert_eq!(place, size);
        all
    }
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).unwrap().len()
}

fn texts(drafts: &[(Timestamp, Draft)]) -> Vec<&str> {
    let said = drafts
        .iter()
        .filter(|(_, draft)| matches!(draft.body, Body::UserMessage { .. } | Body::MessageDone { .. }));
    said.filter_map(|(_, draft)| draft.text.as_deref()).collect()
}

const PARENT: &str = "01a1e132-0d09-7120-8d53-76857eae9d17";
const FORK: &str = "01a1e132-123f-79a2-bb42-550b4c8b4ed0";

#[tokio::test]
async fn records_are_found_once_and_again_when_they_grow() {
    let mut stage = Stage::new();
    assert_eq!(stage.look().await, (Vec::new(), 0), "there is not even a folder");
    let file = stage.put("codex-0.166.0/e01_parent.jsonl", PARENT);
    fs::write(
        stage.home.path().join(".codex/session_index.jsonl"),
        format!("{{\"id\":\"{PARENT}\",\"thread_name\":\"My Thread\",\"updated_at\":\"x\"}}\n"),
    )
    .unwrap();
    fs::write(stage.rollout("not-a-thread"), "{}\n").unwrap();
    let (found, count) = stage.look().await;
    assert_eq!((found.len(), count), (1, 1));
    let past = &found[0];
    assert_eq!((&*past.agent, past.native.as_str(), past.cwd.as_str()), ("codex", PARENT, "/home/dev/demo"));
    assert_eq!((past.title.as_deref(), past.size), (Some("My Thread"), size(&file)));
    assert_eq!(past.capabilities, codex::capabilities());
    assert_eq!(stage.look().await, (Vec::new(), 1));

    let mut grows = fs::OpenOptions::new().append(true).open(&file).unwrap();
    grows.write_all(b"{\"type\":\"x\",\"payload\":{}}\n").unwrap();
    assert_eq!(stage.look().await.0[0].size, size(&file));
    // Put away, it is the same record.
    let away = stage.home.path().join(".codex/archived_sessions");
    fs::create_dir(&away).unwrap();
    fs::rename(&file, away.join(file.file_name().unwrap())).unwrap();
    assert_eq!(stage.look().await, (Vec::new(), 1));
    assert!(stage.read(PARENT, 0, past.size + 26).await.len() > 30);
}

/// Other ways to drive an agent, and other versions of it, write into the same records.
#[tokio::test]
async fn agents_that_keep_their_records_in_one_place_share_them() {
    let home = tempfile::tempdir().unwrap();
    let apart = home.path().join("apart");
    let of_settings = |env: &[(&str, &Path)]| AgentSettings {
        command: vec!["claude".to_owned()],
        env: env.iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string())).collect(),
        ..AgentSettings::default()
    };
    let (newer, other) = (of_settings(&[]), of_settings(&[("CLAUDE_CONFIG_DIR", &apart)]));
    let rig = Rig::with(json!([]), 64, |config| {
        config.agents = vec![
            Arc::new(codex::CodexSpec),
            Arc::new(codex::exec::ExecSpec),
            Arc::new(claude::ClaudeSpec::default()),
            claude::ClaudeSpec::of_settings("newer", &newer),
            claude::ClaudeSpec::of_settings("other", &other),
        ];
        config.settings = [("newer".to_owned(), newer.clone()), ("other".to_owned(), other.clone())].into();
        config.surroundings = Surroundings::of([("HOME", home.path())]);
    });
    let mut stage = Stage { home, rig };
    stage.put("codex-0.166.0/e01_parent.jsonl", PARENT);
    let transcript = folder().join("claude-2.1.197/plan.jsonl");
    for (config, native) in [(stage.home.path().join(".claude"), "shared"), (apart, "apart")] {
        let project = config.join("projects/-home-dev-demo");
        fs::create_dir_all(&project).unwrap();
        fs::copy(&transcript, project.join(format!("{native}.jsonl"))).unwrap();
    }
    let (found, _) = stage.look().await;
    let mut found: Vec<(&str, &str)> =
        found.iter().map(|past| (&*past.agent, past.native.as_str())).collect();
    found.sort_unstable();
    assert_eq!(found, [("claude", "shared"), ("codex", PARENT), ("other", "apart")], "each is found once");
    let keeps = [
        ("codex-exec", PARENT, true),
        ("newer", "shared", true),
        ("newer", "apart", false),
        ("other", "apart", true),
        ("other", "shared", false),
    ];
    for (agent, native, is_there) in keeps {
        let id = stage.rig.ask(RecordSizeQuery { agent: agent.into(), native: native.to_owned() }).await;
        let FromAnchor::Answer { id: other, answer } = stage.rig.next().await else { panic!("no answer") };
        let Ok(Answer::RecordSize(size)) = answer else { panic!("{answer:?}") };
        assert_eq!((other, size.is_some()), (id, is_there), "{native} of {agent}");
    }
}

/// A prompt with a whole file in it stands in a record twice, and the name that codex has for such a thread is empty.
#[tokio::test]
async fn a_conversation_that_begins_with_a_long_prompt_has_a_title() {
    let mut stage = Stage::new();
    let said = format!("explain this\n{}", "x".repeat(1_200_000));
    let line = |kind: &str, payload: serde_json::Value| {
        let line = json!({"timestamp": "2026-11-15T21:51:56.000Z", "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let words = json!([{"type": "input_text", "text": said}]);
    let lines = [
        line("session_meta", json!({"cwd": "/w"})),
        line("response_item", json!({"type": "message", "role": "user", "content": words})),
        line("event_msg", json!({"type": "user_message", "message": said})),
    ];
    fs::write(stage.rollout(PARENT), lines.concat()).unwrap();
    let named = json!({"id": PARENT, "thread_name": "", "updated_at": "x"});
    fs::write(stage.home.path().join(".codex/session_index.jsonl"), format!("{named}\n")).unwrap();
    let (found, _) = stage.look().await;
    assert_eq!(found[0].title.as_deref(), Some("explain this"));
}

#[tokio::test]
async fn a_record_is_read_in_any_pieces_and_a_half_line_is_waited_for() {
    let mut stage = Stage::new();
    let whole = fs::read(folder().join("codex-0.166.0/e01_parent.jsonl")).unwrap();
    let file = stage.rollout(PARENT);
    fs::write(&file, &whole).unwrap();
    stage.look().await;
    let at_once = stage.read(PARENT, 0, whole.len() as u64).await;
    assert_eq!(
        texts(&at_once),
        ["first prompt", "first answer", "second prompt", "second answer", "third prompt", "third answer"]
    );

    // The same, written in pieces that end anywhere, and read on in between.
    let mut pieces = Vec::new();
    let mut place = 0;
    let mut cuts: Vec<usize> = (1..12).map(|n| n * whole.len() / 12 + n).collect();
    cuts.push(whole.len());
    for cut in cuts {
        fs::write(&file, &whole[..cut]).unwrap();
        stage.look().await;
        let until = whole[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
        if until > place {
            pieces.extend(stage.read(PARENT, place, until).await);
            place = until;
        }
    }
    // Turns that end are told as interrupted only when nobody has written for long, which is not so here.
    assert_eq!(pieces, at_once);
    // Another anchor, which has read nothing yet, reads on from the middle all the same.
    let mut other = Stage::new();
    fs::write(other.rollout(PARENT), &whole).unwrap();
    other.look().await;
    let middle = whole[..whole.len() / 2].iter().rposition(|byte| *byte == b'\n').unwrap() as u64 + 1;
    let rest = other.read(PARENT, middle, whole.len() as u64).await;
    assert_eq!(rest, at_once[at_once.len() - rest.len()..]);
    assert!(!rest.is_empty() && rest.len() < at_once.len());
}

#[tokio::test]
async fn a_fork_is_read_with_what_it_shares() {
    let mut stage = Stage::new();
    let parent = stage.put("codex-0.166.0/e01_parent.jsonl", PARENT);
    stage.put("codex-0.166.0/e01_fork.jsonl", FORK);
    let (found, _) = stage.look().await;
    let fork = found.iter().find(|past| past.native == FORK).unwrap();
    let drafts = stage.read(FORK, 0, fork.size).await;
    assert_eq!(texts(&drafts), ["first prompt", "first answer"]);
    // Without the parent there is a hole where it was, and the rest keeps its place.
    let mut other = Stage::new();
    other.put("codex-0.166.0/e01_fork.jsonl", FORK);
    let (found, _) = other.look().await;
    assert_eq!(found[0].size, fork.size);
    assert_eq!(texts(&other.read(FORK, 0, fork.size).await), [""; 0]);
    assert!(parent.exists());
}

#[tokio::test]
async fn transcripts_of_claude_and_of_its_sub_agents_are_found() {
    let mut stage = Stage::new();
    let project = stage.home.path().join(".claude/projects/-home-dev-demo");
    let session = "f2162f71-aa92-4f51-a287-dbd0d3429b67";
    let children = project.join(session).join("subagents");
    fs::create_dir_all(&children).unwrap();
    let captures = folder().join("claude-2.1.197");
    fs::copy(captures.join("subagent.jsonl"), project.join(format!("{session}.jsonl"))).unwrap();
    fs::copy(captures.join("subagent_child.jsonl"), children.join("agent-afad4de906b28fc22.jsonl")).unwrap();
    let meta = r#"{"agentType":"general-purpose","description":"sub work","toolUseId":"toolu_000043"}"#;
    fs::write(children.join("agent-afad4de906b28fc22.meta.json"), meta).unwrap();
    // A session in which nothing was said is none yet.
    fs::write(project.join("empty.jsonl"), "{\"type\":\"mode\",\"mode\":\"normal\"}\n").unwrap();
    let (mut found, count) = stage.look().await;
    found.sort_by_key(|past| past.parent.is_some());
    assert_eq!((found.len(), count), (2, 2));
    assert_eq!(found[0].title.as_deref(), Some("SCRIPT:agent go"));
    assert_eq!(
        (found[1].native.as_str(), found[1].title.as_deref()),
        ("afad4de906b28fc22", Some("sub work"))
    );
    assert_eq!(found[1].parent.as_deref(), Some(session));
    assert!(found[0].capabilities.send_prompt && !found[1].capabilities.send_prompt);
    assert_eq!(stage.look().await, (Vec::new(), 2));
}

#[tokio::test]
async fn a_record_that_nobody_writes_to_any_more_is_at_rest() {
    let mut stage = Stage::new();
    let whole = fs::read_to_string(folder().join("codex-0.166.0/e01_parent.jsonl")).unwrap();
    let cut: String = whole.lines().take(17).map(|line| format!("{line}\n")).collect();
    let file = stage.rollout(PARENT);
    fs::write(&file, &cut).unwrap();
    let long_ago = fs::File::options().append(true).open(&file).unwrap();
    long_ago.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).unwrap();
    stage.look().await;
    let drafts = stage.read(PARENT, 0, cut.len() as u64).await;
    let Body::TurnFinished(end) = &drafts.last().unwrap().1.body else { panic!("{:?}", drafts.last()) };
    assert_eq!(end.outcome, TurnOutcome::Interrupted);
    // The same record, if it was written to just now, may still go on.
    fs::write(stage.rollout(FORK), &cut).unwrap();
    stage.look().await;
    let drafts = stage.read(FORK, 0, cut.len() as u64).await;
    assert!(!matches!(drafts.last().unwrap().1.body, Body::TurnFinished(_)));
}

/// Versions of Claude Code behind other programs do not write why a message ended.
#[tokio::test]
async fn an_answer_that_nothing_follows_is_an_end_sooner_than_a_silence() {
    let line = |kind: &str, uuid: &str, content: &str| {
        let message = json!({ "role": kind, "id": uuid, "stop_reason": null,
            "content": [{ "type": "text", "text": content }] });
        json!({ "type": kind, "uuid": uuid, "timestamp": "2026-11-15T21:51:56.000Z", "cwd": "/w", "message": message })
            .to_string()
            + "\n"
    };
    let (asked, answer) = (line("user", "u", "hi"), line("assistant", "a", "Hello."));
    for (text, ended) in [(asked.clone() + &answer, Some(TurnOutcome::Completed)), (asked, None)] {
        let mut stage = Stage::new();
        let folder = stage.home.path().join(".claude/projects/-w");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{PARENT}.jsonl"));
        fs::write(&file, &text).unwrap();
        let written = fs::File::options().append(true).open(&file).unwrap();
        let now = written.metadata().unwrap().modified().unwrap();
        written.set_modified(now - Duration::from_secs(1_200)).unwrap();
        stage.look().await;
        let session = SessionId::of_past("claude", PARENT);
        let (agent, native) = ("claude".into(), PARENT.to_owned());
        stage.rig.send(ToAnchor::ReadPast { session, agent, native, after: 0, told: None }).await;
        let FromAnchor::ReadPast { drafts, .. } = stage.rig.next().await else { panic!("nothing was read") };
        let end = drafts.iter().find_map(|(_, draft)| match &draft.body {
            Body::TurnFinished(end) => Some(end.outcome),
            _ => None,
        });
        assert_eq!(end, ended, "{drafts:?}");
    }
}

#[tokio::test]
async fn what_grows_is_told_of_as_it_grows() {
    let past = WatchPast { every: Some(Duration::from_millis(5)), oldest: None };
    let mut stage = Stage::watching(past, 64);
    let lines = fs::read_to_string(folder().join("codex-0.166.0/e01_parent.jsonl")).unwrap();
    let mut file = fs::File::create(stage.rollout(PARENT)).unwrap();
    let (mut read, mut all) = (0, Vec::new());
    for lines in lines.lines().collect::<Vec<_>>().chunks(13) {
        let piece: String = lines.iter().map(|line| format!("{line}\n")).collect();
        file.write_all(piece.as_bytes()).unwrap();
        let size = read + piece.len() as u64;
        loop {
            let FromAnchor::FoundPast { found } = stage.rig.next().await else { panic!("not found") };
            if found[0].size == size {
                break;
            }
        }
        all.extend(stage.read(PARENT, read, size).await);
        read = size;
    }
    assert_eq!(texts(&all).len(), 6);
}

#[tokio::test]
async fn a_hub_that_is_slow_holds_back_reading_and_nothing_else() {
    let mut stage = Stage::watching(WatchPast::default(), 1);
    let line = "{\"timestamp\":\"2026-11-15T21:51:56.000Z\",\"type\":\"event_msg\",\"payload\":{\"type\":\"agent_message\",\"message\":\"word\"}}\n";
    let head = fs::read_to_string(folder().join("by-hand/codex-older.jsonl")).unwrap();
    fs::write(stage.rollout(PARENT), format!("{head}{}", line.repeat(50 * BATCH))).unwrap();
    let (found, _) = stage.look().await;
    let session = SessionId::of_past("codex", PARENT);
    let (agent, native) = ("codex".into(), PARENT.to_owned());
    stage.rig.send(ToAnchor::ReadPast { session, agent, native, after: 0, told: None }).await;
    // While nothing of it is taken, the anchor answers: of what is read there is never more than a few batches.
    stage.rig.full.notified().await;
    let id = stage.rig.ask(GitQuery { cwd: "/".to_owned() }).await;
    let (mut place, mut answered, mut batches) = (0, None, 0);
    while place < found[0].size || answered.is_none() {
        match stage.rig.next().await {
            FromAnchor::ReadPast { after, until, .. } => {
                assert_eq!(after, place);
                (place, batches) = (until, batches + 1);
            }
            FromAnchor::Answer { id: other, .. } if other == id => answered = Some(batches),
            other => panic!("{other:?}"),
        }
    }
    assert!(batches >= 50, "{batches}");
}

#[tokio::test]
async fn what_nobody_keeps_a_record_of_is_passed_over() {
    let mut stage = Stage::new();
    let session = SessionId::of_past("codex", "nothing");
    for (agent, native) in [("codex", "nothing"), ("telepathy", PARENT)] {
        let (agent, native) = (agent.into(), native.to_owned());
        stage.rig.send(ToAnchor::ReadPast { session, agent, native, after: 0, told: None }).await;
    }
    assert_eq!(stage.look().await, (Vec::new(), 0));
}

#[tokio::test]
async fn thousands_come_newest_first_and_in_batches_and_old_ones_can_be_left_out() {
    let oldest = Duration::from_secs(3_600 * 24);
    let mut stage = Stage::watching(WatchPast { every: None, oldest: Some(oldest) }, 64);
    let head = "{\"timestamp\":\"2026-11-15T21:51:56.000Z\",\"type\":\"session_meta\",\"payload\":{\"cwd\":\"/w\"}}\n";
    let now = fs::metadata(stage.home.path()).unwrap().modified().unwrap();
    let mut ages = BTreeMap::new();
    for n in 0..350_u64 {
        let native = format!("01a1e132-0000-7000-8000-{n:012}");
        let file = stage.rollout(&native);
        fs::write(&file, head).unwrap();
        // Some of each hour; those of more than a day ago are left out.
        let age = (n * 37) % 350 / 10;
        fs::File::options()
            .append(true)
            .open(&file)
            .unwrap()
            .set_modified(now - Duration::from_secs(age * 3_600))
            .unwrap();
        ages.insert(native, age);
    }
    let id = stage.rig.ask(PastQuery {}).await;
    let mut found = Vec::new();
    let count = loop {
        match stage.rig.next().await {
            FromAnchor::FoundPast { found: some } => {
                assert!(some.len() <= 100);
                found.extend(some);
            }
            FromAnchor::Answer { id: other, answer: Ok(Answer::Past(PastCount { found, .. })) }
                if other == id =>
            {
                break found;
            }
            other => panic!("{other:?}"),
        }
    };
    let order: Vec<u64> = found.iter().map(|past| ages[&past.native]).collect();
    assert!(order.is_sorted(), "the one that was written to last comes first");
    let recent = ages.values().filter(|age| **age < 24).count();
    assert!((recent..=recent + 10).contains(&found.len()), "{} of {recent}", found.len());
    assert_eq!(count, found.len() as u64);
}

//! Conversations that were held in the agent's own terminal: found, read, searched, gone on with here and handed back.

use std::path::PathBuf;
use std::process::Output;
use std::time::{Duration, Instant};

use longshore_model::event::Body;
use longshore_model::id::Seq;
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::Content;
use serde::Deserialize;
use serde_json::{Value, json};

use super::agents;
use super::rig::{Rig, Talk, WITHIN, codex};

#[derive(Deserialize)]
struct Page {
    sessions: Vec<SessionInfo>,
    next: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Looked {
    found: u64,
    unread: u64,
}

async fn all_sessions(rig: &Rig) -> Vec<SessionInfo> {
    let mut client = rig.client().await;
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let page: Page = client.call("sessions", json!({ "limit": 200, "cursor": cursor })).await.unwrap();
        all.extend(page.sessions);
        match page.next {
            Some(next) => cursor = Some(next),
            None => return all,
        }
    }
}

/// Looks for conversations until what was found is as it should be.
async fn look_until(rig: &Rig, what: &str, is_so: impl Fn(&Looked) -> bool) {
    let mut client = rig.client().await;
    let mut pace = tokio::time::interval(Duration::from_millis(100));
    let waiting = async {
        loop {
            pace.tick().await;
            let looked: Looked = client.call("importPast", json!({})).await.unwrap();
            if is_so(&looked) {
                return;
            }
        }
    };
    tokio::time::timeout(WITHIN * 3, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// The real codex as a person runs it, without us.
async fn codex_alone(rig: &Rig, arguments: &[&str]) -> Output {
    let at = |name: &str| rig.folder.path().join(name);
    let mut command = tokio::process::Command::new(codex());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", at("home"))
        .env("TMPDIR", at("tmp"))
        .env("CODEX_HOME", at("codex"))
        .current_dir(rig.work())
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .args(["exec", "--skip-git-repo-check"])
        .args(arguments);
    let output = tokio::time::timeout(WITHIN, command.output()).await.expect("codex did not end").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The real OpenCode as a person runs it, without us.
async fn opencode_alone(rig: &Rig, arguments: &[&str]) {
    let mut command = tokio::process::Command::new(agents::agent("opencode"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", rig.folder.path().join("home"))
        .env("TMPDIR", rig.folder.path().join("tmp"))
        .envs(agents::environment(rig.folder.path(), rig.root()))
        .current_dir(rig.work())
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .arg("run")
        .args(arguments);
    let output = tokio::time::timeout(WITHIN, command.output()).await.expect("opencode did not end").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

async fn longshore(rig: &Rig, arguments: &[&str]) -> String {
    let output = tokio::time::timeout(WITHIN, rig.longshore().args(arguments).output()).await;
    let output = output.expect("it did not end").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn what_codex_was_told_elsewhere_is_read_here_and_goes_on_here() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "It was a grey heron." }] },
        { "do": [{ "say": "It was by the lake." }] },
        { "do": [{ "say": "It flew away." }] },
    ]))
    .await;
    codex_alone(&rig, &["which bird was it?"]).await;
    let said = longshore(&rig, &["import"]).await;
    assert!(said.starts_with("past conversations: 1 found"), "{said}");
    let sessions = all_sessions(&rig).await;
    assert_eq!(sessions.len(), 1);
    let found = &sessions[0];
    let native = found.native.clone().unwrap();
    assert_eq!((found.title.as_str(), &*found.provider), ("which bird was it?", "codex"));
    assert_eq!(found.cwd, rig.work().display().to_string());

    // It goes on elsewhere, and whoever follows it here hears so.
    let mut talk = rig.follow(found.session_id, Seq::ZERO).await;
    talk.until("what was said is read", |talk| talk.messages() == ["It was a grey heron."]).await;
    codex_alone(&rig, &["resume", &native, "where?"]).await;
    longshore(&rig, &["import"]).await;
    talk.until("it goes on", |talk| talk.messages().len() == 2).await;
    let ended = |body: &Body| matches!(body, Body::TurnFinished(_));
    talk.until("the turn ends", |talk| talk.said(ended).len() == 2).await;
    assert!(longshore(&rig, &["search", "heron"]).await.contains("which bird was it?"));
    let shown = longshore(&rig, &["show", &found.session_id.to_string()]).await;
    assert!(shown.contains("> where?") && shown.contains("It was by the lake."), "{shown}");
    let command = format!("cd {} && codex resume {native}", rig.work().display());
    assert!(shown.contains(&command), "{shown}");

    // Somebody goes on with it here: codex remembers by itself.
    let turn = talk.prompt("and then?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages(), ["It was a grey heron.", "It was by the lake.", "It flew away."]);
    assert!(rig.heard_by_model(3).await.contains("It was a grey heron."));
    let info = talk.info().await;
    assert_eq!((info.native.as_deref(), info.imported), (Some(native.as_str()), None));
    // It is the same conversation, and is not found again.
    longshore(&rig, &["import"]).await;
    assert_eq!(all_sessions(&rig).await.len(), 1);
    assert_eq!(talk.info().await.imported, None);
    assert_eq!(talk.messages().len(), 3, "{}", talk.story());
}

#[tokio::test]
async fn what_codex_does_for_us_is_not_taken_for_something_else() {
    let rig = Rig::with(json!([{ "do": [{ "say": "Here." }] }])).await;
    let mut talk = rig.talk("full", "where are you?").await;
    talk.until_turn_ends_somehow().await;
    let said = longshore(&rig, &["import", "--json"]).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["found"], &said["new"]), (&json!(1), &json!(0)));
    assert_eq!(all_sessions(&rig).await.len(), 1);
}

/// What a script must have for OpenCode, which asks for titles.
fn with_titles(story: Value) -> Value {
    let title = json!({ "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" });
    let mut all = vec![title];
    all.extend(story.as_array().unwrap().iter().cloned());
    json!(all)
}

#[tokio::test]
async fn what_opencode_was_told_elsewhere_is_read_here_and_goes_on_here() {
    let rig = Rig::with(with_titles(json!([
        { "do": [{ "say": "It was a grey heron." }] },
        { "do": [{ "say": "It was by the lake." }] },
        { "do": [{ "say": "It flew away." }] },
    ])))
    .await;
    opencode_alone(&rig, &["which", "bird?"]).await;
    look_until(&rig, "it is found", |looked| looked.found == 1).await;
    let sessions = all_sessions(&rig).await;
    let found = &sessions[0];
    let native = found.native.clone().unwrap();
    assert_eq!((found.title.as_str(), &*found.provider), ("A title", "opencode"));
    assert_eq!(found.cwd, rig.work().display().to_string());

    // It goes on elsewhere, and whoever follows it here hears so.
    let mut talk = rig.follow(found.session_id, Seq::ZERO).await;
    talk.until("what was said is read", |talk| talk.messages() == ["It was a grey heron."]).await;
    opencode_alone(&rig, &["-s", &native, "where?"]).await;
    longshore(&rig, &["import"]).await;
    let ended = |body: &Body| matches!(body, Body::TurnFinished(_));
    talk.until("it goes on", |talk| talk.said(ended).len() == 2).await;
    assert!(longshore(&rig, &["search", "heron"]).await.contains("A title"));
    let shown = longshore(&rig, &["show", &found.session_id.to_string()]).await;
    assert!(shown.contains("> where?") && shown.contains("It was by the lake."), "{shown}");
    let command = format!("cd {} && opencode -s {native}", rig.work().display());
    assert!(shown.contains(&command), "{shown}");

    // Somebody goes on with it here: OpenCode remembers by itself.
    let turn = talk.prompt("and then?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages(), ["It was a grey heron.", "It was by the lake.", "It flew away."]);
    assert!(rig.model_heard(&["and then?", "It was a grey heron."]));
    let info = talk.info().await;
    assert_eq!((info.native.as_deref(), info.imported), (Some(native.as_str()), None));
    // It is the same conversation, and is not found again.
    longshore(&rig, &["import"]).await;
    assert_eq!(all_sessions(&rig).await.len(), 1);
    assert_eq!(talk.messages().len(), 3, "{}", talk.story());
}

/// What a timeline shows, without what differs from one time to the next.
fn shape(talk: &Talk) -> Vec<String> {
    let show = |content: &Content, text: &str| match content {
        Content::UserMessage { .. } => Some(format!("user: {text}")),
        Content::Message { partial, .. } => Some(format!("agent: {text} {partial}")),
        Content::Reasoning { partial } => Some(format!("thought: {text} {partial}")),
        Content::Plan { steps } => Some(format!("plan: {steps:?}")),
        Content::Tool { call, outcome, changes } => {
            let end = outcome.as_ref().map(|outcome| (outcome.status, outcome.exit_code));
            let changes: Vec<_> = changes.iter().map(|change| (&change.kind, &change.diff)).collect();
            Some(format!("{:?} {} {:?} {end:?} {changes:?}: {text}", call.kind, call.name, call.command))
        }
        Content::TurnEnd(end) => Some(format!("end: {:?} {:?} {:?}", end.outcome, end.usage, end.cost_usd)),
        Content::Diff { .. }
        | Content::TurnDiff
        | Content::Approval { .. }
        | Content::Question { .. }
        | Content::Delegation { .. } => Some("another".to_owned()),
        Content::Notice { .. } => None,
    };
    let mut shown: Vec<String> =
        talk.timeline.items.iter().filter_map(|item| show(&item.content, &item.text)).collect();
    // OpenCode tells of a plan now before and now after the call that makes it.
    shown.sort_by_key(|line| line.starts_with("plan: "));
    shown
}

#[tokio::test]
async fn what_opencode_does_looks_the_same_here_and_elsewhere() {
    let rig = Rig::with(json!([])).await;
    let path = rig.work().join("heron.txt");
    let todo = |text: &str, status: &str| json!({ "content": text, "status": status, "priority": "high" });
    let todos = json!([todo("find it", "completed"), todo("watch it", "in_progress")]);
    let story = json!([
        { "do": [{ "reason": "Let me think" }, { "say": "I look." },
            { "call": "bash", "args": { "command": "echo made; exit 3", "description": "makes it" } }] },
        { "do": [{ "call": "write", "args": { "filePath": path, "content": "grey heron\n" } }] },
        { "do": [{ "call": "todowrite", "args": { "todos": todos } }] },
        { "do": [{ "say": "Done." }] },
    ]);
    let script = || longshore_models::script::Script::from_value(with_titles(story.clone())).unwrap();
    rig.model.replace(script());
    let mut here = rig.open_with("opencode", "full").await;
    let turn = here.prompt("go").await;
    assert_eq!(here.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", here.story());
    let said = longshore(&rig, &["import", "--json"]).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["new"], json!(0), "what it does for us is not taken for something else: {said}");

    std::fs::remove_file(&path).unwrap();
    rig.model.replace(script());
    opencode_alone(&rig, &["--auto", "go"]).await;
    look_until(&rig, "it is found", |looked| looked.found == 2 && looked.unread == 0).await;
    let sessions = all_sessions(&rig).await;
    let own = here.info().await.session_id;
    let found = sessions.iter().find(|info| info.session_id != own).unwrap();
    let mut there = rig.follow(found.session_id, Seq::ZERO).await;
    let ended = |body: &Body| matches!(body, Body::TurnFinished(_));
    there.until("it is read", |talk| talk.said(ended).len() == 1).await;
    assert_eq!(shape(&there), shape(&here), "\n{}\n{}", there.story(), here.story());
}

const OLD: usize = 10_000;

/// Rollouts of a small turn each.
fn old_rollouts(rig: &Rig, count: usize) {
    for n in 0..count {
        let folder: PathBuf =
            rig.folder.path().join(format!("codex/sessions/2025/{:02}/{:02}", n % 12 + 1, n % 28 + 1));
        std::fs::create_dir_all(&folder).unwrap();
        let native = format!("01985000-0000-7000-8000-{n:012}");
        let turn = format!("01985000-0000-7000-9000-{n:012}");
        let line = |second: usize, kind: &str, payload: Value| {
            let timestamp = format!("2025-08-01T10:00:{second:02}.000Z");
            json!({ "timestamp": timestamp, "type": kind, "payload": payload }).to_string() + "\n"
        };
        let item = |item: Value| json!({ "type": "item_completed", "thread_id": native, "turn_id": turn, "item": item });
        let text: String = [
            line(0, "session_meta", json!({ "id": native, "cwd": "/home/dev/demo", "history_mode": "paginated" })),
            line(1, "event_msg", json!({ "type": "task_started", "turn_id": turn })),
            line(2, "turn_context", json!({ "turn_id": turn, "model": "gpt-5.5" })),
            line(
                3,
                "event_msg",
                item(json!({ "type": "UserMessage", "id": "u", "content": [{ "type": "text", "text": format!("question {n}") }] })),
            ),
            line(
                4,
                "event_msg",
                item(json!({ "type": "AgentMessage", "id": "a", "content": [{ "type": "Text", "text": format!("answer {n}") }] })),
            ),
            line(5, "event_msg", json!({ "type": "task_complete", "turn_id": turn, "duration_ms": 4000 })),
        ]
        .concat();
        std::fs::write(folder.join(format!("rollout-2025-08-01T10-00-00-{native}.jsonl")), text).unwrap();
    }
}

#[tokio::test]
async fn ten_thousand_old_conversations_hold_up_nobody() {
    let say = |text: &str| json!({ "do": [{ "say": text }] });
    let rig = Rig::with(json!((0..200).map(|n| say(&format!("reply {n}"))).collect::<Vec<_>>())).await;
    let mut talk = rig.talk("full", "hello").await;
    talk.until_turn_ends_somehow().await;
    old_rollouts(&rig, OLD);

    let began = Instant::now();
    let mut listed = Duration::ZERO;
    let mut slowest = Duration::ZERO;
    let mut turns = 0;
    {
        let import = async {
            look_until(&rig, "all are listed", |looked| looked.found > OLD as u64).await;
            listed = began.elapsed();
            look_until(&rig, "all are read", |looked| looked.unread == 0).await;
        };
        tokio::pin!(import);
        // Somebody talks meanwhile, turn after turn.
        loop {
            let asked = Instant::now();
            let turn = talk.prompt("and?").await;
            let answered = talk.until_turn_ends(turn);
            tokio::pin!(answered);
            let over = tokio::select! {
                () = &mut import => true,
                outcome = &mut answered => {
                    assert_eq!(outcome, TurnOutcome::Completed);
                    slowest = slowest.max(asked.elapsed());
                    turns += 1;
                    turns == 150
                }
            };
            if over {
                if turns == 150 {
                    import.await;
                } else {
                    assert_eq!(answered.await, TurnOutcome::Completed);
                }
                break;
            }
        }
    }
    let read = began.elapsed();
    println!(
        "{OLD} old conversations: listed in {listed:?}, read in {read:?}; {turns} turns meanwhile, the slowest {slowest:?}"
    );
    assert!(turns > 0, "a prompt was served meanwhile");
    let sessions = all_sessions(&rig).await;
    assert_eq!(sessions.len(), OLD + 1);
    let old = sessions.iter().find(|info| info.title == "question 4711").unwrap();
    assert_eq!(old.preview.as_deref(), Some("answer 4711"));
    assert_eq!(old.updated_at.to_string(), "2025-08-01T10:00:05.000000Z", "it is as old as it is");
}

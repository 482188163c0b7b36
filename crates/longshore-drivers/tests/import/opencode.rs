//! OpenCode, which is asked for its conversations: its own driver and a server that answers from files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use longshore_drivers::discover::{AgentSettings, Surroundings};
use longshore_drivers::import::WatchPast;
use longshore_drivers::opencode;
use longshore_model::anchor::{Answer, FromAnchor, Past, PastCount, PastQuery, ToAnchor, ToldHere};
use longshore_model::event::{Body, Draft};
use longshore_model::id::SessionId;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::folder;
use crate::rig::{Rig, example, soon};

const TOOLS: &str = "ses_e1e65a730ffew4hE54Hi5PVCcW";
const CHILD: &str = "ses_e1e6589e6ffeFWMTEWUyqWWUSU";
/// Long ago.
const OLD: i64 = 1_700_000_000_000;

struct Stage {
    home: TempDir,
    rig: Rig,
}

impl Stage {
    fn new() -> Self {
        Self::watching(WatchPast::default())
    }

    fn watching(past: WatchPast) -> Self {
        let home = tempfile::tempdir().unwrap();
        let around = Surroundings::of([("HOME", home.path())]);
        let folder = home.path().display().to_string();
        let rig = Rig::with(json!([]), 64, |config| {
            let settings = AgentSettings {
                path: Some(example("fake-server")),
                env: BTreeMap::from([("FAKE_FOLDER".to_owned(), folder)]),
                ..AgentSettings::default()
            };
            config.settings = BTreeMap::from([("opencode".to_owned(), settings)]);
            config.agents = vec![Arc::new(opencode::OpenCodeSpec)];
            config.surroundings = around;
            config.past = past;
            config.linger = Duration::from_millis(50);
        });
        Self { home, rig }
    }

    fn put(&self, name: &str, body: &Value) {
        fs::write(self.home.path().join(name), body.to_string()).unwrap();
    }

    /// Lets OpenCode have written something.
    fn write(&self, bytes: &str) {
        let data = self.home.path().join(".local/share/opencode");
        fs::create_dir_all(&data).unwrap();
        fs::write(data.join("opencode.db"), bytes).unwrap();
    }

    fn sessions(&self, sessions: &[Value]) {
        self.put("-experimental-session", &json!(sessions));
    }

    fn messages(&self, native: &str, messages: &[Value]) {
        self.put(&format!("-session-{native}-message"), &json!(messages));
    }

    fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.home.path().join("asked")).unwrap_or_default();
        asked.lines().map(str::to_owned).collect()
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

    /// Looks until something is found: a read that fails says so to nobody who could be waited for.
    async fn look_until_found(&mut self) -> Vec<Past> {
        soon("something is found", async {
            loop {
                let (found, _) = self.look().await;
                if !found.is_empty() {
                    return found;
                }
            }
        })
        .await
    }

    async fn want(&mut self, native: &str, after: u64, told: Option<ToldHere>) -> SessionId {
        let session = SessionId::of_past("opencode", native);
        let (agent, native) = ("opencode".into(), native.to_owned());
        self.rig.send(ToAnchor::ReadPast { session, agent, native, after, told }).await;
        session
    }

    /// Reads on in a conversation: what was said, and up to where it was read.
    async fn read(&mut self, native: &str, after: u64) -> (Vec<(Timestamp, Draft)>, u64) {
        self.read_beside(native, after, None).await
    }

    /// The same, without what was told here.
    async fn read_beside(
        &mut self,
        native: &str,
        after: u64,
        told: Option<ToldHere>,
    ) -> (Vec<(Timestamp, Draft)>, u64) {
        let session = self.want(native, after, told).await;
        match self.rig.next().await {
            FromAnchor::ReadPast { session: other, after: place, drafts, until, .. } => {
                assert_eq!((other, place), (session, after));
                (drafts, until)
            }
            other => panic!("instead of what was said: {other:?}"),
        }
    }
}

fn session(native: &str, updated: i64) -> Value {
    json!({
        "id": native, "directory": "/home/dev/demo", "title": "A title",
        "time": {"created": OLD, "updated": updated},
    })
}

fn recorded(name: &str) -> Vec<Value> {
    let file: PathBuf = folder().join("opencode-1.18.33").join(format!("{name}.jsonl"));
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn user(id: &str, created: i64, text: &str) -> Value {
    let part = json!({"id": format!("prt_{id}"), "type": "text", "text": text});
    json!({"info": {"id": id, "role": "user", "time": {"created": created}}, "parts": [part]})
}

fn step(id: &str, created: i64, completed: Option<i64>, text: &str) -> Value {
    let time = json!({"start": created, "end": completed});
    let part = json!({"id": format!("prt_{id}"), "type": "text", "text": text, "time": time});
    let finish = completed.map(|_| "stop");
    let time = json!({"created": created, "completed": completed});
    json!({"info": {"id": id, "role": "assistant", "finish": finish, "time": time}, "parts": [part]})
}

fn texts(drafts: &[(Timestamp, Draft)]) -> Vec<&str> {
    let said = drafts
        .iter()
        .filter(|(_, draft)| matches!(draft.body, Body::UserMessage { .. } | Body::MessageDone { .. }));
    said.filter_map(|(_, draft)| draft.text.as_deref()).collect()
}

fn ends(drafts: &[(Timestamp, Draft)]) -> Vec<TurnOutcome> {
    let end = |(_, draft): &(Timestamp, Draft)| match &draft.body {
        Body::TurnFinished(end) => Some(end.outcome),
        _ => None,
    };
    drafts.iter().filter_map(end).collect()
}

#[tokio::test]
async fn conversations_are_asked_for_and_read() {
    let mut stage = Stage::new();
    stage.sessions(&[session(TOOLS, OLD + 9), json!({"id": "ses_x", "title": "nowhere"})]);
    assert_eq!(stage.look().await, (Vec::new(), 0), "OpenCode never ran here");
    assert_eq!(stage.asked(), [""; 0], "and is not started for nothing");

    stage.write("1");
    let mut child = session(CHILD, OLD + 5);
    child["parentID"] = json!(TOOLS);
    child["title"] = json!("New session - 2026-11-15T23:45:33.535Z");
    stage.sessions(&[session(TOOLS, OLD + 9), child]);
    stage.messages(TOOLS, &recorded("tools"));
    let (found, count) = stage.look().await;
    assert_eq!((found.len(), count), (2, 2));
    let [past, child] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(
        (&*past.agent, past.native.as_str(), past.cwd.as_str()),
        ("opencode", TOOLS, "/home/dev/demo")
    );
    assert_eq!((past.title.as_deref(), past.size), (Some("A title"), OLD as u64 + 9));
    assert_eq!(past.created_at, Timestamp::from_micros(OLD * 1_000));
    assert_eq!((child.parent.as_deref(), child.title.as_deref()), (Some(TOOLS), None));
    assert_eq!(past.capabilities, opencode::capabilities());
    assert_eq!(stage.look().await, (Vec::new(), 2), "they are as they were");

    let (drafts, until) = stage.read(TOOLS, 0).await;
    assert_eq!(texts(&drafts), ["\"s-bash do it\"", "I will look.", "All done."]);
    assert_eq!(ends(&drafts), [TurnOutcome::Completed]);
    assert_eq!(until, 1_794_786_353_910, "where the last message ended");
    let lines = drafts.iter().filter(|(_, draft)| draft.raw.is_some()).count();
    assert_eq!(lines, recorded("tools").len(), "every message is kept");
}

#[tokio::test]
async fn what_is_not_finished_is_waited_for_and_then_read_on() {
    let now = now();
    let mut stage = Stage::new();
    stage.write("1");
    stage.sessions(&[session("ses_1", now)]);
    let first = user("msg_1", now - 900, "which bird?");
    stage.messages("ses_1", &[first.clone(), step("msg_2", now - 800, None, "It w")]);
    assert_eq!(stage.look().await.0.len(), 1);
    let (drafts, until) = stage.read("ses_1", 0).await;
    assert_eq!((texts(&drafts), until), (vec!["which bird?"], now as u64 - 900));
    assert_eq!(ends(&drafts), [], "it still runs");

    // It is told of again though nothing says that anything has changed.
    let (found, _) = stage.look().await;
    assert_eq!(found.len(), 1);
    let done = step("msg_2", now - 800, Some(now + 5), "It was a grey heron.");
    stage.messages("ses_1", &[first.clone(), done.clone()]);
    let (drafts, until) = stage.read("ses_1", until).await;
    assert_eq!((texts(&drafts), ends(&drafts)), (vec!["It was a grey heron."], vec![TurnOutcome::Completed]));
    assert_eq!(until, now as u64 + 5);
    assert_eq!(stage.look().await.0, [], "now all is told");

    // Somebody goes on with it there.
    let more =
        [first, done, user("msg_3", now + 10, "where?"), step("msg_4", now + 11, Some(now + 20), "There.")];
    stage.messages("ses_1", &more);
    stage.sessions(&[session("ses_1", now + 20)]);
    stage.write("22");
    assert_eq!(stage.look().await.0.len(), 1);
    let (drafts, until) = stage.read("ses_1", until).await;
    assert_eq!((texts(&drafts), until), (vec!["where?", "There."], now as u64 + 20));
}

#[tokio::test]
async fn what_was_cut_short_here_is_not_waited_for() {
    let now = now();
    let at = |millis: i64| Timestamp::from_micros(millis * 1_000);
    let here = |until: i64| Some(ToldHere { until: at(until), since: at(OLD), prompts: Vec::new() });
    let mut stage = Stage::new();
    stage.write("1");
    stage.sessions(&[session("ses_1", now)]);
    stage.messages("ses_1", &[user("msg_1", now - 900, "talk"), step("msg_2", now - 800, None, "word")]);
    stage.look().await;
    assert_eq!(
        stage.read_beside("ses_1", 0, here(now - 700)).await,
        (Vec::new(), now as u64),
        "all is known"
    );
    assert_eq!(stage.look().await.0, [], "and nothing is to come");
    let (_, until) = stage.read_beside("ses_1", 0, here(now - 1_000)).await;
    assert_eq!(until, now as u64 - 900, "what somebody else is doing there is waited for");
}

#[tokio::test]
async fn what_nobody_finished_is_taken_in_when_it_is_at_rest() {
    let mut stage = Stage::new();
    stage.write("1");
    stage.sessions(&[session("ses_1", OLD + 900)]);
    stage.messages("ses_1", &[user("msg_1", OLD, "talk"), step("msg_2", OLD + 10, None, "word word")]);
    stage.look().await;
    let (drafts, until) = stage.read("ses_1", 0).await;
    assert_eq!((ends(&drafts), until), (vec![TurnOutcome::Interrupted], OLD as u64 + 900));
    assert!(drafts.iter().any(|(_, draft)| draft.text.as_deref() == Some("word word")));
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_loses_nothing() {
    let mut stage = Stage::new();
    stage.write("1");
    stage.sessions(&[session("ses_1", OLD + 900), session("ses_2", OLD + 800)]);
    stage.put("-session-ses_1-message", &json!({"broken": true}));
    let strange = json!({"info": {"id": "msg_2", "role": "oracle", "time": {"created": OLD + 1}}, "parts": ["?", {"id": 7}]});
    let mut said = user("msg_1", OLD, "hello");
    said["parts"]
        .as_array_mut()
        .unwrap()
        .extend([json!(null), json!({"id": "p", "type": "from-the-future"})]);
    stage.messages(
        "ses_2",
        &[said, strange, json!("no message"), step("msg_3", OLD + 2, Some(OLD + 3), "Hail.")],
    );
    assert_eq!(stage.look().await.0.len(), 2);
    stage.want("ses_1", 0, None).await;
    let (drafts, _) = stage.read("ses_2", 0).await;
    assert_eq!(texts(&drafts), ["hello", "Hail."]);
    let kept = drafts.iter().filter(|(_, draft)| draft.raw.is_some()).count();
    assert_eq!(kept, 4, "whatever it is, it is kept");

    let again = stage.look_until_found().await;
    assert_eq!(again.len(), 1, "what could not be read is told of again: {again:?}");
    stage.messages("ses_1", &[user("msg_1", OLD, "again"), step("msg_2", OLD + 2, Some(OLD + 3), "Yes.")]);
    assert_eq!(texts(&stage.read("ses_1", 0).await.0), ["again", "Yes."]);
}

#[tokio::test]
async fn long_conversations_come_in_pages() {
    let mut stage = Stage::new();
    stage.write("1");
    stage.sessions(&[session("ses_1", OLD + 900)]);
    let messages: Vec<Value> = (0..75)
        .flat_map(|turn| {
            let at = OLD + turn * 10;
            let name = |what: &str| format!("msg_{turn:03}{what}");
            [user(&name("a"), at, "go"), step(&name("b"), at + 1, Some(at + 5), "Gone.")]
        })
        .collect();
    let page = |name: &str, messages: &[Value]| stage.put(name, &json!(messages));
    page("-session-ses_1-message-limit-100", &messages[50..]);
    // `{"id":"msg_025a","time":1700000000250}`
    let cursor = "eyJpZCI6Im1zZ18wMjVhIiwidGltZSI6MTcwMDAwMDAwMDI1MH0-3D";
    page(&format!("-session-ses_1-message-limit-100-before-{cursor}"), &messages[..50]);
    stage.look().await;
    let (drafts, until) = stage.read("ses_1", 0).await;
    assert_eq!((texts(&drafts).len(), ends(&drafts).len(), until), (150, 75, OLD as u64 + 900));
}

#[tokio::test]
async fn many_are_found_page_by_page_and_old_ones_can_be_left_out() {
    let pages = |stage: &Stage| {
        let all: Vec<Value> =
            (0..150).map(|n| session(&format!("ses_{n}"), now() - i64::from(n) * 1_000_000)).collect();
        let next = all[99]["time"]["updated"].as_i64().unwrap() + 1;
        stage.put("-experimental-session-archived-true-limit-100", &json!(all[..100]));
        let second = format!("-experimental-session-archived-true-limit-100-cursor-{next}");
        stage.put(&second, &json!(all[99..]));
        stage.write("1");
    };
    let mut stage = Stage::new();
    pages(&stage);
    let (found, count) = stage.look().await;
    assert_eq!((found.len(), count), (150, 150), "one is on both pages");
    let hour = Duration::from_secs(3_600);
    let mut young = Stage::watching(WatchPast { every: None, oldest: Some(hour) });
    pages(&young);
    let (found, _) = young.look().await;
    assert_eq!(found.len(), 4, "{found:?}");
}

/// A process that runs for a session is asked whenever something has changed; for nobody's sake none is started.
#[tokio::test]
async fn the_watcher_asks_a_process_that_is_there_anyway() {
    let every = Some(Duration::from_millis(5));
    let mut stage = Stage::watching(WatchPast { every, oldest: None });
    stage.sessions(&[session("ses_1", OLD)]);
    stage.write("1");
    let FromAnchor::FoundPast { found } = stage.rig.next().await else { panic!("it looks at the start") };
    assert_eq!(found.len(), 1);
    let mut launch = stage.rig.launch();
    launch.agent = "opencode".into();
    stage.put("-session", &json!({"id": "ses_own", "directory": "/w"}));
    stage.put("-command", &json!([]));
    stage.rig.send(ToAnchor::Open(launch)).await;
    loop {
        if let FromAnchor::Said { drafts, .. } = stage.rig.next().await
            && drafts.iter().any(|draft| matches!(draft.body, Body::SessionReady(_)))
        {
            break;
        }
    }
    stage.sessions(&[session("ses_2", OLD + 1), session("ses_1", OLD)]);
    stage.write("22");
    loop {
        if let FromAnchor::FoundPast { found } = stage.rig.next().await {
            let natives: Vec<&str> = found.iter().map(|past| past.native.as_str()).collect();
            assert_eq!(natives, ["ses_2"]);
            break;
        }
    }
    assert!(stage.asked().iter().filter(|asked| *asked == "started").count() <= 2, "{:?}", stage.asked());
}

/// The moment, as the disk tells it.
fn now() -> i64 {
    let written = tempfile::tempfile().unwrap().metadata().unwrap().modified().unwrap();
    let since = written.duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

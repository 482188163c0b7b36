//! The demo, played for real and fast: all that it promises is in its log, and nothing is left of it.

use std::path::Path;
use std::process::Stdio;

use longshore::client::Client;
use longshore::render::{Renderer, Style};
use longshore_model::approval::Decision;
use longshore_model::event::{Body, Event};
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::{Activity, SessionInfo, Status};
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::Timeline;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::rig::{Talk, WITHIN};
use super::terminal::Glass;

const SPEED: &str = "50";

/// A machine on which nothing is set up.
struct Fresh {
    home: TempDir,
    tmp: TempDir,
}

impl Fresh {
    fn machine() -> Self {
        Self { home: TempDir::new().unwrap(), tmp: TempDir::new().unwrap() }
    }

    fn variables(&self) -> [(&'static str, std::ffi::OsString); 4] {
        [
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("HOME", self.home.path().into()),
            ("TMPDIR", self.tmp.path().into()),
            ("TERM", "xterm-256color".into()),
        ]
    }

    fn demo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_longshore"));
        command.env_clear().envs(self.variables()).args(["demo", "--speed", SPEED]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Nothing is left: no file, and no process that works in a folder of the demo.
    fn is_as_before(&self) {
        for folder in [&self.home, &self.tmp] {
            let left: Vec<_> =
                std::fs::read_dir(folder.path()).unwrap().flatten().map(|e| e.path()).collect();
            assert!(left.is_empty(), "{left:?}");
        }
        let of_ours = self.tmp.path().canonicalize().unwrap();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let works_at = processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
        let left: Vec<_> = works_at.filter(|place| place.starts_with(&of_ours)).collect();
        assert!(left.is_empty(), "processes are left in {left:?}");
    }
}

async fn within<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(WITHIN, waiting).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// The sessions of a demo that stays up.
struct Hub {
    url: String,
    token: String,
    sessions: Value,
}

impl Hub {
    async fn follow(&self, name: &str) -> Talk {
        let session: SessionId = serde_json::from_value(self.sessions[name].clone()).unwrap();
        let mut client = Client::connect(&self.url, &self.token).await.unwrap();
        let all = json!({ "session": session, "after": Seq::ZERO });
        let _: Value = client.call("subscribe", all).await.unwrap();
        Talk { client, session, events: Vec::new(), timeline: Timeline::default() }
    }

    async fn info(&self, name: &str) -> SessionInfo {
        self.follow(name).await.info().await
    }
}

fn count(talk: &Talk, fits: impl Fn(&Body) -> bool) -> usize {
    talk.events.iter().filter(|event| fits(&event.body)).count()
}

#[tokio::test]
async fn the_demo_shows_everything_it_promises_and_leaves_nothing() {
    let machine = Fresh::machine();
    let casts = TempDir::new().unwrap();
    let cast = casts.path().join("demo.cast");
    let arguments = ["--json", "--yes", "--stay", "--record", cast.to_str().unwrap()];
    let mut demo = machine.demo(&arguments).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let mut line = async || -> Value {
        let line = within("a line", lines.next_line()).await.unwrap().expect("it ended");
        serde_json::from_str(&line).unwrap()
    };
    let (first, ready) = (line().await, line().await);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let hub =
        Hub { url: text(&first["url"]), token: text(&first["token"]), sessions: ready["sessions"].clone() };
    assert_eq!(ready["ready"], true);

    let mut shown = hub.follow("voucher").await;
    shown.until_turn_ends_somehow().await;
    everything_happened(&shown);
    let project = shown.info().await.cwd;
    let tests = std::process::Command::new("sh").arg("test.sh").current_dir(&project).output().unwrap();
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stdout));
    assert!(String::from_utf8_lossy(&tests.stdout).contains("a large voucher makes a cart free"));
    let helper = hub.info("helper").await;
    assert_eq!((helper.parent, helper.status), (Some(shown.session), Status::Idle));

    the_others_stand(&hub).await;
    people_may_answer_them(&hub).await;
    the_recording_shows_the_session(&cast, &shown.events);

    let pid = Pid::from_raw(demo.id().unwrap().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, Signal::INT).unwrap();
    let ended = within("the end", demo.wait()).await.unwrap();
    assert_eq!(ended.code(), Some(0));
    machine.is_as_before();
}

fn everything_happened(shown: &Talk) {
    let told = shown.story();
    let happened = |what: &str, fits: &dyn Fn(&Body) -> bool| {
        assert!(count(shown, fits) > 0, "{what} is missing in\n{told}");
    };
    happened("streamed words", &|body| matches!(body, Body::MessageDelta));
    happened("thoughts", &|body| matches!(body, Body::ReasoningDone { .. }));
    happened("a plan that is done", &|body| {
        let done = |steps: &Vec<longshore_model::item::PlanStep>| {
            steps.len() == 4
                && steps.iter().all(|step| step.status == longshore_model::item::PlanStatus::Completed)
        };
        matches!(body, Body::PlanUpdated { steps } if done(steps))
    });
    let ended = |status| move |body: &Body| matches!(body, Body::ToolFinished(end) if end.status == status);
    happened("a tool that did well", &ended(ToolStatus::Completed));
    happened("a tool that failed", &ended(ToolStatus::Failed));
    happened(
        "a change",
        &|body| matches!(body, Body::FileDiff(diff) if diff.status == ToolStatus::Completed && diff.changes.len() == 2),
    );
    happened(
        "an approval",
        &|body| matches!(body, Body::ApprovalDecided { decision, .. } if decision.decision == Decision::AllowOnce),
    );
    happened(
        "a question",
        &|body| matches!(body, Body::QuestionAnswered { answer, .. } if answer.answers["answer"] == "The cart is free"),
    );
    happened(
        "a delegation",
        &|body| matches!(body, Body::DelegationFinished(end) if end.outcome == TurnOutcome::Completed),
    );
    happened("the figures", &|body| {
        let told = |end: &longshore_model::lifecycle::TurnEnd| {
            end.outcome == TurnOutcome::Completed
                && end.usage.is_some_and(|usage| usage.input > Some(0) && usage.output > Some(0))
                && end.cost_usd > Some(0.0)
        };
        matches!(body, Body::TurnFinished(end) if told(end))
    });
    assert!(!told.contains("script exhausted"), "{told}");
    let last = shown.messages().last().copied().unwrap_or_default();
    assert!(last.contains("All tests pass"), "{last}");
}

async fn the_others_stand(hub: &Hub) {
    for (name, activity, status) in [
        ("rename", Activity::Waiting, Status::Active),
        ("cleanup", Activity::Waiting, Status::Active),
        ("button", Activity::Waiting, Status::Active),
        ("notes", Activity::Idle, Status::Idle),
        ("import", Activity::Idle, Status::Error),
        ("soak", Activity::Working, Status::Active),
    ] {
        let info = hub.info(name).await;
        assert_eq!((info.activity, info.status), (activity, status), "{name}");
    }
}

async fn people_may_answer_them(hub: &Hub) {
    let mut cleanup = hub.follow("cleanup").await;
    let open = cleanup.until_asked(1).await;
    cleanup.decide(&open[0], "allow_once").await.unwrap();
    cleanup.until_turn_ends_somehow().await;
    assert!(!Path::new(&cleanup.info().await.cwd).join("builds/2024").exists());
    assert_eq!(cleanup.messages().last(), Some(&"The old builds are gone; the site itself is untouched."));

    let mut button = hub.follow("button").await;
    let open = button.until_question().await;
    let answers = json!({ "answer": "Orange, which stands out" });
    let answer = json!({ "question": open.request.question, "answers": answers });
    button.client.call::<Value>("answer", answer).await.unwrap();
    button.until_turn_ends_somehow().await;
    let style = std::fs::read_to_string(Path::new(&button.info().await.cwd).join("style.css")).unwrap();
    assert!(style.contains("#e8710a"), "{style}\n{}", button.story());

    let mut rename = hub.follow("rename").await;
    let open = rename.until_asked(1).await;
    rename.decide(&open[0], "deny").await.unwrap();
    rename.until_turn_ends_somehow().await;
    assert_eq!(rename.messages().last(), Some(&"It stays `handle`."));
}

/// The recording is valid, and playing it ends with what the renderer makes of the log.
fn the_recording_shows_the_session(cast: &Path, events: &[Event]) {
    let screen = played(cast);
    let mut renderer = Renderer::new(Style { width: 100, color: true, ..Style::default() });
    let until = events.iter().position(|event| matches!(event.body, Body::TurnFinished(_))).unwrap();
    let mut expected: String = events[..=until].iter().map(|event| renderer.event(event)).collect();
    expected += &renderer.finish();
    let said_here = |line: &&String| line.starts_with("your answer: ") || line.starts_with("Answer (");
    let shown: Vec<&String> = screen.iter().filter(|line| !said_here(line)).collect();
    let mut terminal = Glass::default();
    terminal.show(&expected.replace('\n', "\r\n"));
    let expected = terminal.rows();
    assert_eq!(shown, expected.iter().collect::<Vec<_>>());
    assert_eq!(screen.iter().filter(said_here).collect::<Vec<_>>().len(), 2, "{screen:?}");
}

/// The lines that stand on a terminal when a recording has been played. Asserts that it is one.
fn played(cast: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(cast).unwrap();
    let mut lines = text.lines();
    let head: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(head["version"], 2);
    assert!(head["width"].as_u64() > Some(0) && head["height"].as_u64() > Some(0), "{head}");
    assert!(head["timestamp"].as_u64() > Some(1_700_000_000) && head["env"]["TERM"].is_string(), "{head}");
    let mut screen = Glass::default();
    let mut last = 0.0;
    for line in lines {
        let (at, kind, shown): (f64, String, String) = serde_json::from_str(line).unwrap();
        assert!(at >= last, "{at} comes after {last}");
        assert_eq!(kind, "o");
        last = at;
        screen.show(&shown);
    }
    screen.rows()
}

#[tokio::test]
async fn without_a_terminal_the_demo_answers_itself_and_ends() {
    let machine = Fresh::machine();
    let demo = within("the end", machine.demo(&[]).output()).await.unwrap();
    let shown = String::from_utf8(demo.stdout).unwrap();
    assert_eq!(demo.status.code(), Some(0), "{shown}");
    for words in [
        "longshore demo",
        "http://127.0.0.1:",
        "> Customers who use a voucher",
        "Delegate",
        "your answer: y",
        "allowed once",
        "All tests pass",
        "done in",
        "On the same hub, meanwhile:",
        "Import the orders",
        "longshore run codex",
    ] {
        assert!(shown.contains(words), "`{words}` is missing in:\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colours into a pipe");
    let (_, farewell) = shown.split_once("From here").unwrap();
    assert!(!farewell.contains("http://"), "its hub is gone by now:\n{farewell}");
    machine.is_as_before();
}

/// A person at a terminal: types each line once the words before it stand there. What was shown.
async fn person(machine: &Fresh, arguments: &[&str], typed: &[(&str, &str)]) -> String {
    let (mut terminal, inside) = pty_process::open().unwrap();
    terminal.resize(pty_process::Size::new(40, 100)).unwrap();
    let command = pty_process::Command::new(env!("CARGO_BIN_EXE_longshore")).env_clear();
    let command = command.envs(machine.variables()).args(["demo", "--speed", SPEED]).args(arguments);
    let mut demo = command.kill_on_drop(true).spawn(inside).unwrap();
    let (mut shown, mut seen) = (String::new(), 0);
    let mut steps = typed.iter().peekable();
    let playing = async {
        let mut bytes = [0; 4096];
        // The terminal reports an error when the program has ended.
        while let Ok(read @ 1..) = terminal.read(&mut bytes).await {
            shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
            while let Some((wanted, line)) = steps.peek()
                && let Some(at) = shown[seen..].find(wanted)
            {
                seen += at + wanted.len();
                terminal.write_all(format!("{line}\n").as_bytes()).await.unwrap();
                steps.next();
            }
        }
    };
    if tokio::time::timeout(WITHIN, playing).await.is_err() {
        panic!("it did not end:\n{shown}");
    }
    let ended = within("the end", demo.wait()).await.unwrap();
    assert_eq!(ended.code(), Some(0), "{shown}");
    assert!(steps.next().is_none(), "it never asked:\n{shown}");
    machine.is_as_before();
    shown
}

#[tokio::test]
async fn a_person_answers_and_ends_the_demo() {
    let machine = Fresh::machine();
    let casts = TempDir::new().unwrap();
    let cast = casts.path().join("demo.cast");
    let typed = [("or your own words): ", "2"), ("your answer: ", "y"), ("until you press", "")];
    let shown = person(&machine, &["--record", cast.to_str().unwrap()], &typed).await;
    assert!(shown.contains("the rest of a large voucher is a credit"), "{shown}");
    let screen = played(&cast).join("\n");
    assert!(screen.contains("or your own words): 2\n") && screen.contains("your answer: y\n"), "{screen}");
    assert!(screen.contains("All tests pass"), "{screen}");
}

#[tokio::test]
async fn a_person_may_say_no_to_the_demo() {
    let machine = Fresh::machine();
    let typed = [("or your own words): ", "ask me later"), ("your answer: ", "n"), ("until you press", "q")];
    let shown = person(&machine, &[], &typed).await;
    assert!(shown.contains("I leave it at that"), "{shown}");
}

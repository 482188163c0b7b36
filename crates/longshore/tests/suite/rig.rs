//! The whole program on a stage of its own: a real hub, a real codex, a scripted model; nothing outside is touched.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use longshore::client::{Client, HubNotification};
use longshore_drivers::capture::Narrator;
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::info::{OpenApproval, OpenQuestion, SessionInfo};
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::{Content, Item, Timeline};
use longshore_models::script::{Model, Script};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use super::agents;

/// Longer than anything here takes on a busy machine, so that a fault ends in a message and not in a wait.
pub(crate) const WITHIN: Duration = Duration::from_secs(180);
/// Long enough for a hub that others reach.
pub(crate) const TOKEN: &str = "the-token-of-the-tests-that-nobody-guesses";

pub(crate) struct Rig {
    pub(crate) folder: TempDir,
    pub(crate) model: Model,
    pub(crate) url: String,
    /// Where the agents find the model, without `/v1`.
    pub(crate) root: String,
    hub: Option<Child>,
    /// What stands between the agents and the model, if something does.
    _gateway: Option<Child>,
    _serving: oneshot::Sender<()>,
}

/// The real codex.
pub(crate) fn codex() -> PathBuf {
    agents::agent("codex")
}

impl Rig {
    /// A hub, and a model that plays `steps`.
    pub(crate) async fn with(steps: Value) -> Self {
        Self::with_config(steps, "").await
    }

    /// The same, with lines added to codex's configuration.
    pub(crate) async fn with_config(steps: Value, more: &str) -> Self {
        Self::build(steps, more, None, None).await
    }

    /// A hub whose agents find a gateway to a service in the place of the model.
    pub(crate) async fn on_service(root: &str, api: &str) -> Self {
        Self::build(json!([]), "", Some(api), Some(root)).await
    }

    /// The same, with a gateway between the agents and the model, which is asked in this API only.
    pub(crate) async fn through(api: Option<&str>, steps: Value) -> Self {
        Self::build(steps, "", api, None).await
    }

    async fn build(steps: Value, more: &str, through: Option<&str>, service: Option<&str>) -> Self {
        let model = Model::new(Script::from_value(steps).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut root = format!("http://{}", listener.local_addr().unwrap());
        let (serving, stop) = oneshot::channel::<()>();
        let served = model.clone();
        tokio::spawn(async move {
            let stop = async {
                let _ = stop.await;
            };
            served.serve(listener, stop).await.unwrap();
        });
        let mut gateway = None;
        if let Some(api) = through {
            let (process, url) = start_gateway(service.unwrap_or(&root), api).await;
            (gateway, root) = (Some(process), url);
        }
        // Not below the system's temporary folder, where codex refuses to make its own programs.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["home", "codex", "codex-acp", "claude", "tmp", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        agents::set_up(folder.path(), &root);
        let config = folder.path().join("codex/config.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, text + more).unwrap();
        let (url, hub) = (String::new(), None);
        let mut rig = Self { folder, model, url, root, hub, _gateway: gateway, _serving: serving };
        rig.start().await;
        rig
    }

    /// Where the model listens, without `/v1`.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work").canonicalize().unwrap()
    }

    /// A verb of the program, in the same surroundings as the hub.
    pub(crate) fn longshore(&self) -> Command {
        let at = |name: &str| self.folder.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_longshore"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", at("home"))
            .env("TMPDIR", at("tmp"))
            .envs(agents::places())
            .envs(agents::environment(self.folder.path(), &self.root))
            .env("LONGSHORE_HOME", at("longshore"))
            .env("LONGSHORE_TOKEN", TOKEN)
            .env("LONGSHORE_WATCH_PAST", "false")
            .current_dir(self.work())
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Starts the hub (again) on whatever port is free.
    pub(crate) async fn start(&mut self) {
        let note = self.folder.path().join("longshore/data/hub.json");
        let _ = std::fs::remove_file(&note);
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.hub_log()).unwrap();
        let mut hub = self
            .longshore()
            .args(["up", "--bind", "127.0.0.1:0"])
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut pace = tokio::time::interval(Duration::from_millis(5));
        let up = async {
            loop {
                pace.tick().await;
                if let Some(status) = hub.try_wait().unwrap() {
                    panic!("the hub ended at once: {status}");
                }
                let said = std::fs::read_to_string(&note).unwrap_or_default();
                if let Ok(running) = serde_json::from_str::<Value>(&said) {
                    return running["url"].as_str().unwrap().to_owned();
                }
            }
        };
        self.url = tokio::time::timeout(WITHIN, up).await.expect("the hub did not come up");
        self.hub = Some(hub);
    }

    /// Ends the hub as a power cut would.
    pub(crate) async fn kill(&mut self) {
        let mut hub = self.hub.take().unwrap();
        hub.kill().await.unwrap();
    }

    /// Starts the hub anew, with more in its settings.
    pub(crate) async fn start_with(&mut self, more: &str) {
        self.kill().await;
        let config = self.folder.path().join("longshore/config.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(config, format!("{text}\n{more}")).unwrap();
        self.start().await;
    }

    /// The hub was told to stop by a verb: waits until it has.
    pub(crate) async fn gone(&mut self) {
        let mut hub = self.hub.take().unwrap();
        tokio::time::timeout(WITHIN, hub.wait()).await.expect("the hub did not stop").unwrap();
    }

    /// What the model was told in its `count`th request, once that has come.
    pub(crate) async fn heard_by_model(&self, count: usize) -> String {
        let waiting = self.model.requests_when(|heard| heard.requests.len() >= count);
        let heard = tokio::time::timeout(WITHIN, waiting).await.expect("the model was not asked so often");
        serde_json::to_string(&heard.requests[count - 1].body).unwrap()
    }

    /// What the model was told last.
    pub(crate) fn last_heard_by_model(&self) -> String {
        serde_json::to_string(&self.model.requests().requests.last().unwrap().body).unwrap()
    }

    /// Whether the model was told all of these words in one request. Agents also ask it for titles and the like, at any time.
    pub(crate) fn model_heard(&self, words: &[&str]) -> bool {
        let requests = self.model.requests().requests;
        let mut bodies = requests.iter().map(|request| request.body.to_string());
        bodies.any(|body| words.iter().all(|word| body.contains(word)))
    }

    /// Waits until some agent has written these words into a file of its own.
    pub(crate) async fn until_on_disk(&self, words: &str) {
        let homes = ["home", "codex", "codex-acp", "claude"].map(|name| self.folder.path().join(name));
        let mut pace = tokio::time::interval(Duration::from_millis(20));
        let waiting = async {
            while !homes.iter().any(|home| holds(home, words)) {
                pace.tick().await;
            }
        };
        tokio::time::timeout(WITHIN, waiting).await.expect("no agent wrote it down");
    }

    /// The processes of whatever agents the hub runs.
    pub(crate) fn agents(&self) -> Vec<i32> {
        let mut children: Vec<i32> = Vec::new();
        for task in std::fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap() {
            let listed = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
            children.extend(listed.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
        assert!(!children.is_empty(), "the hub runs no agent");
        children
    }

    /// Kills them.
    pub(crate) fn kill_agents(&self) {
        for pid in self.agents() {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.hub.as_ref().unwrap().id().unwrap()
    }

    pub(crate) fn hub_log(&self) -> PathBuf {
        self.folder.path().join("hub.log")
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.url, TOKEN).await.unwrap()
    }

    /// Opens a session, subscribes to it and says something.
    pub(crate) async fn talk(&self, mode: &str, prompt: &str) -> Talk {
        let mut talk = self.open(mode).await;
        talk.prompt(prompt).await;
        talk
    }

    pub(crate) async fn open(&self, mode: &str) -> Talk {
        self.open_with("codex", mode).await
    }

    pub(crate) async fn open_with(&self, agent: &str, mode: &str) -> Talk {
        let mut client = self.client().await;
        let open = json!({ "agent": agent, "cwd": self.work(), "mode": mode });
        let info: SessionInfo = client.call("open", open).await.unwrap();
        self.follow(info.session_id, Seq::ZERO).await
    }

    /// A session whose agent shall think this hard.
    pub(crate) async fn open_thinking(&self, agent: &str, mode: &str, effort: &str) -> Talk {
        let mut client = self.client().await;
        let open = json!({ "agent": agent, "cwd": self.work(), "mode": mode, "effort": effort });
        let info: SessionInfo = client.call("open", open).await.unwrap();
        self.follow(info.session_id, Seq::ZERO).await
    }

    /// Follows a session from a seq on.
    pub(crate) async fn follow(&self, session: SessionId, after: Seq) -> Talk {
        let mut client = self.client().await;
        let _: Value = client.call("subscribe", json!({ "session": session, "after": after })).await.unwrap();
        Talk { client, session, events: Vec::new(), timeline: Timeline::default() }
    }
}

impl Drop for Rig {
    /// A hub that a verb left in the background would outlive a test that fails.
    fn drop(&mut self) {
        let note = std::fs::read_to_string(self.folder.path().join("longshore/data/hub.json"));
        let note: Value = serde_json::from_str(&note.unwrap_or_default()).unwrap_or_default();
        let hubs = processes_with(Path::new(env!("CARGO_BIN_EXE_longshore")));
        let left = hubs.into_iter().find(|pid| note["pid"] == *pid).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = left {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
    }
}

/// The processes, other than those that have ended, whose command line names this file.
pub(crate) fn processes_with(file: &Path) -> Vec<i32> {
    let name = file.as_os_str().as_encoded_bytes();
    processes(|at| {
        let line = std::fs::read(at.join("cmdline")).unwrap_or_default();
        line.windows(name.len()).any(|part| part == name)
    })
}

/// The processes, other than those that have ended, of which this is so, given their folder in `/proc`.
pub(crate) fn processes(fits: impl Fn(&Path) -> bool) -> Vec<i32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lives = |at: &Path| std::fs::read_to_string(at.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    let found = all.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        (fits(&entry.path()) && lives(&entry.path())).then_some(pid)
    });
    found.collect()
}

/// Waits until something is so that nobody tells.
pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    let waiting = async {
        while !is_so() {
            pace.tick().await;
        }
    };
    tokio::time::timeout(WITHIN, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// A gateway to the model at `root`, and where it listens.
async fn start_gateway(root: &str, api: &str) -> (Child, String) {
    let mut gateway = Command::new(env!("CARGO_BIN_EXE_longshore"))
        .args(["model", "--upstream", &format!("{root}/v1"), "--api", api])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(gateway.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(WITHIN, lines.next_line()).await.unwrap().unwrap().unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let root = said["url"].as_str().unwrap().strip_suffix("/v1").unwrap().to_owned();
    (gateway, root)
}

/// Whether a file somewhere below has these words in it.
fn holds(folder: &Path, words: &str) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => holds(&entry.path(), words),
        Ok(kind) if kind.is_file() => std::fs::read(entry.path())
            .is_ok_and(|bytes| bytes.windows(words.len()).any(|window| window == words.as_bytes())),
        _ => false,
    })
}

/// A client that folds what it hears: tests wait for what should be true and never for a while.
pub(crate) struct Talk {
    pub(crate) client: Client,
    pub(crate) session: SessionId,
    pub(crate) events: Vec<Event>,
    pub(crate) timeline: Timeline,
}

impl Talk {
    pub(crate) async fn prompt(&mut self, text: &str) -> TurnId {
        self.prompt_when(text, "queue").await
    }

    pub(crate) async fn prompt_when(&mut self, text: &str, when: &str) -> TurnId {
        #[derive(Deserialize)]
        struct Prompted {
            turn: TurnId,
        }
        let params = json!({ "session": self.session, "content": text, "when": when });
        let Prompted { turn } = self.client.call("prompt", params).await.unwrap();
        turn
    }

    pub(crate) async fn call(&mut self, method: &str, more: Value) -> anyhow::Result<Value> {
        let mut params = json!({ "session": self.session });
        params.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        self.client.call(method, params).await
    }

    pub(crate) async fn info(&mut self) -> SessionInfo {
        self.client.call("session", json!({ "session": self.session })).await.unwrap()
    }

    /// Takes in one event.
    pub(crate) async fn hear(&mut self) -> anyhow::Result<()> {
        if let HubNotification::Event(_, event) = self.client.news().await? {
            let expected = self.events.last().map(|last| last.seq.next());
            assert!(
                expected.is_none_or(|expected| event.seq == expected),
                "a gap or a double at {}",
                event.seq
            );
            self.timeline.apply(&event);
            self.events.push(*event);
        }
        Ok(())
    }

    /// Hears until something is true, and says what was heard when it never is.
    pub(crate) async fn until(&mut self, what: &str, is_so: impl Fn(&Talk) -> bool) {
        let waiting = async {
            while !is_so(self) {
                self.hear().await.unwrap();
            }
        };
        if tokio::time::timeout(WITHIN, waiting).await.is_err() {
            panic!("never: {what}\n{}", self.story());
        }
    }

    pub(crate) async fn until_event(&mut self, what: &str, fits: impl Fn(&Event) -> bool) {
        self.until(what, |talk| talk.events.iter().any(&fits)).await;
    }

    /// Hears until the turn has ended; how it did.
    pub(crate) async fn until_turn_ends(&mut self, turn: TurnId) -> TurnOutcome {
        self.until("the turn ends", |talk| talk.end_of(turn).is_some()).await;
        self.end_of(turn).unwrap()
    }

    /// Hears until the first turn has ended.
    pub(crate) async fn until_turn_ends_somehow(&mut self) {
        self.until_event("a turn ends", |event| matches!(event.body, Body::TurnFinished(_))).await;
    }

    pub(crate) fn end_of(&self, turn: TurnId) -> Option<TurnOutcome> {
        self.events.iter().find_map(|event| match &event.body {
            Body::TurnFinished(end) if event.turn == Some(turn) => Some(end.outcome),
            _ => None,
        })
    }

    pub(crate) fn last_turn(&self) -> TurnId {
        let started = |event: &Event| matches!(event.body, Body::TurnStarted { .. });
        self.events.iter().rev().find(|event| started(event)).and_then(|event| event.turn).unwrap()
    }

    /// Hears until so many approvals wait, and gives them in the order in which they were asked.
    pub(crate) async fn until_asked(&mut self, count: usize) -> Vec<OpenApproval> {
        let asked = |event: &Event| matches!(event.body, Body::ApprovalRequested(_));
        self.until("approvals wait", |talk| talk.events.iter().filter(|event| asked(event)).count() >= count)
            .await;
        self.info().await.approvals
    }

    pub(crate) async fn until_question(&mut self) -> OpenQuestion {
        self.until_event("a question waits", |event| matches!(event.body, Body::QuestionAsked(_))).await;
        self.info().await.questions.remove(0)
    }

    pub(crate) async fn decide(&mut self, open: &OpenApproval, decision: &str) -> anyhow::Result<Value> {
        let params = json!({ "approval": open.request.approval, "decision": decision });
        self.client.call("decide", params).await
    }

    /// The texts of all finished things of a kind.
    pub(crate) fn said(&self, fits: impl Fn(&Body) -> bool) -> Vec<&str> {
        self.events.iter().filter(|event| fits(&event.body)).map(Event::text).collect()
    }

    pub(crate) fn messages(&self) -> Vec<&str> {
        self.said(|body| matches!(body, Body::MessageDone { .. }))
    }

    /// The output of every tool so far, and how it ended.
    pub(crate) fn tools(&self) -> Vec<(String, Option<ToolStatus>)> {
        let tool = |item: &Item| match &item.content {
            Content::Tool { outcome, .. } | Content::Delegation { call: Some(_), outcome, .. } => {
                Some((item.text.clone(), outcome.as_ref().map(|outcome| outcome.status)))
            }
            _ => None,
        };
        self.timeline.items.iter().filter_map(tool).collect()
    }

    /// All that was heard, a line each.
    pub(crate) fn story(&self) -> String {
        let mut narrator = Narrator::new();
        let tell = |event: &Event| {
            let draft = Draft {
                turn: event.turn,
                item: event.item,
                text: event.text.clone(),
                body: event.body.clone(),
                raw: None,
            };
            format!("{:4} {}\n", event.seq, narrator.event(event.session, &draft))
        };
        self.events.iter().map(tell).collect()
    }
}

//! A private place in which one agent plays one scenario: its own home, its own work tree, its own hub and, where it is
//! known how, a scripted model in place of an account.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use longshore_drivers::anchor::{Anchor, AnchorConfig};
use longshore_drivers::capture::{Capture, Direction, Entry, Tape};
use longshore_drivers::discover::{AgentSettings, Surroundings};
use longshore_drivers::import::WatchPast;
use longshore_drivers::offline::{Offline, OfflinePlace};
use longshore_drivers::spec::Agent;
use longshore_log::MemoryLog;
use longshore_model::capability::{AgentInfo, Mode};
use longshore_model::event::{Body, Event};
use longshore_session::Hub;
use rustix::process::Pid;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::guess;
use super::play::ScenarioClient;
use super::program::Program;
use super::recorded::RecordedAgent;
use super::set::Scenario;
use super::shape::{RECORDED_WORK, Shape, shape_of};
use longshore_models::script::Model;

/// What stands in the settings where the address of the scripted model is to be, without `/v1`.
pub const MODEL_URL: &str = "${MODEL_URL}";

/// An agent that is installed here.
#[derive(Clone, Debug)]
pub struct InstalledAgent {
    /// Which.
    pub agent: Agent,
    /// The program.
    pub path: PathBuf,
    /// Its version, where it says one.
    pub version: Option<String>,
    /// What a person set for it.
    pub settings: AgentSettings,
    /// Where it was found. Of this only `PATH` is known on a stage, unless the agent is one that nothing is known of.
    pub around: Surroundings,
}

/// Why an agent cannot play a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// Nobody said how it would reach a scripted model.
    #[error("Longshore does not know how to set a scripted model for this agent")]
    NoModel,
    /// It does not have the mode.
    #[error("not offered: this agent has no mode `{0}`")]
    NoMode(Mode),
    /// The scenario wants something of it that it never does.
    #[error("not offered: this agent does not ask, or does not stream")]
    Unable,
}

/// What came of playing a scenario.
#[derive(Debug)]
pub struct Played {
    /// What happened.
    pub shape: Shape,
    /// The version that the agent says it is of; where it says none, what its program says.
    pub version: Option<String>,
    /// Why it could not be played to its end.
    pub fault: Option<String>,
    /// The wire.
    pub capture: Capture,
    /// All that happened.
    pub events: Vec<Arc<Event>>,
}

/// The place, while a scenario is played.
pub struct ScenarioStage {
    pub(super) folder: StageFolder,
    pub(super) model: Option<Model>,
    pub(super) hub: Hub,
    pub(super) tape: Arc<Mutex<Vec<Entry>>>,
    /// Whether the agent remembers nothing itself.
    pub(super) memory_in_log: bool,
    /// None once it is shut down.
    anchor: Option<Anchor>,
    _serving: Option<oneshot::Sender<()>>,
}

impl InstalledAgent {
    /// An agent, as this machine knows it.
    pub fn new(
        agent: Agent,
        info: &AgentInfo,
        settings: AgentSettings,
        around: Surroundings,
    ) -> Option<Self> {
        let path = PathBuf::from(info.path.as_ref()?);
        Some(Self { agent, path, version: info.version.clone(), settings, around })
    }

    /// Whether it is known how it runs on a scripted model.
    pub fn runs_offline(&self) -> bool {
        self.offline(OfflinePlace { folder: Path::new("/"), model: "" }).is_some()
    }

    /// How it runs on a scripted model: as is known of it, and as the settings say.
    fn offline(&self, place: OfflinePlace<'_>) -> Option<Offline> {
        let at_model = |(name, value): (&str, &str)| (name.to_owned(), value.replace(MODEL_URL, place.model));
        let told = self.settings.verify_env.iter().map(|(name, value)| at_model((name, value)));
        let program = self.program().map_or(&[][..], |program| program.env);
        let mut offline = match self.agent.offline(place) {
            Some(offline) => offline,
            None if self.settings.verify_env.is_empty() && program.is_empty() => return None,
            None => Offline {
                arguments: self.settings.args.clone(),
                env: program.iter().copied().map(at_model).collect(),
                files: Vec::new(),
                calls: guess::CALLS,
            },
        };
        offline.env.extend(told);
        Some(offline)
    }

    /// What is known of it by its program, if it is one of the settings that speaks ACP.
    fn program(&self) -> Option<&'static Program> {
        let speaks_acp = self.settings.driver.as_deref() == Some("acp");
        speaks_acp.then(|| Program::of(&self.path)).flatten()
    }

    /// What it did when it was recorded, or what another agent did of which this is a version: one of the settings speaks as
    /// its driver says, and one that speaks ACP is known by its program.
    pub fn recorded(&self) -> Option<RecordedAgent> {
        match self.settings.driver.as_deref() {
            None => RecordedAgent::of(self.agent.name()),
            Some("acp") => self.program().and_then(Program::recorded),
            Some(driver) => RecordedAgent::of(driver),
        }
    }

    /// Why this scenario cannot be played with it, if it cannot.
    pub fn why_not(&self, scenario: &Scenario) -> Option<WhyNot> {
        let can = self.agent.capabilities();
        if scenario.model.is_some() && !self.runs_offline() {
            return Some(WhyNot::NoModel);
        }
        match scenario.mode.filter(|_| !scenario.is_offered(&can)) {
            Some(mode) => Some(WhyNot::NoMode(mode)),
            None => (!scenario.fits(&can)).then_some(WhyNot::Unable),
        }
    }

    /// Plays a scenario, in a folder below this one that is gone afterwards.
    pub async fn play(&self, scenario: &Scenario, below: &Path) -> Result<Played> {
        let stage = ScenarioStage::set_up(self, scenario, below).await?;
        let mode = scenario.mode_for(&self.agent.capabilities());
        let mut talk = ScenarioClient::open(&stage, self.agent.name(), mode).await?;
        let mut fault = None;
        for step in &scenario.steps {
            if let Err(error) = talk.take(step).await {
                fault = Some(format!("{error:#}"));
                break;
            }
        }
        let events = talk.events;
        let shape = shape_of(&events.iter().map(|event| &**event).collect::<Vec<_>>(), scenario);
        let ready = events.iter().find_map(|event| match &event.body {
            Body::SessionReady(ready) => ready.version.clone(),
            _ => None,
        });
        let version = ready.or_else(|| self.version.clone());
        let capture = Capture {
            driver: self.agent.driver_name().to_owned(),
            agent: [Some(self.agent.name()), version.as_deref()]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join("-"),
            scenario: scenario.name.clone(),
            entries: stage.strike().await,
        };
        Ok(Played { shape, version, fault, capture, events })
    }

    /// How it is run on a stage, and with what around it.
    fn settings(&self, folder: &Path, offline: Option<&Offline>) -> (AgentSettings, Surroundings) {
        let Some(offline) = offline else { return (self.settings.clone(), self.around.clone()) };
        let path = self.around.var("PATH").cloned().unwrap_or_default();
        let at = |name: &str| folder.join(name).into_os_string();
        let around = Surroundings::of([
            ("PATH", path),
            ("HOME", at("home")),
            ("TMPDIR", at("tmp")),
            ("LANG", "C.UTF-8".into()),
        ]);
        let settings = AgentSettings {
            path: Some(self.path.clone()),
            args: offline.arguments.clone(),
            env: offline.env.clone(),
            ..AgentSettings::default()
        };
        (settings, around)
    }
}

impl ScenarioStage {
    async fn set_up(found: &InstalledAgent, scenario: &Scenario, below: &Path) -> Result<Self> {
        let folder = StageFolder::new(below)?;
        enclose(&folder).await;
        for (name, text) in &scenario.files {
            std::fs::write(folder.work().join(name), text).with_context(|| format!("cannot write {name}"))?;
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the scripted model")?;
        let root = format!("http://{}", listener.local_addr()?);
        let offline = found.offline(OfflinePlace { folder: &folder.path, model: &root });
        let (model, serving) = match &offline {
            Some(offline) => {
                lay_out(&folder.path, offline)?;
                let work = folder.work();
                let script = scenario.script(&offline.calls, &work.display().to_string())?;
                let model = Model::new(script);
                (Some(model.clone()), Some(serve(model, listener)))
            }
            None => (None, None),
        };
        let (settings, surroundings) = found.settings(&folder.path, offline.as_ref());
        let tape = Arc::<Mutex<Vec<Entry>>>::default();
        let written = Arc::clone(&tape);
        let config = AnchorConfig {
            agents: vec![Agent::clone(&found.agent)],
            settings: [(found.agent.name().to_owned(), settings)].into(),
            surroundings,
            past: WatchPast { every: None, ..WatchPast::default() },
            tape: Some(Tape::new(move |entry| lock(&written).push(entry))),
            linger: Duration::ZERO,
            ..AnchorConfig::default()
        };
        let hub = Hub::new(Arc::new(MemoryLog::default()));
        let deliver_to = hub.clone();
        let anchor = Anchor::start(
            config,
            Arc::new(move |message| {
                let hub = deliver_to.clone();
                Box::pin(async move { hub.deliver(message).await })
            }),
        );
        hub.attach(anchor.sender());
        let memory_in_log = found.agent.capabilities().memory_in_log;
        Ok(Self { folder, model, hub, tape, memory_in_log, anchor: Some(anchor), _serving: serving })
    }

    /// The processes that run, the latest last.
    pub(super) fn running(&self) -> Vec<Pid> {
        let mut running = Vec::new();
        for entry in lock(&self.tape).iter() {
            let pid = || {
                let said: Value = serde_json::from_str(entry.msg.get()).ok()?;
                Pid::from_raw(i32::try_from(said["pid"].as_i64()?).ok()?)
            };
            match entry.dir {
                Direction::Spawn => running.extend(pid()),
                Direction::Exit => running.retain(|running| Some(*running) != pid()),
                Direction::ToAgent | Direction::FromAgent | Direction::Stderr | Direction::Note => {}
            }
        }
        running
    }

    /// Ends the agent and takes everything away. What is left is the wire, with made-up paths in place of the private ones.
    async fn strike(mut self) -> Vec<Entry> {
        // Some would wait for their own reasons before they go, and nothing more is wanted of them.
        for pid in self.running() {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::TERM);
        }
        if let Some(anchor) = self.anchor.take() {
            anchor.shutdown().await;
        }
        let plain =
            |entry: &Entry| Entry::said(entry.t, entry.dir, &made_up(&entry.line(), &self.folder.path));
        lock(&self.tape).iter().map(plain).collect()
    }
}

/// The same line with made-up paths in place of the private ones, which an agent may also name as seen from any folder
/// above, as from the root of a repository.
fn made_up(line: &str, folder: &Path) -> String {
    let whole = folder.display().to_string();
    let mut line = line
        .replace(&format!("{whole}/work"), RECORDED_WORK)
        .replace(&format!("{whole}/home"), "/home/dev")
        .replace(&whole, "/home/dev/.agent");
    let mut rest = whole.trim_start_matches('/');
    loop {
        line = line.replace(&format!("{rest}/work"), "project").replace(rest, ".agent");
        match rest.split_once('/') {
            Some((_, shorter)) => rest = shorter,
            None => break,
        }
    }
    let above = folder.parent().map(|above| above.display().to_string()).unwrap_or_default();
    if above.len() > 1 { line.replace(&above, "/home/dev/.agent") } else { line }
}

impl Drop for ScenarioStage {
    /// Whoever is interrupted goes at once, and an agent that is a server would stay.
    fn drop(&mut self) {
        for pid in self.running() {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Makes the work tree a repository, so that no agent looks for one, or for settings of a project, in the folders above.
async fn enclose(folder: &StageFolder) {
    let mut git = tokio::process::Command::new("git");
    git.args(["init", "--quiet"]).current_dir(folder.work()).env("HOME", folder.path.join("home"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"GIT_")) {
        git.env_remove(name);
    }
    if let Err(error) = git.stdin(Stdio::null()).output().await {
        tracing::debug!(%error, "the work tree is no repository");
    }
}

fn lay_out(folder: &Path, offline: &Offline) -> Result<()> {
    for (path, text) in &offline.files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn serve(model: Model, listener: TcpListener) -> oneshot::Sender<()> {
    let (serving, stop) = oneshot::channel::<()>();
    tokio::spawn(async move {
        let stop = async {
            let _ = stop.await;
        };
        if let Err(error) = model.serve(listener, stop).await {
            tracing::warn!(%error, "the scripted model stopped");
        }
    });
    serving
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that is gone when it is dropped.
#[derive(Debug)]
pub(super) struct StageFolder {
    pub(super) path: PathBuf,
}

impl StageFolder {
    fn new(below: &Path) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let number =
            getrandom::u32().map_err(|error| anyhow!("no randomness for a folder's name: {error}"))?;
        let path = below.join(format!("stage-{number:08x}"));
        let make = |path: &Path| std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        make(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let folder = Self { path: path.canonicalize()? };
        for name in ["home", "tmp", "work", "claude"] {
            make(&folder.path.join(name))?;
        }
        Ok(folder)
    }

    /// The work tree.
    pub(super) fn work(&self) -> PathBuf {
        self.path.join("work")
    }
}

impl Drop for StageFolder {
    fn drop(&mut self) {
        // A process that was killed may still write; what is left then is in the data folder, and small.
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::debug!(%error, "a folder is left");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_paths_are_made_up_however_they_are_named() {
        let folder = Path::new("/srv/me/data/trials/stage-1");
        let plain = |line: &str| made_up(line, folder);
        assert_eq!(plain(r#"{"cwd":"/srv/me/data/trials/stage-1/work"}"#), r#"{"cwd":"/home/dev/project"}"#);
        assert_eq!(plain("/srv/me/data/trials/stage-1/home/.gemini"), "/home/dev/.gemini");
        assert_eq!(plain("path me/data/trials/stage-1/work"), "path project");
        assert_eq!(plain("in /srv/me/data/trials, or stage-1/tmp"), "in /home/dev/.agent, or .agent/tmp");
    }
}

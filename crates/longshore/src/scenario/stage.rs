//! The stage: a private place in which an agent plays scenarios. The agent has its own home, its own work
//! tree, its own hub and, if Longshore knows how, a scripted model instead of an account.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use longshore_drivers::anchor::{Anchor, AnchorConfig};
use longshore_drivers::capture::{CaptureEntry, Direction, Tape};
use longshore_drivers::import::WatchPast;
use longshore_drivers::offline::{Offline, OfflinePlace, ScriptedCalls};
use longshore_drivers::spec::Agent;
use longshore_drivers::table;
use longshore_log::MemoryLog;
use longshore_models::gateway::Gateway;
use longshore_models::script::{Model, Script};
use longshore_session::Hub;
use rustix::process::Pid;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::door::StageDoor;
use super::installed::InstalledAgent;
use super::machine::works_in;
use super::set::Scenario;
use super::shape::RECORDED_WORK;

/// The stage, while an agent plays.
pub(super) struct ScenarioStage {
    pub(super) folder: StageFolder,
    pub(super) model: Option<Model>,
    pub(super) hub: Hub,
    tape: Arc<Mutex<Vec<CaptureEntry>>>,
    /// How the model makes the agent do things; none without a model.
    calls: Option<ScriptedCalls>,
    /// None after the shutdown.
    anchor: Option<Anchor>,
    /// Dropping these senders stops the model and the other servers.
    _serving: Vec<oneshot::Sender<()>>,
    _door: Option<StageDoor>,
}

impl ScenarioStage {
    pub(super) async fn set_up(found: &InstalledAgent, below: &Path) -> Result<Self> {
        let folder = StageFolder::new(below)?;
        enclose(&folder).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the scripted model")?;
        let mut root = format!("http://{}", listener.local_addr()?);
        let (mut model, mut serving) = (None, Vec::new());
        if found.runs_offline() {
            let scripted = Model::new(Script::from_value(json!([]))?);
            serving.push(serve(|stop| scripted.clone().serve(listener, stop)));
            model = Some(scripted);
            if let Some(api) = found.gateway {
                let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for the gateway")?;
                let gateway = Gateway::new(&format!("{root}/v1"), api, None)?;
                root = format!("http://{}", listener.local_addr()?);
                serving.push(serve(|stop| gateway.serve(listener, stop)));
            }
        }
        let offline = found.offline(OfflinePlace { folder: &folder.path, model: &root });
        if let Some(offline) = &offline {
            lay_out(&folder.path, offline)?;
        }
        let (settings, surroundings) = found.settings(&folder.path, offline.as_ref());
        let tape = Arc::<Mutex<Vec<CaptureEntry>>>::default();
        let written = Arc::clone(&tape);
        let hub = Hub::new(Arc::new(MemoryLog::default()));
        let mut config = AnchorConfig {
            agents: vec![Agent::clone(&found.agent)],
            settings: [(found.agent.name().to_owned(), settings)].into(),
            surroundings,
            past: WatchPast { every: None, ..WatchPast::default() },
            tape: Some(Tape::new(move |entry| lock(&written).push(entry))),
            linger: Duration::ZERO,
            ..AnchorConfig::default()
        };
        let calls_back = table::calls_back(&*found.agent, &config.settings[found.agent.name()]);
        let door = if calls_back { Some(StageDoor::open(&hub, &mut config).await?) } else { None };
        let anchor = Anchor::start(config, Arc::new(hub.mailbox()));
        hub.attach(anchor.sender());
        let calls = offline.map(|offline| offline.calls);
        Ok(Self { folder, model, hub, tape, calls, anchor: Some(anchor), _serving: serving, _door: door })
    }

    /// Prepares a scenario: its script, and a work tree with its files and nothing of the previous scenario.
    pub(super) fn prepare(&self, scenario: &Scenario) -> Result<()> {
        let work = self.folder.work();
        self.folder.clear().context("cannot clear the work tree")?;
        for (name, text) in &scenario.files {
            std::fs::write(work.join(name), text).with_context(|| format!("cannot write {name}"))?;
        }
        if let Some((model, calls)) = self.model.as_ref().zip(self.calls.as_ref()) {
            model.replace(scenario.script(calls, &work.display().to_string())?);
        }
        Ok(())
    }

    /// The running processes, the latest last.
    fn running(&self) -> Vec<Pid> {
        let mut running = Vec::new();
        for entry in lock(&self.tape).iter() {
            let pid = || {
                let said: Value = serde_json::from_str(entry.msg.get()).ok()?;
                Pid::from_raw(i32::try_from(said["pid"].as_i64()?).ok()?)
            };
            match entry.dir {
                Direction::Spawn => running.extend(pid()),
                Direction::Exit => running.retain(|running| Some(*running) != pid()),
                Direction::ToAgent
                | Direction::FromAgent
                | Direction::Stderr
                | Direction::Note
                | Direction::Told => {}
            }
        }
        running
    }

    /// Kills the agent and its child processes. The tape does not name a process that lives for one turn
    /// only; its work tree identifies it.
    pub(super) fn kill(&self) -> Result<()> {
        let in_work_tree = || rustix::process::getpgid(Some(works_in(&self.folder.work())?)).ok();
        let agent = self.running().pop().or_else(in_work_tree).context("no agent runs")?;
        Ok(rustix::process::kill_process_group(agent, rustix::process::Signal::KILL)?)
    }

    /// Ends the agent and deletes the stage. Returns the wire, with made-up paths instead of the private
    /// paths.
    pub(super) async fn strike(mut self) -> Vec<CaptureEntry> {
        // Some agents would wait before they end, and nobody needs them any longer.
        for pid in self.running() {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::TERM);
        }
        if let Some(anchor) = self.anchor.take() {
            anchor.shutdown().await;
        }
        let plain = |entry: &CaptureEntry| {
            let said = made_up(&entry.line(), &self.folder.path);
            CaptureEntry { process: entry.process, ..CaptureEntry::said(entry.t, entry.dir, &said) }
        };
        lock(&self.tape).iter().map(plain).collect()
    }
}

/// A line with made-up paths instead of the private paths. An agent may also write a path relative to any
/// parent folder, for example to the root of a repository.
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
    /// An interrupted verb ends at once; an agent that is a server would outlive it.
    fn drop(&mut self) {
        for pid in self.running() {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Makes the work tree a repository, so that no agent searches the parent folders for a repository or for a
/// project's settings.
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

/// Runs a server until the sender is dropped.
fn serve<F, E>(begin: impl FnOnce(StopSignal) -> F) -> oneshot::Sender<()>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: std::fmt::Display,
{
    let (serving, stop) = oneshot::channel::<()>();
    let served = begin(Box::pin(async move {
        let _ = stop.await;
    }));
    tokio::spawn(async move {
        if let Err(error) = served.await {
            tracing::warn!(%error, "a server of the stage stopped");
        }
    });
    serving
}

type StopSignal = Pin<Box<dyn Future<Output = ()> + Send>>;

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that is deleted when it is dropped.
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

    /// The path of the work tree.
    pub(super) fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// Deletes what the agent made in the work tree, and what a command made beside the work tree.
    fn clear(&self) -> std::io::Result<()> {
        let made = |folder: &Path| {
            let all = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
            let shown = all.into_iter().filter(|one| !one.file_name().as_encoded_bytes().starts_with(b"."));
            std::io::Result::Ok(shown.map(|one| one.path()).collect::<Vec<_>>())
        };
        for path in made(&self.work())?.iter().chain(made(&self.path)?.iter().filter(|path| path.is_file())) {
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }?;
        }
        Ok(())
    }
}

impl Drop for StageFolder {
    fn drop(&mut self) {
        // A killed process may still write. A small rest then stays in the data folder.
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

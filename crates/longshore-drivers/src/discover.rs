//! Agent discovery: where an agent is installed, and in which version.
//!
//! A blocking thread searches for files. A short process reports the version of a program, and the anchor
//! remembers that version until the file changes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use longshore_model::capability::AgentInfo;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::argv::quoted;
use crate::npm;
use crate::spec::{Agent, AgentSpec};
use crate::transport::{ChildEvent, Limits, Spawn, Stdio, WireLine};

/// A person's settings for one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    /// The path of the program, if it is not where programs usually are.
    pub path: Option<PathBuf>,
    /// Arguments after our own.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
    /// The transport, if the agent has a choice.
    pub transport: Transport,
    /// The driver of an agent that is not built in: `acp`, `claude`.
    pub driver: Option<String>,
    /// The program and its arguments, for an agent that is not built in.
    pub command: Vec<String>,
    /// The name for people of an agent that is not built in.
    pub title: Option<String>,
    /// The environment for a trial on a scripted model; `${MODEL_URL}` stands for the model's address.
    pub verify_env: BTreeMap<String, String>,
    /// Settings of some agents only; other agents refuse them.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// How the driver of an agent exchanges messages with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// The agent's usual way: its pipes, or its port.
    #[default]
    Stdio,
    /// A WebSocket that the agent's program opens to the hub.
    Socket,
}

/// The environment variables that a search looks at, and that agents get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    vars: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    /// The environment of this process.
    pub fn of_this_process() -> Self {
        Self { vars: std::env::vars_os().collect() }
    }

    /// Only these variables.
    pub fn of<K: Into<OsString>, V: Into<OsString>>(vars: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { vars: vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// All variables.
    pub fn vars(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.vars.iter()
    }

    /// A variable, if it is set and not empty.
    pub fn var(&self, name: &str) -> Option<&OsString> {
        self.vars.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty())
    }

    /// The same, with these variables added or replaced.
    #[must_use]
    pub fn with(&self, vars: &BTreeMap<String, String>) -> Self {
        let mut all = self.clone();
        all.vars.extend(vars.iter().map(|(name, value)| (name.into(), value.into())));
        all
    }

    /// The home folder of the person.
    pub fn home(&self) -> Option<PathBuf> {
        self.var("HOME").map(PathBuf::from)
    }

    /// The program in the first folder that has it: the person's own folder, the machine's folder, then
    /// `PATH`.
    pub fn look_up(&self, program: &str) -> Option<PathBuf> {
        let own = self.home().map(|home| home.join(".local/bin"));
        let path = self.var("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>());
        own.into_iter()
            .chain([PathBuf::from("/usr/local/bin")])
            .chain(path.into_iter().flatten())
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(program))
            .find(|file| is_program(file))
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// The program to start.
    pub path: Option<PathBuf>,
    /// A remark about the program, or about the search.
    pub remark: Option<String>,
}

/// Finds a program: at the path of its variable, at the path of the settings, in `~/.local/bin`,
/// `/usr/local/bin`, or in `PATH`.
pub fn find_program(
    program: &str,
    variable: Option<&str>,
    settings: &AgentSettings,
    around: &Surroundings,
) -> Finding {
    let named = variable.and_then(|name| Some((PathBuf::from(around.var(name)?), format!("{name} names"))));
    let named = named.or_else(|| Some((settings.path.clone()?, "the settings name".to_owned())));
    match named {
        Some((path, _)) if is_program(&path) => Finding { path: Some(path), remark: None },
        // A person who names a program wants no other program.
        Some((path, by)) => {
            let remark = format!("{by} {}, which is not a program", path.display());
            Finding { path: None, remark: Some(remark) }
        }
        None => Finding { path: around.look_up(program), remark: None },
    }
}

/// Whether this is an executable file.
pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Searches for an agent on a blocking thread, so that the disk does not hold up the runtime.
pub(crate) async fn find(agent: &Agent, settings: &AgentSettings, around: &Surroundings) -> Finding {
    let (agent, settings, around) = (Agent::clone(agent), settings.clone(), around.clone());
    tokio::task::spawn_blocking(move || agent.find(&settings, &around)).await.unwrap_or_else(|error| {
        Finding { path: None, remark: Some(format!("the search for the program failed: {error}")) }
    })
}

/// Remembers the versions of programs, from npm or from the programs themselves.
///
/// Bounded: one entry per agent of the table.
#[derive(Debug, Default)]
pub struct Versions {
    known: Mutex<BTreeMap<String, VersionEntry>>,
}

#[derive(Debug)]
struct VersionEntry {
    path: PathBuf,
    changed: Option<SystemTime>,
    version: Option<String>,
}

/// Which versions to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionsOf {
    /// All versions. Every program is asked, and some take seconds to answer.
    All,
    /// Only the versions that are already known.
    Known,
}

impl Versions {
    /// The description of one agent on this machine.
    pub async fn describe(
        &self,
        agent: &Agent,
        settings: &AgentSettings,
        around: &Surroundings,
    ) -> AgentInfo {
        self.describe_with(VersionsOf::All, agent, settings, around).await
    }

    /// The same, with these versions.
    pub(crate) async fn describe_with(
        &self,
        of: VersionsOf,
        agent: &Agent,
        settings: &AgentSettings,
        around: &Surroundings,
    ) -> AgentInfo {
        let found = find(agent, settings, around).await;
        let version = match &found.path {
            Some(path) => self.version(agent.name(), path, settings, around, of).await,
            None => None,
        };
        let is_there = found.path.is_some();
        let around = around.with(&settings.env);
        let logged_in = agent.account().filter(|_| is_there).and_then(|account| account.logged_in(&around));
        let of_version = || if is_there { remark_on(&**agent, version.as_deref()) } else { None };
        let remark = found.remark.or_else(of_version);
        let mut capabilities = agent.capabilities();
        if !is_there {
            capabilities.forget_guesses();
        }
        AgentInfo {
            name: agent.name().into(),
            title: agent.title().to_owned(),
            path: found.path.map(|path| path.display().to_string()),
            version,
            install: agent.install().to_owned(),
            login: agent.login().map(str::to_owned),
            logged_in,
            resume: resume(&**agent, settings),
            remark,
            verified: None,
            capabilities,
            models: Vec::new(),
        }
    }

    async fn version(
        &self,
        agent: &str,
        path: &Path,
        settings: &AgentSettings,
        around: &Surroundings,
        of: VersionsOf,
    ) -> Option<String> {
        let changed = tokio::fs::metadata(path).await.and_then(|file| file.modified()).ok();
        if let Some(known) = self.known.lock().await.get(agent)
            && known.path == path
            && known.changed == changed
        {
            return known.version.clone();
        }
        if of == VersionsOf::Known {
            return None;
        }
        let program = path.to_owned();
        let installed = tokio::task::spawn_blocking(move || npm::version(&program)).await.ok().flatten();
        let version = match installed {
            Some(version) => Some(version),
            None => ask_version(path, settings, around).await,
        };
        let known = VersionEntry { path: path.to_owned(), changed, version: version.clone() };
        self.known.lock().await.insert(agent.to_owned(), known);
        version
    }
}

/// The command that continues a conversation in the agent's own terminal. If the settings name another
/// program or another home of the agent, the command contains these too.
fn resume(agent: &dyn AgentSpec, settings: &AgentSettings) -> Option<String> {
    let mut command = agent.resume()?.to_owned();
    let own = |path: &&PathBuf, program: &str| agent.name() == program || path.ends_with(program);
    if let Some((program, rest)) = command.split_once(' ')
        && let Some(path) = settings.path.as_ref().filter(|path| own(path, program))
    {
        command = format!("{} {rest}", quoted(&path.display().to_string()));
    }
    let of_files = agent.records().map(|records| records.home_variable());
    let of_served = agent.served_records().map_or(&[][..], |served| served.home_variables());
    let variables = of_files.into_iter().chain(of_served.iter().copied());
    let homes = variables.filter_map(|name| {
        let place = settings.env.get(name)?.replace('\'', r"'\''");
        Some(format!("{name}='{place}' "))
    });
    Some(homes.collect::<String>() + &command)
}

/// Adds knowledge about agents that the agents do not report, such as the results of `longshore verify`.
#[derive(Clone, Default)]
pub struct AgentAnnotations(Option<Arc<Annotate>>);

type Annotate = dyn Fn(&mut [AgentInfo]) + Send + Sync;

impl AgentAnnotations {
    /// Calls this function whenever agents are listed. It may read files.
    pub fn by(annotate: impl Fn(&mut [AgentInfo]) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(annotate)))
    }

    pub(crate) async fn add_to(&self, agents: Vec<AgentInfo>) -> Vec<AgentInfo> {
        let Some(annotate) = self.0.clone() else { return agents };
        let mut told = agents.clone();
        let asked = tokio::task::spawn_blocking(move || {
            annotate(&mut told);
            told
        });
        asked.await.unwrap_or(agents)
    }
}

impl fmt::Debug for AgentAnnotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgentAnnotations").field(&self.0.is_some()).finish()
    }
}

/// The part of a remark which says that a version is newer than every tested one.
pub const NEWER_THAN: &str = " is newer than ";

/// A remark about a version, if a person should know something about it.
fn remark_on(agent: &dyn AgentSpec, version: Option<&str>) -> Option<String> {
    let Some(version) = version else {
        return Some("the program does not report its version; it may be broken".to_owned());
    };
    let tested = agent.tested().filter(|tested| is_newer(version, tested))?;
    Some(format!(
        "{version}{NEWER_THAN}{tested}, the version that Longshore was tested with; it may behave differently"
    ))
}

/// Whether one version comes after another. Only the leading numbers count: `1.2.3-beta` is `1.2.3`.
fn is_newer(version: &str, than: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
        version.get(..end).unwrap_or_default().split('.').map_while(|number| number.parse().ok()).collect()
    };
    numbers(version) > numbers(than)
}

/// How long a program may take to report its version.
const VERSION_DEADLINE: Duration = Duration::from_secs(3);

/// The version in the first line of `--version`.
async fn ask_version(path: &Path, settings: &AgentSettings, around: &Surroundings) -> Option<String> {
    let spawn = Spawn {
        program: path.to_owned(),
        arguments: vec!["--version".to_owned()],
        around: around.clone(),
        env: settings.env.clone(),
        cwd: None,
    };
    let mut child = Stdio::spawn(&spawn, Limits { line: 4096, ..Limits::default() }).ok()?;
    let first_line = async {
        loop {
            let happened = child.next(true).await;
            match (child.line(), happened) {
                (Some(WireLine::Whole(text) | WireLine::Garbled { text, .. }), _) => break Some(text),
                (None, ChildEvent::Ended(_)) => break None,
                (None, ChildEvent::Readable | ChildEvent::Room | ChildEvent::Stuck | ChildEvent::HungUp) => {}
            }
        }
    };
    // The process is dropped after its first line or at the deadline. That kills it.
    let line = tokio::time::timeout(VERSION_DEADLINE, first_line).await.ok()??;
    let version = line.split_whitespace().map(|word| word.trim_start_matches('v'));
    let version = version.into_iter().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    // Some programs report the version within a sentence.
    version.map(|version| version.trim_end_matches(['.', ',']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn modes_that_are_only_guessed_are_not_claimed_by_an_agent_that_is_not_here() {
        let (driver, command) = (Some("acp".to_owned()), vec!["/no/such/agent".to_owned()]);
        let settings = AgentSettings { driver, command, ..AgentSettings::default() };
        let agents = crate::table::all(&[("mine".to_owned(), settings.clone())].into()).unwrap();
        let around = Surroundings::default();
        for agent in agents {
            let own = agent.name() == "mine";
            let set = if own { settings.clone() } else { AgentSettings::default() };
            let info = Versions::default().describe(&agent, &set, &around).await;
            let claims = !info.capabilities.modes.is_empty();
            assert!(info.path.is_none() && claims != own, "{info:?}");
        }
    }

    #[test]
    fn whoever_goes_on_by_hand_is_told_the_program_that_the_settings_name() {
        let path = Some(PathBuf::from("/opt/my tools/opencode"));
        let settings = AgentSettings { path, ..AgentSettings::default() };
        let command = |name: &str| {
            let agents = crate::table::built_in();
            resume(&**agents.iter().find(|agent| agent.name() == name).unwrap(), &settings)
        };
        assert_eq!(command("opencode").unwrap(), "'/opt/my tools/opencode' -s {native}");
        assert_eq!(
            command("claude-code-acp").unwrap(),
            "claude --resume {native}",
            "which is another program"
        );
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert!(is_newer("0.10.0", "0.9.9"));
        assert!(is_newer("2.1", "2.0.99"));
        assert!(is_newer("1.18.33.1", "1.18.33"));
        assert!(!is_newer("1.18.33", "1.18.33"));
        assert!(!is_newer("1.18.33-beta.4", "1.18.33"));
        assert!(!is_newer("unknown", "1.0.0"));
    }
}

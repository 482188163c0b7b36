//! Agent discovery: where an agent is installed, and in which version.
//!
//! Looking for files happens on a blocking thread; asking for the version starts a short process, whose answer is
//! remembered for as long as the file stays the same.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use longshore_model::capability::AgentInfo;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::table::DriverSpec;
use crate::transport::{Happened, Limits, Line, Spawn, Stdio};

/// What a person set for one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// Where the program is, when it is not where programs are.
    pub path: Option<PathBuf>,
    /// Arguments after our own.
    pub args: Vec<String>,
    /// What its environment has beyond ours.
    pub env: BTreeMap<String, String>,
}

/// The environment variables that a search looks at.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    vars: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        Self { vars: std::env::vars_os().collect() }
    }

    /// Those that are given, and no others.
    pub fn of<K: Into<OsString>, V: Into<OsString>>(vars: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { vars: vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// A variable that is set to something.
    pub fn var(&self, name: &str) -> Option<&OsString> {
        self.vars.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty())
    }

    /// The person's folder.
    pub fn home(&self) -> Option<PathBuf> {
        self.var("HOME").map(PathBuf::from)
    }

    /// The first folder that has such a program: the person's own, the machine's, then `PATH`.
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

/// What a search came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finding {
    /// The program to start.
    pub path: Option<PathBuf>,
    /// Something to know about it.
    pub remark: Option<String>,
}

/// Looks for codex: `CODEX_PATH`, the settings, `~/.local/bin`, `/usr/local/bin`, `PATH`. Behind the npm package's
/// node script it takes the native program, which starts in half the time and leaves no process between.
pub fn find_codex(settings: &AgentSettings, around: &Surroundings) -> Finding {
    let named = around.var("CODEX_PATH").map(|path| (PathBuf::from(path), "CODEX_PATH names"));
    let named = named.or_else(|| settings.path.clone().map(|path| (path, "the settings")));
    if let Some((path, by)) = named {
        // Somebody who names a program wants that one and no other.
        return if is_program(&path) {
            Finding { path: Some(native_codex(&path)), remark: None }
        } else {
            let remark = format!("{by} {}, which is no program", path.display());
            Finding { path: None, remark: Some(remark) }
        };
    }
    Finding { path: around.look_up("codex").map(|path| native_codex(&path)), remark: None }
}

/// The program that npm's `codex` would start, or `found` itself when it is no such script.
fn native_codex(found: &Path) -> PathBuf {
    let Ok(script) = found.canonicalize() else { return found.to_owned() };
    if script.extension().is_none_or(|extension| extension != "js") {
        return found.to_owned();
    }
    let (Some(package), Some(triple)) = (native_package(), native_triple()) else { return found.to_owned() };
    let inside = Path::new("vendor").join(triple).join("bin/codex");
    // As node resolves it: from the script upwards, so that it is found nested and hoisted; else in the package.
    let elsewhere =
        script.ancestors().skip(1).map(|folder| folder.join("node_modules").join(package).join(&inside));
    let here = script.ancestors().nth(2).map(|package| package.join(&inside));
    elsewhere.chain(here).find(|file| is_program(file)).unwrap_or_else(|| found.to_owned())
}

fn native_package() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("@openai/codex-linux-x64"),
        ("linux", "aarch64") => Some("@openai/codex-linux-arm64"),
        ("macos", "x86_64") => Some("@openai/codex-darwin-x64"),
        ("macos", "aarch64") => Some("@openai/codex-darwin-arm64"),
        (_, _) => None,
    }
}

fn native_triple() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("x86_64-unknown-linux-musl"),
        ("linux", "aarch64") => Some("aarch64-unknown-linux-musl"),
        ("macos", "x86_64") => Some("x86_64-apple-darwin"),
        ("macos", "aarch64") => Some("aarch64-apple-darwin"),
        (_, _) => None,
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Looks for an agent without keeping the runtime waiting for the disk.
pub(crate) async fn find(spec: &DriverSpec, settings: &AgentSettings, around: &Surroundings) -> Finding {
    let (find, settings, around) = (spec.find, settings.clone(), around.clone());
    tokio::task::spawn_blocking(move || find(&settings, &around)).await.unwrap_or_else(|error| Finding {
        path: None,
        remark: Some(format!("looking for it failed: {error}")),
    })
}

/// Remembers what programs said of their version.
///
/// Bounded: one entry per agent of the table.
#[derive(Debug, Default)]
pub struct Versions {
    known: Mutex<BTreeMap<&'static str, Known>>,
}

#[derive(Debug)]
struct Known {
    path: PathBuf,
    changed: Option<SystemTime>,
    version: Option<String>,
}

impl Versions {
    /// One agent as this machine knows it.
    pub async fn describe(
        &self,
        spec: &DriverSpec,
        settings: &AgentSettings,
        around: &Surroundings,
    ) -> AgentInfo {
        let found = find(spec, settings, around).await;
        let version = match &found.path {
            Some(path) => self.version(spec.name, path, settings).await,
            None => None,
        };
        let silent = || "it does not say its version; it may be broken".to_owned();
        let remark = found.remark.or_else(|| (found.path.is_some() && version.is_none()).then(silent));
        AgentInfo {
            name: spec.name.into(),
            title: spec.title.to_owned(),
            path: found.path.map(|path| path.display().to_string()),
            version,
            install: spec.install.to_owned(),
            login: spec.login.map(str::to_owned),
            remark,
            capabilities: (spec.capabilities)(),
            models: Vec::new(),
        }
    }

    async fn version(&self, agent: &'static str, path: &Path, settings: &AgentSettings) -> Option<String> {
        let changed = tokio::fs::metadata(path).await.and_then(|file| file.modified()).ok();
        if let Some(known) = self.known.lock().await.get(agent)
            && known.path == path
            && known.changed == changed
        {
            return known.version.clone();
        }
        let version = ask_version(path, settings).await;
        let known = Known { path: path.to_owned(), changed, version: version.clone() };
        self.known.lock().await.insert(agent, known);
        version
    }
}

/// How long a program may take to say its version.
const VERSION_DEADLINE: Duration = Duration::from_secs(3);

/// The version in the first line of `--version`.
async fn ask_version(path: &Path, settings: &AgentSettings) -> Option<String> {
    let spawn = Spawn {
        program: path.to_owned(),
        arguments: vec!["--version".to_owned()],
        env: settings.env.clone(),
        cwd: None,
    };
    let mut child = Stdio::spawn(&spawn, Limits { line: 4096, ..Limits::default() }).ok()?;
    let first_line = async {
        loop {
            let happened = child.next(true).await;
            match (child.line(), happened) {
                (Some(Line::Whole(text) | Line::Garbled { text, .. }), _) => break Some(text),
                (None, Happened::Ended(_)) => break None,
                (None, Happened::Spoke | Happened::Stuck | Happened::HungUp) => {}
            }
        }
    };
    // Dropped after its first line, or when the time is up: that kills it.
    let line = tokio::time::timeout(VERSION_DEADLINE, first_line).await.ok()??;
    let version = line.split_whitespace().map(|word| word.trim_start_matches('v'));
    version.into_iter().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned)
}

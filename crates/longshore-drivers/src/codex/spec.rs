//! Codex in the table: how Longshore finds and starts it.

use std::path::{Path, PathBuf};

use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;

use super::{Codex, NAME, capabilities, offline};
use crate::account::Account;
use crate::codex::import::Rollouts;
use crate::discover::{AgentSettings, Finding, Surroundings, find_program, is_program};
use crate::import::Records;
use crate::offline::{Offline, OfflinePlace};
use crate::spec::{AgentSpec, Invocation, Purpose};

/// Where Codex keeps its login.
pub(crate) const ACCOUNT: Account = Account {
    variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    home: ("CODEX_HOME", ".codex"),
    files: &["auth.json"],
    without: Some(("config.toml", "model_provider")),
};

/// Codex, through its `app-server`.
#[derive(Clone, Copy, Debug)]
pub struct CodexSpec;

impl AgentSpec for CodexSpec {
    fn name(&self) -> &str {
        NAME
    }

    fn title(&self) -> &str {
        "Codex"
    }

    fn install(&self) -> &str {
        "npm install -g @openai/codex"
    }

    fn login(&self) -> Option<&str> {
        Some("codex login")
    }

    fn account(&self) -> Option<Account> {
        Some(ACCOUNT)
    }

    fn resume(&self) -> Option<&str> {
        Some("codex resume {native}")
    }

    fn records(&self) -> Option<&'static dyn Records> {
        Some(&Rollouts)
    }

    fn tested(&self) -> Option<&str> {
        Some("0.166.0")
    }

    fn offline(&self, place: OfflinePlace<'_>) -> Option<Offline> {
        Some(offline::offline(place, NAME, "model = \"gpt-5.5\""))
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding {
        find(settings, around)
    }

    fn invocation(&self, _: Purpose<'_>) -> Invocation {
        Invocation::of(&["app-server"])
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Codex::new())
    }
}

/// Finds Codex in `CODEX_PATH`, the settings, `~/.local/bin`, `/usr/local/bin` and `PATH`. If it finds the
/// node script of the npm package, it takes the native program behind the script. The native program starts
/// in half the time, and leaves no process between.
pub fn find(settings: &AgentSettings, around: &Surroundings) -> Finding {
    let found = find_program("codex", Some("CODEX_PATH"), settings, around);
    Finding { path: found.path.map(|path| native(&path)), ..found }
}

/// The program that npm's `codex` would start, or `found` itself if it is not that script.
fn native(found: &Path) -> PathBuf {
    let Ok(script) = found.canonicalize() else { return found.to_owned() };
    if script.extension().is_none_or(|extension| extension != "js") {
        return found.to_owned();
    }
    let (Some(package), Some(triple)) = (native_package(), native_triple()) else { return found.to_owned() };
    let inside = Path::new("vendor").join(triple).join("bin/codex");
    // The folders in node's order: from the script upwards, for nested and hoisted packages, and then the
    // package itself.
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

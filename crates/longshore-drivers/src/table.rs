//! The table of drivers: one line each.

use std::path::Path;

use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;

use crate::codex;
use crate::discover::{AgentSettings, Finding, Surroundings, find_codex};

/// One agent that Longshore can drive.
#[derive(Clone, Copy, Debug)]
pub struct DriverSpec {
    /// Its name: `codex`.
    pub name: &'static str,
    /// Its name for people: `Codex`.
    pub title: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// The command that logs in to it, where one is needed.
    pub login: Option<&'static str>,
    /// What it can do.
    pub capabilities: fn() -> Capabilities,
    /// Where it is installed.
    pub find: fn(&AgentSettings, &Surroundings) -> Finding,
    /// The arguments with which the program speaks to us, before those of the settings.
    pub arguments: fn(&Path) -> Vec<String>,
    /// A driver for one process of it.
    pub driver: fn() -> Box<dyn Driver>,
}

/// Every driver that there is.
pub fn all() -> &'static [DriverSpec] {
    &[CODEX]
}

/// Codex, through its `app-server`.
const CODEX: DriverSpec = DriverSpec {
    name: "codex",
    title: "Codex",
    install: "npm install -g @openai/codex",
    login: Some("codex login"),
    capabilities: codex::capabilities,
    find: find_codex,
    arguments: |_| vec!["app-server".to_owned()],
    driver: || Box::new(codex::Codex::new()),
};

//! OpenCode in the table: how Longshore finds and starts it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;

use super::{NAME, OpenCode, capabilities, offline};
use crate::discover::{AgentSettings, Finding, Surroundings, find_program, is_program};
use crate::import::ServedRecords;
use crate::offline::{Offline, OfflinePlace};
use crate::opencode::import::Database;
use crate::spec::{AgentSpec, Channel, Invocation, Purpose, Server};

/// OpenCode, through `opencode serve`.
#[derive(Clone, Copy, Debug)]
pub struct OpenCodeSpec;

/// The permissions of every session until its own rules are set. OpenCode opens a sub-agent's session itself,
/// and the first step of that session may come before the driver sets the rules.
const RULES: &str = r#"{"edit":"ask","bash":"ask","webfetch":"ask"}"#;

impl AgentSpec for OpenCodeSpec {
    fn name(&self) -> &str {
        NAME
    }

    fn title(&self) -> &str {
        "OpenCode"
    }

    fn install(&self) -> &str {
        "npm install -g opencode-ai"
    }

    fn login(&self) -> Option<&str> {
        Some("opencode auth login")
    }

    fn resume(&self) -> Option<&str> {
        Some("opencode -s {native}")
    }

    fn served_records(&self) -> Option<&'static dyn ServedRecords> {
        Some(&Database)
    }

    fn tested(&self) -> Option<&str> {
        Some("1.18.33")
    }

    fn offline(&self, place: OfflinePlace<'_>) -> Option<Offline> {
        Some(offline::offline(place))
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding {
        let found = find_program("opencode", Some("OPENCODE_PATH"), settings, around);
        Finding { path: found.path.map(|path| native(&path)), ..found }
    }

    fn invocation(&self, _: Purpose<'_>) -> Invocation {
        // With port 0, OpenCode takes the first free port from 4096 on, and names it in a line.
        let mut invocation = Invocation::of(&["serve", "--hostname", "127.0.0.1", "--port", "0"]);
        let env = [("OPENCODE_PERMISSION", RULES), ("OPENCODE_DISABLE_AUTOUPDATE", "1")];
        invocation.env.extend(env.map(|(name, value)| (name.to_owned(), value.to_owned())));
        invocation
    }

    fn channel(&self, _: &AgentSettings) -> Channel {
        Channel::Http(Server {
            user: "opencode",
            password: "OPENCODE_SERVER_PASSWORD",
            listening,
            events: "/global/event",
            says_nothing,
        })
    }

    fn shared(&self) -> bool {
        true
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(OpenCode::new())
    }
}

/// Reads `opencode server listening on http://127.0.0.1:4096`. OpenCode never answers a request from before
/// that line.
fn listening(line: &str) -> Option<SocketAddr> {
    let (_, address) = line.split_once("listening on http://")?;
    address.trim().trim_end_matches('/').parse().ok()
}

/// A heartbeat, or the copy that OpenCode sends with every event that it stores.
fn says_nothing(message: &str) -> bool {
    let begins = message.get(..message.len().min(300)).unwrap_or(message);
    begins.contains(r#""payload":{"type":"sync""#) || begins.contains(r#""type":"server.heartbeat""#)
}

/// The native program of the npm package for this machine, if the program that was found is only a
/// placeholder. The placeholder stays if npm was told not to run the script that replaces it.
fn native(found: &Path) -> PathBuf {
    let Ok(program) = found.canonicalize() else { return found.to_owned() };
    let small = program.metadata().is_ok_and(|file| file.len() < 1024 * 1024);
    let arch = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    let os = if std::env::consts::OS == "macos" { "darwin" } else { "linux" };
    let package = format!("opencode-{os}-{arch}");
    let inside = Path::new("node_modules").join(package).join("bin/opencode");
    let mut beside = program.ancestors().map(|folder| folder.join(&inside));
    let native = if small { beside.find(|file| is_program(file)) } else { None };
    native.unwrap_or_else(|| found.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_tells_where_it_listens_is_known() {
        let line = "opencode server listening on http://127.0.0.1:35959";
        assert_eq!(listening(line), Some("127.0.0.1:35959".parse().unwrap()));
        assert_eq!(listening("Warning: OPENCODE_SERVER_PASSWORD is not set; server is unsecured."), None);
    }

    #[test]
    fn signs_of_life_and_copies_say_nothing() {
        assert!(says_nothing(r#"{"payload":{"id":"evt_1","type":"server.heartbeat","properties":{}}}"#));
        assert!(says_nothing(
            r#"{"directory":"/w","project":"global","payload":{"type":"sync","syncEvent":{"id":"evt_1"}}}"#
        ));
        assert!(!says_nothing(
            r#"{"directory":"/w","payload":{"id":"evt_1","type":"session.idle","properties":{"sessionID":"s"}}}"#
        ));
    }
}

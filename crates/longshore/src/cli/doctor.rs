//! `longshore doctor`: each fault of this installation, with its fix.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures_util::StreamExt;
use longshore_drivers::anchor::{Anchor, AnchorConfig};
use longshore_drivers::import::WatchPast;
use longshore_drivers::table;
use longshore_facades::native::answers::Agents;
use longshore_log::{MemoryLog, Unsound};
use longshore_model::capability::AgentInfo;
use longshore_session::Hub;
use serde::Serialize;
use serde_json::{Value, json};

use super::connect::{self, Running};
use super::exit::{advice, told};
use super::home;
use super::startable;
use super::terminal::{now, put_line, say};
use super::token_file;
use super::verified::{self, is_about_version};
use crate::client::Unreachable;
use crate::config::{Config, Places};
use crate::render::AgentStanding;
use crate::render::clean::clean;

/// How many agents are started at once: all together they would keep each other from being in time.
const STARTED_AT_ONCE: usize = 2;
/// How long an agent may take to tell its models, which it has to start for.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// With less than this the log cannot grow for long, in bytes.
const LITTLE_SPACE: u64 = 256 << 20;

/// What was looked at, and how it is.
#[derive(Serialize)]
struct Finding {
    what: String,
    /// Whether nothing has to be done about it.
    ok: bool,
    verdict: FindingVerdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FindingVerdict {
    Good,
    /// It is not used, which is nobody's fault.
    Unused,
    /// It works; something is worth knowing.
    Note,
    Fault,
}

fn good(what: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: true, verdict: FindingVerdict::Good, fix: None }
}

fn unused(what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: true, verdict: FindingVerdict::Unused, fix: Some(fix.into()) }
}

fn note(what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: true, verdict: FindingVerdict::Note, fix: Some(fix.into()) }
}

fn fault(what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: false, verdict: FindingVerdict::Fault, fix: Some(fix.into()) }
}

pub(super) async fn run(as_json: bool) -> Result<ExitCode> {
    let places = Places::find()?;
    let mut findings =
        vec![config(&places), data(&places), space(&places), token(&places), log(&places), git()];
    findings.extend(hub(&places).await);
    if as_json {
        put_line(json!({ "findings": findings }))?;
    } else {
        for finding in &findings {
            let (sign, word) = match finding.verdict {
                FindingVerdict::Good => ("✓", ""),
                FindingVerdict::Unused => ("-", "to use it"),
                FindingVerdict::Note => ("!", "to be sure"),
                FindingVerdict::Fault => ("✗", "fix"),
            };
            say(format_args!("{sign} {}", clean(&finding.what)))?;
            if let Some(fix) = &finding.fix {
                say(format_args!("    {word}: {fix}"))?;
            }
        }
    }
    Ok(if findings.iter().all(|finding| finding.ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn config(places: &Places) -> Finding {
    let path = places.config.display();
    // The file may be understood and still name an agent that cannot be.
    let understood = Config::load(places).and_then(|config| Ok(table::all(&config.agents)?));
    match understood {
        Ok(_) if places.config.exists() => good(format!("configuration: {path}")),
        Ok(_) => good(format!("configuration: none at {path}; the defaults apply")),
        Err(error) => {
            fault(format!("configuration: {}", told(&error)), format!("correct {path}, or move it away"))
        }
    }
}

fn data(places: &Places) -> Finding {
    let path = places.data.display();
    match std::fs::metadata(&places.data) {
        Err(_) => good(format!("data folder: the first start makes {path}")),
        Ok(data) if !data.is_dir() => fault(format!("data folder: {path} is a file"), format!("rm {path}")),
        Ok(data) if data.permissions().mode() & 0o077 != 0 => {
            fault(format!("data folder: other users can read {path}"), format!("chmod 700 {path}"))
        }
        Ok(_) => match rustix::fs::access(&places.data, rustix::fs::Access::WRITE_OK) {
            Ok(()) => good(format!("data folder: {path}")),
            Err(error) => fault(
                format!("data folder: cannot write to {path}: {error}"),
                "give yourself write permission, or name another folder with LONGSHORE_HOME",
            ),
        },
    }
}

fn space(places: &Places) -> Finding {
    // The folder itself may not be there yet.
    let there = places.data.ancestors().find(|folder| folder.exists()).unwrap_or(&places.data);
    let Ok(disk) = rustix::fs::statvfs(there) else { return good("disk: unknown") };
    room(disk.f_bavail.saturating_mul(disk.f_frsize), there)
}

/// So many bytes are free in this folder.
fn room(free: u64, there: &Path) -> Finding {
    let told = format!("disk: {} MB are free at {}", free >> 20, there.display());
    match free < LITTLE_SPACE {
        true => fault(told, "free some space: if the hub cannot write its log, it stops its agents"),
        false => good(told),
    }
}

/// Whether the log is sound, also while a hub has it open.
fn log(places: &Places) -> Finding {
    match longshore_log::quick_check(&places.data) {
        Ok(()) if !places.data.join("log.db").exists() => good("log: none yet"),
        Ok(()) => good("log: sound"),
        Err(error @ Unsound::OutOfReach(_)) => {
            fault(format!("log: {error}"), "check the data folder, then run `longshore doctor` again")
        }
        Err(error @ Unsound::Damaged(_)) => fault(
            format!("log: {error}"),
            format!(
                "stop the hub, move {} away, and put a backup there; `longshore import FILE` imports an export",
                places.data.join("log.db").display()
            ),
        ),
        Err(error @ Unsound::Lost) => fault(
            format!("log: {error}"),
            format!(
                "stop the hub, and put a backup at {}; to start with an empty log, remove {}",
                places.data.join("log.db").display(),
                places.data.join("log.made").display()
            ),
        ),
    }
}

fn token(places: &Places) -> Finding {
    let path = places.token();
    match (token_file::read(places), std::fs::metadata(&path)) {
        (Err(error), _) => fault(format!("token: {}", told(&error)), advice(&error).1.unwrap_or_default()),
        (Ok(None), _) | (Ok(Some(_)), Err(_)) => good("token: the first start makes it"),
        (Ok(Some(_)), Ok(token)) if token.permissions().mode() & 0o077 != 0 => {
            fault("token: other users can read it", format!("chmod 600 {}", path.display()))
        }
        (Ok(Some(_)), Ok(_)) => good("token: only you can read it"),
    }
}

fn git() -> Finding {
    match std::process::Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            good(String::from_utf8_lossy(&output.stdout).trim().replacen(" version", ":", 1))
        }
        _ => fault("git: not found, so Longshore does not show branches", "install git"),
    }
}

async fn hub(places: &Places) -> Vec<Finding> {
    let mut client = match connect::running().await {
        Ok(client) => client,
        Err(error) if error.downcast_ref::<Unreachable>().is_some() && connect::named_url().is_none() => {
            let mut findings = vec![start(places).await];
            findings.extend(agents_here(places).await);
            return findings;
        }
        Err(error) => {
            let (_, hint) = advice(&error);
            let fix = hint.unwrap_or_else(|| "run `longshore down`, then `longshore up`".to_owned());
            return vec![fault(format!("hub: {}", told(&error)), fix)];
        }
    };
    let mut findings = vec![match Running::read(places) {
        Some(running) if running.version != env!("CARGO_PKG_VERSION") => fault(
            format!("hub: it runs version {}, this is {}", running.version, env!("CARGO_PKG_VERSION")),
            "run `longshore down`, then `longshore up`",
        ),
        Some(running) => good(format!("hub: up at {}", running.url)),
        None => good("hub: up"),
    }];
    match client.call::<Agents>("agents", json!({ "models": "known" })).await {
        Ok(Agents { agents }) => {
            let tried = tried_all(&agents, asked).await;
            findings.extend(judged(&agents, tried));
        }
        Err(error) => findings
            .push(fault(format!("agents: {}", told(&error)), "run `longshore down`, then `longshore up`")),
    }
    findings
}

/// Whether the next hub can start.
async fn start(places: &Places) -> Finding {
    // What it needs is in use then.
    if home::is_held(places) {
        let what =
            "hub: it does not answer, but a process uses the data folder; it may be starting or stopping";
        return note(what, "run `longshore doctor` again; if nothing changes, run `longshore down`");
    }
    match startable::check(places).await {
        Ok(()) => good("hub: not running; the next verb that needs it starts it"),
        Err(error) => {
            let fix = advice(&error).1.unwrap_or_else(|| "correct this; then run `longshore up`".to_owned());
            fault(format!("hub: not running, and it cannot start: {}", told(&error)), fix)
        }
    }
}

/// All agents, with what came of starting each.
fn judged(agents: &[AgentInfo], tried: Vec<Option<Finding>>) -> Vec<Finding> {
    let standings = verified::standings(agents, now());
    let each = agents.iter().zip(tried);
    each.map(|(info, sick)| sick.unwrap_or_else(|| agent(info, standings.get(&*info.name)))).collect()
}

/// Has the hub that runs start an agent and ask it for its models. What it said before, it may not be able to say today.
async fn asked(agent: &AgentInfo) -> Result<()> {
    let mut client = connect::running().await?;
    client.call::<Value>("models", json!({ "agent": agent.name, "anew": true })).await.map(|_| ())
}

/// What came of starting each. One program that is driven in several ways is tried in one of them, and in the others once it
/// does not start.
async fn tried_all<'a, F: Future<Output = Result<()>>>(
    agents: &'a [AgentInfo],
    asked: impl Fn(&'a AgentInfo) -> F,
) -> Vec<Option<Finding>> {
    let seem_well = (0..agents.len()).filter(|at| seems_well(&agents[*at]));
    let (firsts, others): (Vec<usize>, Vec<usize>) = seem_well.partition(|at| is_first(agents, *at));
    let mut found: Vec<Option<Finding>> = agents.iter().map(|_| None).collect();
    for part in [firsts, others] {
        let is_suspect = |at: &usize| {
            let mut same = agents.iter().zip(&found).filter(|(other, _)| other.path == agents[*at].path);
            is_first(agents, *at) || same.any(|(_, found)| found.as_ref().is_some_and(|found| !found.ok))
        };
        let part: Vec<usize> = part.into_iter().filter(is_suspect).collect();
        let tried = part.iter().map(|at| tried(&agents[*at], asked(&agents[*at])));
        let tried: Vec<_> = futures_util::stream::iter(tried).buffered(STARTED_AT_ONCE).collect().await;
        for (at, sick) in part.into_iter().zip(tried) {
            found[at] = sick;
        }
    }
    found
}

fn seems_well(agent: &AgentInfo) -> bool {
    agent.path.is_some() && agent.logged_in != Some(false) && agent.capabilities.models
}

/// Whether no agent before it is of the same program. The built-in ones are one program and ask a model of their own each.
fn is_first(agents: &[AgentInfo], at: usize) -> bool {
    let mut before = agents[..at].iter().filter(|other| seems_well(other));
    agents[at].capabilities.memory_in_log || before.all(|other| other.path != agents[at].path)
}

/// Has an agent start that seems to be well, and tells why it does not.
async fn tried(agent: &AgentInfo, asked: impl Future<Output = Result<()>>) -> Option<Finding> {
    let why = match tokio::time::timeout(STARTS_WITHIN, asked).await {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => told(&error),
        Err(_) => "it did not answer".to_owned(),
    };
    Some(sick(agent, &why))
}

/// An agent that could not tell its models. One that is only slow may be well.
fn sick(agent: &AgentInfo, why: &str) -> Finding {
    // The built-in one starts at once and has nothing of its own to be slow with: it is its server that does not answer.
    if agent.capabilities.memory_in_log {
        let fix = format!("start the server, or correct base_url and key_env under [agents.{}]", agent.name);
        return fault(format!("{}: its model's server does not answer: {why}", agent.title), fix);
    }
    match why.contains("did not answer") {
        true => note(format!("{}: {why}", agent.title), format!("longshore verify {}", agent.name)),
        false => fault(
            format!("{}: it does not start: {why}", agent.title),
            "correct the agent's own settings; then `longshore agents` lists its models",
        ),
    }
}

/// The agents as a hub would find and start them: there is none, so that one is made which keeps nothing.
async fn agents_here(places: &Places) -> Vec<Finding> {
    let settings = Config::load(places).map(|config| config.agents).unwrap_or_default();
    // A table that cannot be made of the settings is told as a fault of the configuration.
    let specs = table::all(&settings).unwrap_or_default();
    let config = AnchorConfig {
        agents: specs,
        settings,
        past: WatchPast { every: None, ..WatchPast::default() },
        annotations: verified::annotations(places.clone()),
        ..AnchorConfig::default()
    };
    let hub = Hub::new(Arc::new(MemoryLog::default()));
    let anchor = Anchor::start(config, Arc::new(hub.mailbox()));
    hub.attach(anchor.sender());
    let findings = match hub.agents().await {
        Ok(agents) => {
            let asked = |agent: &AgentInfo| {
                let (hub, name) = (hub.clone(), agent.name.clone());
                async move { Ok(hub.models(&name).await.map(|_| ())?) }
            };
            let tried = tried_all(&agents, asked).await;
            judged(&agents, tried)
        }
        Err(error) => vec![fault(format!("agents: {error}"), "run `longshore up` to see more")],
    };
    anchor.shutdown().await;
    findings
}

fn agent(agent: &AgentInfo, standing: Option<&AgentStanding>) -> Finding {
    let title = &agent.title;
    // Who has verified a version knows more than that it is new, and who has not is told so.
    let remark = agent.remark.as_ref().filter(|remark| standing.is_none() || !is_about_version(remark));
    match (&agent.path, remark) {
        (None, None) => unused(format!("{title}: not set up"), agent.install.clone()),
        (None, Some(remark)) => {
            let fix = format!("name the right program, or install the agent: {}", agent.install);
            fault(format!("{title}: {remark}"), fix)
        }
        (Some(_), _) if agent.logged_in == Some(false) => {
            let fix = agent.login.clone().unwrap_or_else(|| "see the agent's own documentation".to_owned());
            unused(format!("{title}: nobody is logged in"), fix)
        }
        (Some(path), None) => {
            let version = agent.version.as_deref().unwrap_or("of unknown version");
            let here = format!("{title}: {version} at {path}");
            match standing {
                None => good(here),
                Some(AgentStanding { good: true, text }) => good(format!("{here}; {text}")),
                Some(AgentStanding { good: false, text }) => {
                    let text = text.split_once(": run `").map_or(text.as_str(), |(text, _)| text);
                    note(format!("{title}: {text}"), format!("longshore verify {}", agent.name))
                }
            }
        }
        // A newer version most of all: it is tried without an account, in seconds.
        (Some(_), Some(remark)) => {
            note(format!("{title}: {remark}"), format!("longshore verify {}", agent.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(more: Value) -> AgentInfo {
        let mut info =
            json!({ "name": "claude", "title": "Claude Code", "install": "npm i", "capabilities": {} });
        info.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(info).unwrap()
    }

    #[test]
    fn what_is_not_used_is_no_fault_and_a_newer_agent_leads_to_verify() {
        let agent = |info: &AgentInfo| agent(info, None);
        let missing = agent(&info(json!({})));
        assert!(missing.ok && missing.verdict == FindingVerdict::Unused);
        let logged_out =
            agent(&info(json!({ "path": "/bin/claude", "loggedIn": false, "login": "claude login" })));
        assert!(logged_out.ok && logged_out.fix.as_deref() == Some("claude login"));
        let newer = agent(&info(json!({ "path": "/bin/claude", "remark": "2.1.325 is newer than 2.1.197" })));
        assert!(newer.ok && newer.fix.as_deref() == Some("longshore verify claude"));
        let here = info(json!({ "path": "/bin/claude" }));
        assert!(!sick(&here, "Claude Code ended with code 1: Error: no such setting").ok);
        assert!(sick(&here, "Claude Code did not answer within 15 s").ok, "a slow one may be well");
        let built_in = info(json!({ "path": "/bin/longshore", "capabilities": { "memoryInLog": true } }));
        assert!(!sick(&built_in, "it did not answer within 15 s").ok, "its server is down");
        let wrong = agent(&info(json!({ "remark": "CLAUDE_PATH names no program" })));
        assert!(!wrong.ok);
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_not_called_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        std::fs::create_dir(folder.path().join("log.db")).unwrap();
        let closed = log(&places);
        assert!(!closed.ok && closed.what.contains("cannot be read"), "{}", closed.what);
        assert!(!closed.fix.unwrap().contains("backup"));
    }

    #[test]
    fn a_disk_on_which_the_log_cannot_grow_is_a_fault() {
        let there = Path::new("/srv");
        let (full, roomy) = (room(LITTLE_SPACE - 1, there), room(LITTLE_SPACE, there));
        assert_eq!((full.ok, full.what.as_str()), (false, "disk: 255 MB are free at /srv"));
        assert!(full.fix.unwrap().starts_with("free some space"));
        assert!(roomy.ok && roomy.verdict == FindingVerdict::Good);
    }

    #[tokio::test]
    async fn a_program_is_started_once_or_in_every_way_when_it_does_not_start() {
        let of = |name: &str, path: &str, built_in: bool| {
            let can = json!({ "models": true, "memoryInLog": built_in });
            info(json!({ "name": name, "title": name, "path": path, "capabilities": can }))
        };
        let agents = [
            of("codex", "/bin/codex", false),
            of("headless", "/bin/codex", false),
            of("claude", "/bin/claude", false),
            of("over-acp", "/bin/claude", false),
            of("react", "/bin/longshore", true),
            of("react-2", "/bin/longshore", true),
        ];
        let asked = std::sync::Mutex::new(Vec::new());
        let ask = |agent: &AgentInfo| {
            asked.lock().unwrap().push(agent.name.to_string());
            let fails = !matches!(&*agent.name, "claude" | "react-2");
            async move { if fails { anyhow::bail!("no such setting") } else { Ok(()) } }
        };
        let found = tried_all(&agents, ask).await;
        let sick: Vec<&str> = agents
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_some())
            .map(|(agent, _)| &*agent.name)
            .collect();
        assert_eq!(sick, ["codex", "headless", "react"]);
        let mut asked = asked.into_inner().unwrap();
        asked.sort_unstable();
        assert_eq!(
            asked,
            ["claude", "codex", "headless", "react", "react-2"],
            "a program that is well is started once"
        );
    }

    #[test]
    fn a_damaged_log_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        assert!(log(&places).ok);
        std::fs::write(folder.path().join("log.db"), "no database at all, by far").unwrap();
        let damaged = log(&places);
        assert!(!damaged.ok && damaged.what.contains("damaged"), "{}", damaged.what);
    }

    #[test]
    fn a_log_that_is_gone_is_a_fault_as_it_is_for_a_hub() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        drop(longshore_log::SqliteLog::open(folder.path(), &longshore_log::LogSettings::default()).unwrap());
        assert_eq!(log(&places).what, "log: sound");
        std::fs::remove_file(folder.path().join("log.db")).unwrap();
        let lost = log(&places);
        assert!(!lost.ok && lost.what.contains("missing or empty"), "{}", lost.what);
        assert!(lost.fix.unwrap().contains("put a backup"));
    }
}

//! `longshore doctor`: each fault of this installation, with its fix.

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use longshore_drivers::discover::{Surroundings, Versions};
use longshore_drivers::table;
use longshore_log::Unsound;
use longshore_model::capability::AgentInfo;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::exit::told;
use super::reach::{self, Running};
use super::terminal::put_line;
use crate::client::{Refused, Unreachable};
use crate::config::{Config, Places};
use crate::render::clean::clean;

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
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Good,
    /// It is not used, which is nobody's fault.
    Unused,
    /// It works; something is worth knowing.
    Note,
    Fault,
}

fn good(what: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: true, verdict: Verdict::Good, fix: None }
}

fn unused(what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: true, verdict: Verdict::Unused, fix: Some(fix.into()) }
}

fn note(what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: true, verdict: Verdict::Note, fix: Some(fix.into()) }
}

fn fault(what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: false, verdict: Verdict::Fault, fix: Some(fix.into()) }
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
                Verdict::Good => ("✓", ""),
                Verdict::Unused => ("-", "to use it"),
                Verdict::Note => ("!", "to be sure"),
                Verdict::Fault => ("✗", "fix"),
            };
            put_line(format_args!("{sign} {}", clean(&finding.what)))?;
            if let Some(fix) = &finding.fix {
                put_line(format_args!("    {word}: {fix}"))?;
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
        Ok(_) => good(format!("configuration: none at {path}, the defaults hold")),
        Err(error) => {
            fault(format!("configuration: {}", told(&error)), format!("mend {path}, or move it away"))
        }
    }
}

fn data(places: &Places) -> Finding {
    let path = places.data.display();
    match std::fs::metadata(&places.data) {
        Err(_) => good(format!("data folder: {path} will be made at the first start")),
        Ok(data) if !data.is_dir() => fault(format!("data folder: {path} is a file"), format!("rm {path}")),
        Ok(data) if data.permissions().mode() & 0o077 != 0 => {
            fault(format!("data folder: others can look into {path}"), format!("chmod 700 {path}"))
        }
        Ok(_) => match rustix::fs::access(&places.data, rustix::fs::Access::WRITE_OK) {
            Ok(()) => good(format!("data folder: {path}")),
            Err(error) => fault(
                format!("data folder: {path} cannot be written: {error}"),
                "make it writable for you, or name another one with LONGSHORE_HOME",
            ),
        },
    }
}

fn space(places: &Places) -> Finding {
    // The folder itself may not be there yet.
    let there = places.data.ancestors().find(|folder| folder.exists()).unwrap_or(&places.data);
    let Ok(disk) = rustix::fs::statvfs(there) else { return good("disk: not known") };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let told = format!("disk: {} MB are free at {}", free >> 20, there.display());
    match free < LITTLE_SPACE {
        true => fault(told, "make room: a hub that cannot write its log stops its agents"),
        false => good(told),
    }
}

/// Whether the log is sound, also while a hub has it open.
fn log(places: &Places) -> Finding {
    match longshore_log::quick_check(&places.data) {
        Ok(()) if !places.data.join("log.db").exists() => good("log: none yet"),
        Ok(()) => good("log: sound"),
        Err(error @ Unsound::OutOfReach(_)) => {
            fault(format!("log: {error}"), "see to the data folder, and look again")
        }
        Err(error @ Unsound::Damaged(_)) => fault(
            format!("log: {error}"),
            format!(
                "stop the hub, move {} away, and put a backup there; `longshore import FILE` takes exports in",
                places.data.join("log.db").display()
            ),
        ),
    }
}

fn token(places: &Places) -> Finding {
    let path = places.token();
    match std::fs::metadata(&path) {
        Err(_) => good("token: will be made at the first start"),
        Ok(token) if token.permissions().mode() & 0o077 != 0 => {
            fault("token: others can read it", format!("chmod 600 {}", path.display()))
        }
        Ok(_) => good("token: only you can read it"),
    }
}

fn git() -> Finding {
    match std::process::Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            good(String::from_utf8_lossy(&output.stdout).trim().replacen(" version", ":", 1))
        }
        _ => fault("git: not found, so that branches are not shown", "install git"),
    }
}

async fn hub(places: &Places) -> Vec<Finding> {
    #[derive(Deserialize)]
    struct Known {
        agents: Vec<AgentInfo>,
    }
    let mut client = match reach::running().await {
        Ok(client) => client,
        Err(error) if error.downcast_ref::<Unreachable>().is_some() => {
            let mut findings = vec![good("hub: none is running; the next verb that needs one starts it")];
            findings.extend(agents_here(places).await.iter().map(agent));
            return findings;
        }
        Err(error) => {
            let hint = error.downcast_ref::<Refused>().and_then(|refused| refused.hint.clone());
            let fix = hint.unwrap_or_else(|| "longshore down, then longshore up".to_owned());
            return vec![fault(format!("hub: {}", told(&error)), fix)];
        }
    };
    let mut findings = vec![match Running::read(places) {
        Some(running) if running.version != env!("CARGO_PKG_VERSION") => fault(
            format!("hub: it runs version {}, this is {}", running.version, env!("CARGO_PKG_VERSION")),
            "longshore down, then longshore up",
        ),
        Some(running) => good(format!("hub: up at {}", running.url)),
        None => good("hub: up"),
    }];
    match client.call::<Known>("agents", json!({ "models": "known" })).await {
        Ok(Known { agents }) => {
            // One program that is driven in several ways is tried once.
            let is_first = |at: usize| agents[..at].iter().all(|other| other.path != agents[at].path);
            let tried = agents.iter().enumerate().map(async |(at, agent)| match is_first(at) {
                true => tried(agent).await,
                false => None,
            });
            let tried = futures_util::future::join_all(tried).await;
            findings.extend(agents.iter().zip(tried).map(|(info, sick)| sick.unwrap_or_else(|| agent(info))));
        }
        Err(error) => {
            findings.push(fault(format!("agents: {}", told(&error)), "longshore down, then longshore up"))
        }
    }
    findings
}

/// Has an agent start that seems to be well, and tells why it does not.
async fn tried(agent: &AgentInfo) -> Option<Finding> {
    let seems_well = agent.path.is_some() && agent.logged_in != Some(false) && agent.capabilities.models;
    if !seems_well {
        return None;
    }
    let asked = async {
        let mut client = reach::running().await?;
        client.call::<Value>("models", json!({ "agent": agent.name })).await
    };
    let why = match tokio::time::timeout(STARTS_WITHIN, asked).await {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => told(&error),
        Err(_) => "it did not answer".to_owned(),
    };
    Some(sick(agent, &why))
}

/// An agent that could not tell its models. One that is only slow may be well.
fn sick(agent: &AgentInfo, why: &str) -> Finding {
    match why.contains("did not answer") {
        true => note(format!("{}: {why}", agent.title), format!("longshore verify {}", agent.name)),
        false => fault(
            format!("{}: it does not start: {why}", agent.title),
            "mend what it says, in its own settings; then `longshore agents` lists its models",
        ),
    }
}

/// The agents as the hub would find them.
async fn agents_here(places: &Places) -> Vec<AgentInfo> {
    let settings = Config::load(places).map(|config| config.agents).unwrap_or_default();
    let (versions, around) = (Versions::default(), Surroundings::of_this_process());
    let mut agents = Vec::new();
    // A table that cannot be made of the settings is told as a fault of the configuration.
    for spec in table::all(&settings).unwrap_or_default() {
        let set = settings.get(spec.name()).cloned().unwrap_or_default();
        agents.push(versions.describe(&spec, &set, &around).await);
    }
    agents
}

fn agent(agent: &AgentInfo) -> Finding {
    let title = &agent.title;
    match (&agent.path, &agent.remark) {
        (None, None) => unused(format!("{title}: not set up"), agent.install.clone()),
        (None, Some(remark)) => {
            let fix = format!("name the right program, or set it up: {}", agent.install);
            fault(format!("{title}: {remark}"), fix)
        }
        (Some(_), _) if agent.logged_in == Some(false) => {
            let fix = agent.login.clone().unwrap_or_else(|| "see its own documentation".to_owned());
            unused(format!("{title}: nobody is logged in"), fix)
        }
        (Some(path), None) => {
            let version = agent.version.as_deref().unwrap_or("of unknown version");
            good(format!("{title}: {version} at {path}"))
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
        let missing = agent(&info(json!({})));
        assert!(missing.ok && missing.verdict == Verdict::Unused);
        let logged_out =
            agent(&info(json!({ "path": "/bin/claude", "loggedIn": false, "login": "claude login" })));
        assert!(logged_out.ok && logged_out.fix.as_deref() == Some("claude login"));
        let newer = agent(&info(json!({ "path": "/bin/claude", "remark": "2.1.325 is newer than 2.1.197" })));
        assert!(newer.ok && newer.fix.as_deref() == Some("longshore verify claude"));
        let here = info(json!({ "path": "/bin/claude" }));
        assert!(!sick(&here, "Claude Code ended with code 1: Error: no such setting").ok);
        assert!(sick(&here, "Claude Code did not answer within 15 s").ok, "a slow one may be well");
        let wrong = agent(&info(json!({ "remark": "CLAUDE_PATH names no program" })));
        assert!(!wrong.ok);
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_not_called_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        std::fs::create_dir(folder.path().join("log.db")).unwrap();
        let closed = log(&places);
        assert!(!closed.ok && closed.what.contains("cannot be looked at"), "{}", closed.what);
        assert!(!closed.fix.unwrap().contains("backup"));
    }

    #[test]
    fn a_damaged_log_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        assert!(log(&places).ok && space(&places).verdict != Verdict::Unused);
        std::fs::write(folder.path().join("log.db"), "no database at all, by far").unwrap();
        let damaged = log(&places);
        assert!(!damaged.ok && damaged.what.contains("damaged"), "{}", damaged.what);
    }
}

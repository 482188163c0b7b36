//! `longshore doctor`: each fault of this installation, with its fix.

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use anyhow::Result;
use longshore_drivers::discover::{Surroundings, Versions};
use longshore_drivers::table;
use longshore_model::capability::AgentInfo;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::exit::told;
use super::reach::{self, Running};
use super::terminal::put_line;
use crate::client::{Refused, Unreachable};
use crate::config::{Config, Places};

#[derive(Serialize)]
struct Finding {
    what: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

fn good(what: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: true, fix: None }
}

fn fault(what: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what: what.into(), ok: false, fix: Some(fix.into()) }
}

pub(super) async fn run(as_json: bool) -> Result<ExitCode> {
    let places = Places::find()?;
    let mut findings = vec![config(&places), data(&places), token(&places), git()];
    findings.extend(hub(&places).await);
    if as_json {
        put_line(json!({ "findings": findings }))?;
    } else {
        for finding in &findings {
            put_line(format_args!("{} {}", if finding.ok { "✓" } else { "✗" }, finding.what))?;
            if let Some(fix) = &finding.fix {
                put_line(format_args!("    fix: {fix}"))?;
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
        Ok(_) => good(format!("data folder: {path}")),
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
    let mut client = match reach::hub().await {
        Ok(client) => client,
        Err(error) if error.downcast_ref::<Unreachable>().is_some() => {
            let mut findings =
                vec![offline_log(places), good("hub: none is running; `longshore run` starts it")];
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
        Ok(known) => findings.extend(known.agents.iter().map(agent)),
        Err(error) => {
            findings.push(fault(format!("agents: {}", told(&error)), "longshore down, then longshore up"))
        }
    }
    findings
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

/// The log can only be opened while no hub holds it.
fn offline_log(places: &Places) -> Finding {
    if !places.data.exists() {
        return good("log: none yet");
    }
    match longshore_log::SqliteLog::open(&places.data, &longshore_log::Settings::default()) {
        Ok(_) => good("log: opens"),
        // The error itself says what to do.
        Err(error) => Finding { what: format!("log: {error}"), ok: false, fix: None },
    }
}

fn agent(agent: &AgentInfo) -> Finding {
    let title = &agent.title;
    match (&agent.path, &agent.remark) {
        (None, None) => fault(format!("{title}: not installed"), agent.install.clone()),
        (None, Some(remark)) => {
            let fix = format!("name the right program, or install it with `{}`", agent.install);
            fault(format!("{title}: {remark}"), fix)
        }
        (Some(_), None) if agent.logged_in == Some(false) => {
            let fix = agent.login.clone().unwrap_or_else(|| "see its own documentation".to_owned());
            fault(format!("{title}: nobody is logged in"), fix)
        }
        (Some(path), None) => {
            let version = agent.version.as_deref().unwrap_or("of unknown version");
            good(format!("{title}: {version} at {path}"))
        }
        (Some(_), Some(remark)) => {
            let fix = agent.login.clone().unwrap_or_else(|| "see its own documentation".to_owned());
            fault(format!("{title}: {remark}"), fix)
        }
    }
}

//! `longshore doctor`: each fault of this installation, with its fix.

use std::os::unix::fs::PermissionsExt;
use std::process::ExitCode;

use anyhow::Result;
use longshore_model::capability::AgentInfo;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::reach::{self, Running};
use crate::client::Unreachable;
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
        println!("{}", json!({ "findings": findings }));
    } else {
        for finding in &findings {
            println!("{} {}", if finding.ok { "✓" } else { "✗" }, finding.what);
            if let Some(fix) = &finding.fix {
                println!("    fix: {fix}");
            }
        }
    }
    Ok(if findings.iter().all(|finding| finding.ok) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn config(places: &Places) -> Finding {
    let path = places.config.display();
    match Config::load(places) {
        Ok(_) if places.config.exists() => good(format!("configuration: {path}")),
        Ok(_) => good(format!("configuration: none at {path}, the defaults hold")),
        Err(error) => fault(format!("configuration: {error:#}"), format!("mend {path}, or move it away")),
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
            good(String::from_utf8_lossy(&output.stdout).trim().replacen("version", "is", 1))
        }
        _ => fault("git is not found, so branches are not shown", "install git"),
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
            return vec![offline_log(places), fault("no hub is running", "longshore up")];
        }
        Err(error) => {
            return vec![fault(format!("the hub: {error:#}"), "longshore token prints the right token")];
        }
    };
    let mut findings = vec![match Running::read(places) {
        Some(running) if running.version != env!("CARGO_PKG_VERSION") => fault(
            format!("the hub runs version {}, this is {}", running.version, env!("CARGO_PKG_VERSION")),
            "longshore down, then longshore up",
        ),
        Some(running) => good(format!("the hub is up at {}", running.url)),
        None => good("a hub is up"),
    }];
    match client.call::<Known>("agents", json!({})).await {
        Ok(known) => findings.extend(known.agents.iter().map(agent)),
        Err(error) => {
            findings.push(fault(format!("the agents: {error:#}"), "longshore down, then longshore up"))
        }
    }
    findings
}

/// The log can only be opened while no hub holds it.
fn offline_log(places: &Places) -> Finding {
    if !places.data.exists() {
        return good("log: none yet");
    }
    match longshore_log::SqliteLog::open(&places.data, &longshore_log::Settings::default()) {
        Ok(_) => good("log: opens"),
        Err(error) => fault(format!("log: {error}"), "as it says"),
    }
}

fn agent(agent: &AgentInfo) -> Finding {
    let title = &agent.title;
    match (&agent.path, &agent.remark) {
        (None, _) => fault(format!("{title} is not installed"), agent.install.clone()),
        (Some(path), None) => {
            let version = agent.version.as_deref().unwrap_or("of unknown version");
            good(format!("{title} {version}: {path}"))
        }
        (Some(_), Some(remark)) => {
            let fix = agent.login.clone().unwrap_or_else(|| "see its own documentation".to_owned());
            fault(format!("{title}: {remark}"), fix)
        }
    }
}

//! `longshore agents`: every known agent, found or not.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use longshore_model::capability::AgentInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reach;
use super::terminal::{now, put, put_line, style};
use super::verified::{self, AllVerified, is_about_version};
use crate::config::Places;
use crate::render::{Show, agents_table, agents_tsv};

pub(super) async fn run(as_json: bool) -> Result<ExitCode> {
    #[derive(Deserialize)]
    struct Known {
        agents: Vec<AgentInfo>,
    }
    let mut client = reach::hub().await?;
    // What was verified here says nothing of the agents of another machine.
    let elsewhere = reach::named_url().is_some();
    let verified = if elsewhere { AllVerified::new() } else { verified::read(&Places::find()?) };
    if as_json {
        let mut known: Value = client.call("agents", json!({})).await?;
        for agent in known["agents"].as_array_mut().into_iter().flatten() {
            if let Some(found) = agent["name"].as_str().and_then(|name| verified.get(name)) {
                agent["verified"] = json!(found);
            }
        }
        put_line(&known)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Known { mut agents } = client.call("agents", json!({})).await?;
    let standings = match elsewhere {
        true => BTreeMap::new(),
        false => verified::standings(&agents, &verified, now()),
    };
    // Who has verified a version knows more than that it is new, and who has not is told so below.
    for agent in agents.iter_mut().filter(|agent| standings.contains_key(&*agent.name)) {
        agent.remark = agent.remark.take().filter(|remark| !is_about_version(remark));
    }
    match std::io::stdout().is_terminal() {
        true => put(agents_table(&agents, &standings, &style(Show::Hidden)))?,
        false => put(agents_tsv(&agents, &standings))?,
    }
    Ok(ExitCode::SUCCESS)
}

//! `longshore agents`: every known agent, found or not.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use longshore_facades::native::answers::Agents;
use serde_json::{Value, json};

use super::connect;
use super::terminal::{now, put, put_line, style};
use super::verified::{self, is_about_version};
use crate::render::{Show, agents_table, agents_tsv};

pub(super) async fn run(as_json: bool) -> Result<ExitCode> {
    let mut client = connect::hub().await?;
    if as_json {
        put_line(client.call::<Value>("agents", json!({})).await?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Agents { mut agents } = client.call("agents", json!({})).await?;
    let mut standings = verified::standings(&agents, now());
    if connect::named_url().is_some() {
        // What nobody has verified elsewhere cannot be verified from here.
        let verified =
            |name: &str| agents.iter().any(|agent| &*agent.name == name && agent.verified.is_some());
        standings.retain(|name, _| verified(name));
    }
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

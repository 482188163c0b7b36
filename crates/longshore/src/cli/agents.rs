//! `longshore agents`: every known agent, found or not.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use longshore_model::capability::AgentInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::reach;
use super::terminal::{put, put_line, style};
use crate::render::{Show, agents_table, agents_tsv};

pub(super) async fn run(as_json: bool) -> Result<ExitCode> {
    #[derive(Deserialize)]
    struct Known {
        agents: Vec<AgentInfo>,
    }
    let mut client = reach::hub().await?;
    if as_json {
        let known: Value = client.call("agents", json!({})).await?;
        put_line(&known)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Known { agents } = client.call("agents", json!({})).await?;
    match std::io::stdout().is_terminal() {
        true => put(agents_table(&agents, &style(Show::Hidden)))?,
        false => put(agents_tsv(&agents))?,
    }
    Ok(ExitCode::SUCCESS)
}

//! `longshore usage`: tokens and cost, by day, agent or project.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use longshore_model::usage::DayUsage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect;
use super::terminal::{put, put_line, style};
use crate::render::{Show, usage_table, usage_tsv};

/// Show tokens and cost of the latest days.
#[derive(Debug, Args)]
pub(super) struct UsageArgs {
    /// The number of days
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    days: u32,
    /// How to group the figures
    #[arg(long, value_enum, default_value = "day")]
    by: By,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    Day,
    Agent,
    Project,
}

#[derive(Deserialize)]
struct UsageReply {
    days: Vec<DayUsage>,
}

impl UsageArgs {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let query = json!({ "days": self.days });
        if as_json {
            let known: Value = client.call("usage", query).await?;
            put_line(&known)?;
            return Ok(ExitCode::SUCCESS);
        }
        let UsageReply { days } = client.call("usage", query).await?;
        let named = |day: &DayUsage| match self.by {
            By::Day => day.day.clone(),
            By::Agent => day.agent.clone(),
            By::Project => day.project.clone().unwrap_or_default(),
        };
        match std::io::stdout().is_terminal() {
            true => put(usage_table(&days, named, &style(Show::Hidden)))?,
            false => put(usage_tsv(&days, named))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

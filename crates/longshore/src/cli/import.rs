//! `longshore import`: a session from a file that `export` wrote, on this or another machine.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::reach;
use super::terminal::put_line;

/// How many events are handed over at once.
const AT_ONCE: usize = 500;
/// And how many bytes of them.
const BYTES_AT_ONCE: usize = 4 << 20;

/// Read a session from a file that `export` wrote.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file; `-` is stdin
    file: PathBuf,
}

impl Import {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let text = match self.file.to_str() {
            Some("-") => std::io::read_to_string(std::io::stdin())?,
            _ => std::fs::read_to_string(&self.file)
                .with_context(|| format!("cannot read {}", self.file.display()))?,
        };
        let mut lines = text.lines();
        let head: Value = lines.next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        if head["longshore"] != 1 {
            bail!("this is no export of longshore: its first line should be {{\"longshore\":1,...}}");
        }
        let session = head["session"]["sessionId"].as_str().unwrap_or_default();
        let mut client = reach::hub_or_start().await?;
        let (mut count, mut taken) = (0, Value::Null);
        let mut part: Vec<Box<RawValue>> = Vec::new();
        let mut bytes = 0;
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            count += 1;
            bytes += line.len();
            part.push(
                RawValue::from_string(line.to_owned())
                    .with_context(|| format!("line {} is no JSON", count + 1))?,
            );
            if part.len() >= AT_ONCE || bytes >= BYTES_AT_ONCE || lines.peek().is_none() {
                taken = client.call("import", json!({ "events": std::mem::take(&mut part) })).await?;
                bytes = 0;
            }
        }
        match as_json {
            true => put_line(&taken)?,
            false => put_line(format_args!(
                "{count} events taken in; look at them with: longshore show {session}"
            ))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

//! `longshore import`: a session from a file that `export` wrote, on this or another machine; or all that was said to
//! agents elsewhere, from their own records.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::reach;
use super::terminal::{put_line, say};
use crate::render::clean::clean;

/// How many events are handed over at once.
const AT_ONCE: usize = 500;
/// And how many bytes of them.
const BYTES_AT_ONCE: usize = 4 << 20;

/// Take in what `export` wrote; without a file, look for past conversations.
///
/// Without a file it looks for conversations that were held in the agents' own terminals. A hub that is up does so by
/// itself every few seconds, unless `watch_past = false`.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file; `-` is stdin; past conversations are looked for when it is left out
    file: Option<PathBuf>,
    /// The folder in which the session goes on here; that of the file, if sessions of this hub have been there
    #[arg(long, value_name = "DIR", requires = "file")]
    cwd: Option<PathBuf>,
}

impl Import {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let Some(file) = self.file else { return look_for_past(as_json).await };
        let text = match file.to_str() {
            Some("-") => std::io::read_to_string(std::io::stdin())?,
            _ => std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?,
        };
        let mut lines = text.lines();
        let head: Value = lines.next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        if head["longshore"] != 1 {
            bail!("this is no export of longshore: its first line should be {{\"longshore\":1,...}}");
        }
        let session = head["session"]["sessionId"].as_str().unwrap_or_default();
        let cwd = self
            .cwd
            .map(|cwd| cwd.canonicalize().with_context(|| format!("there is no folder {}", cwd.display())));
        let cwd = cwd.transpose()?;
        let mut client = reach::hub().await?;
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
            let done = lines.peek().is_none();
            if part.len() >= AT_ONCE || bytes >= BYTES_AT_ONCE || done {
                let events = std::mem::take(&mut part);
                taken = client.call("import", json!({ "events": events, "cwd": cwd, "done": done })).await?;
                bytes = 0;
            }
        }
        match as_json {
            true => put_line(&taken)?,
            false => say(format_args!(
                "{count} events taken in, to go on in mode ask; look at them with `longshore show {}`",
                clean(session)
            ))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Looks for conversations in the agents' own records, now.
async fn look_for_past(as_json: bool) -> Result<ExitCode> {
    #[derive(Deserialize)]
    struct Looked {
        found: u64,
        new: u64,
        unread: u64,
    }
    let mut client = reach::hub().await?;
    let looked: Value = client.call("importPast", json!({})).await?;
    if as_json {
        put_line(&looked)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Looked { found, new, unread } = serde_json::from_value(looked)?;
    let reading = match unread {
        0 => String::new(),
        some => format!("; {some} are still being read"),
    };
    say(format_args!("past conversations: {found} found, {new} of them new{reading}"))?;
    if found > 0 {
        say("list them with `longshore ls`")?;
    }
    Ok(ExitCode::SUCCESS)
}

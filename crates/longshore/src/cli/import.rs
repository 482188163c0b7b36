//! `longshore import`: imports a file that `export` wrote; or imports conversations from the agents' own
//! records.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::connect;
use super::terminal::{put_line, say};
use crate::render::clean::clean;

/// The longest first line of an export: the session, without its events.
const HEAD_BYTES: u64 = 1 << 20;
/// How many events are handed over at once.
const AT_ONCE: usize = 500;
/// And how many bytes of them.
const BYTES_AT_ONCE: usize = 4 << 20;

/// Import a file that `export` wrote; without a file, look for past conversations.
///
/// Without a file, the hub looks for conversations from the agents' own terminals. A running hub does so every few seconds
/// by itself, unless `watch_past = false`.
#[derive(Debug, Args)]
pub(super) struct Import {
    /// The file; `-` is stdin. Without a file, the hub looks for past conversations
    file: Option<PathBuf>,
    /// The folder in which the session continues here. Without it: the folder that the file names, if this hub has had sessions there
    #[arg(long, value_name = "DIR", requires = "file")]
    cwd: Option<PathBuf>,
}

impl Import {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let Some(file) = self.file else { return look_for_past(as_json).await };
        let unreadable = || format!("cannot read {}", file.display());
        let mut from: Box<dyn BufRead> = match file.to_str() {
            Some("-") => Box::new(std::io::stdin().lock()),
            _ => Box::new(BufReader::new(File::open(&file).with_context(unreadable)?)),
        };
        // Only an export is read as a whole; another file may have no end.
        let mut head = String::new();
        let first = from.by_ref().take(HEAD_BYTES).read_line(&mut head);
        let head: Value = first.ok().and_then(|_| serde_json::from_str(&head).ok()).unwrap_or_default();
        if head["longshore"] != 1 {
            bail!(
                "this file is not an export of Longshore: its first line must be {{\"longshore\":1,...}}; make one with `longshore export`"
            );
        }
        let session = head["session"]["sessionId"].as_str().unwrap_or_default();
        let cwd = self.cwd.map(|cwd| {
            cwd.canonicalize().with_context(|| {
                format!("the folder {} does not exist; name another one with `--cwd`", cwd.display())
            })
        });
        let cwd = cwd.transpose()?;
        let mut client = connect::hub().await?;
        let (mut count, mut taken) = (0, Value::Null);
        let mut part: Vec<Box<RawValue>> = Vec::new();
        let mut bytes = 0;
        let mut lines = from.lines().peekable();
        while let Some(line) = lines.next() {
            let line = line.with_context(unreadable)?;
            count += 1;
            bytes += line.len();
            part.push(
                RawValue::from_string(line)
                    .with_context(|| format!("line {} is not JSON; export the session again", count + 1))?,
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
                "imported {count} events; the session continues in mode ask; see it with `longshore show {}`",
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
    let mut client = connect::hub().await?;
    let looked: Value = client.call("importPast", json!({})).await?;
    if as_json {
        put_line(&looked)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Looked { found, new, unread } = serde_json::from_value(looked)?;
    let reading = match unread {
        0 => String::new(),
        some => format!("; the hub still reads {some}"),
    };
    say(format_args!("past conversations: {found} found, {new} of them new{reading}"))?;
    if found > 0 {
        say("list them with `longshore ls`")?;
    }
    Ok(ExitCode::SUCCESS)
}

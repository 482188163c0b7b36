//! `longshore record`: runs an agent's program between us and whoever drives it, and writes down its wire.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use clap::Args;
use longshore_drivers::capture::{Direction, Entry, heading};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::time::Instant;

/// Run an agent's program and write down its wire. Stdin and stdout pass through, so that it can stand in for the
/// program itself.
#[derive(Debug, Args)]
#[command(
    after_help = "Stdin and stdout pass through, so that it can stand in for the program itself:\n  longshore record -o hello.jsonl -- codex app-server"
)]
pub(super) struct Record {
    /// The capture to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The driver whose wire this is
    #[arg(long, default_value = "codex")]
    driver: String,
    /// What is being tried, in a word
    #[arg(long, default_value = "recorded")]
    scenario: String,
    /// The program and its arguments
    #[arg(required = true, last = true)]
    command: Vec<String>,
}

/// The capture as it is written: one line per thing that happened.
#[derive(Clone)]
struct Tape {
    file: Arc<Mutex<std::fs::File>>,
    began: Instant,
}

impl Tape {
    fn write(&self, line: &str) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(writeln!(file, "{line}")?)
    }

    /// What was said, to the letter.
    fn note(&self, dir: Direction, said: &str) -> Result<()> {
        let t = (self.began.elapsed().as_secs_f64() * 10_000.0).round() / 10_000.0;
        self.write(&Entry::said(t, dir, said).to_line())
    }
}

impl Record {
    pub(super) async fn run(self) -> Result<ExitCode> {
        // A wire can hold secrets, so that the file is for its owner alone.
        let file = std::fs::OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(&self.output)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        let tape = Tape { file: Arc::new(Mutex::new(file)), began: Instant::now() };
        let (program, args) = self.command.split_first().context("name the program to run")?;
        tape.write(&heading(&self.driver, program, &self.scenario))?;
        tape.note(Direction::Spawn, &json!({ "spawn": self.command }).to_string())?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {program}"))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            anyhow::bail!("{program} has no pipes");
        };
        // What is typed ends with the program, not the other way round.
        let typed =
            tokio::spawn(pass(BufReader::new(tokio::io::stdin()), stdin, Direction::ToAgent, tape.clone()));
        let (said, cried) = tokio::join!(
            pass(BufReader::new(stdout), tokio::io::stdout(), Direction::FromAgent, tape.clone()),
            pass(BufReader::new(stderr), tokio::io::stderr(), Direction::Stderr, tape.clone()),
        );
        said?;
        cried?;
        let status = child.wait().await?;
        typed.abort();
        tape.note(Direction::Exit, &json!({ "code": status.code() }).to_string())?;
        Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
    }
}

/// Copies lines as they are, and writes each down: as JSON when it is JSON, otherwise as text.
async fn pass<R, W>(mut from: BufReader<R>, mut to: W, dir: Direction, tape: Tape) -> Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).await? > 0 {
        let text = String::from_utf8_lossy(&line);
        tape.note(dir, text.trim_end_matches(['\n', '\r']))?;
        to.write_all(&line).await?;
        to.flush().await?;
        line.clear();
    }
    Ok(())
}

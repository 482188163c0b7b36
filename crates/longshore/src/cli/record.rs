//! `longshore record`: records the wire of an agent that plays a scenario, or of a program that another
//! program drives through this one.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};
use clap::Args;
use longshore_drivers::capture::{CaptureEntry, Direction, Tape, heading};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::Command;

use super::exit::{Fault, INTERRUPTED};
use super::private;
use super::terminal::put_line;
use super::up::asked_to_stop;
use super::verify::{find, named};
use crate::scenario::StagedAgent;

/// Record the messages between Longshore and an agent in a scenario, or to and from a program.
#[derive(Debug, Args)]
#[command(override_usage = "longshore record [-o FILE] AGENT SCENARIO\n       \
    longshore record -o FILE [--driver NAME] [--scenario WORD] -- PROGRAM [ARGUMENTS]...")]
#[command(after_help = "In a scenario, the agent runs on a scripted model and needs no account:\n  \
    longshore record codex edit\n\
    With a program after --, stdin and stdout pass through. So you can start this command in place of the program:\n  \
    longshore record -o hello.jsonl -- codex app-server")]
pub(super) struct Record {
    /// The agent, as `longshore agents` names it
    #[arg(conflicts_with = "command", requires = "played")]
    agent: Option<String>,
    /// The scenario, as `longshore verify` names it
    #[arg(value_name = "SCENARIO")]
    played: Option<String>,
    /// The file to write; for a scenario, the default is AGENT-SCENARIO.jsonl
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// With a program: the driver that reads its messages
    #[arg(long, default_value = "codex")]
    driver: String,
    /// With a program: one word that names what you record
    #[arg(long, default_value = "recorded")]
    scenario: String,
    /// The program and its arguments
    #[arg(last = true)]
    command: Vec<String>,
}

/// A wire can hold secrets, so that the file is for its owner alone.
fn create(path: &Path) -> Result<File> {
    private::create(path).with_context(|| format!("cannot write {}", path.display()))
}

impl Record {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        match (&self.agent, &self.played) {
            (Some(agent), Some(played)) => tokio::select! {
                done = self.play(agent, played, as_json) => done,
                () = asked_to_stop()? => Ok(ExitCode::from(INTERRUPTED)),
            },
            (_, _) => self.stand_between().await,
        }
    }

    /// Has the agent play a scenario, and keeps the wire even when it does not get to the end.
    async fn play(&self, agent: &str, scenario: &str, as_json: bool) -> Result<ExitCode> {
        let scenario = named(scenario)?;
        let (found, below) = find(agent).await?;
        if let Some(why) = found.why_not(scenario) {
            let what = format!("the scenario `{}` cannot run with {agent}: {why}", scenario.name);
            let hint = format!(
                "start `longshore model`, set it as the agent's model, and run the agent through `longshore record -o FILE --driver {} -- PROGRAM`",
                found.agent.driver_name()
            );
            return Err(Fault::usage(what, hint).into());
        }
        let path = self.output.clone();
        let path = path.unwrap_or_else(|| PathBuf::from(format!("{agent}-{}.jsonl", scenario.name)));
        let file = create(&path)?;
        let mut staged = StagedAgent::new(&found, &below);
        let played = staged.play(scenario).await?;
        let capture = staged.capture(scenario, played.version.as_deref()).await;
        drop(std::fs::remove_dir(&below));
        capture.write(std::io::BufWriter::new(file))?;
        let lines = capture.entries.len();
        match as_json {
            true => put_line(
                json!({ "capture": path, "agent": capture.agent, "lines": lines, "fault": played.fault }),
            )?,
            false => put_line(format_args!(
                "{}: {} in `{}`, {lines} lines",
                path.display(),
                capture.agent,
                scenario.name
            ))?,
        }
        match played.fault {
            None => Ok(ExitCode::SUCCESS),
            Some(fault) => Err(anyhow::anyhow!("the scenario did not run to its end: {fault}")),
        }
    }

    async fn stand_between(self) -> Result<ExitCode> {
        let hint = "use `longshore record AGENT SCENARIO` or `longshore record -o FILE -- PROGRAM`";
        let nobody = || Fault::usage("no agent and no program is named", hint);
        let (program, args) = self.command.split_first().ok_or_else(nobody)?;
        let nowhere = || Fault::usage("no file is named for the recording", hint);
        let mut file = create(self.output.as_deref().ok_or_else(nowhere)?)?;
        writeln!(file, "{}", heading(&self.driver, program, &self.scenario))?;
        let tape = Tape::new(move |entry: CaptureEntry| {
            if let Err(error) = writeln!(file, "{}", entry.to_line()) {
                tracing::warn!(%error, "cannot write to the recording");
            }
        });
        tape.note(Direction::Spawn, &json!({ "spawn": self.command }).to_string());
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
        tape.note(Direction::Exit, &json!({ "code": status.code() }).to_string());
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
        tape.note(dir, text.trim_end_matches(['\n', '\r']));
        to.write_all(&line).await?;
        to.flush().await?;
        line.clear();
    }
    Ok(())
}

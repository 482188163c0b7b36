//! `shell`: a command that runs until it ends, in its own process group, with live output.

use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

use longshore_model::host_io::Exit;
use longshore_model::item::{ToolOutcome, ToolStatus};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::bound::{BoundedOutput, Decoder, WHOLE_LIMIT};
use super::command::{CommandSetting, Script, Surroundings, explain};
use super::{Progress, ToolResult};
use longshore_drivers::host_io::terminals::exit_of;
use longshore_drivers::leash::{self, Group, Mark};

/// How long a command may run by default.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);
/// How long a command may run at most.
pub(super) const LONGEST: Duration = Duration::from_secs(3600);
/// How many bytes of output may wait for the machine. Beyond that, the command waits.
const UNHEARD_LIMIT: usize = 256 * 1024;
/// How long to wait for the last output of a command that ended while another process holds its pipe.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(200);

/// The arguments of the model.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ShellArguments {
    pub(super) command: Script,
    #[serde(default, alias = "workdir")]
    pub(super) cwd: Option<String>,
    #[serde(default, alias = "timeout")]
    pub(super) timeout_ms: Option<u64>,
    /// Whether the command runs outside of the sandbox.
    #[serde(default, alias = "with_escalated_permissions")]
    pub(super) escalate: bool,
    /// Why the command needs this.
    #[serde(default, alias = "justification")]
    pub(super) reason: Option<String>,
}

/// A command with its setting and its timeout.
#[derive(Clone, Debug)]
pub(super) struct ShellRun {
    pub(super) script: Script,
    pub(super) setting: CommandSetting,
    pub(super) timeout: Duration,
}

enum End {
    Exited(Exit),
    TimedOut,
    Cancelled,
}

/// Runs a command until it ends.
pub(super) async fn run(
    run: ShellRun,
    surroundings: &Surroundings,
    progress: mpsc::Sender<Progress>,
    cancel: CancellationToken,
) -> ToolResult {
    let began = Instant::now();
    let (group, pipe) = match start(&run, surroundings) {
        Ok(started) => started,
        Err(error) => return ToolResult::failed(explain(&run.script, &error)),
    };
    let mut printed = BoundedOutput::new(WHOLE_LIMIT);
    let mut group = group;
    let end = hear(&mut group, pipe, &mut printed, progress, run.timeout, cancel).await;
    result(&run, end, printed, group.left_behind(), began.elapsed())
}

/// Starts a command. Both outputs go into one pipe, so they stay in order.
fn start(run: &ShellRun, surroundings: &Surroundings) -> io::Result<(Group, pipe::Receiver)> {
    let (reader, writer) = io::pipe()?;
    let mark = Mark::of_this_process().under();
    let mut process = run.script.process(&run.setting, surroundings, &mark)?;
    process.process_group(0).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    // The closure drops the command with the agent's copies of the pipe's writing end. Only the child may hold this
    // end.
    let (child, holder) = leash::hold(move || process.spawn())?;
    Ok((Group::new(child, mark, holder)?, pipe::Receiver::from_owned_fd(reader.into())?))
}

async fn hear(
    group: &mut Group,
    mut pipe: pipe::Receiver,
    printed: &mut BoundedOutput,
    progress: mpsc::Sender<Progress>,
    timeout: Duration,
    cancel: CancellationToken,
) -> End {
    let deadline = tokio::time::Instant::now() + timeout;
    let (mut chunk, mut decoder) = (vec![0; 16 * 1024], Decoder::default());
    let (mut unheard, mut open, mut listening) = (String::new(), true, true);
    let end = loop {
        tokio::select! {
            read = pipe.read(&mut chunk), if open && unheard.len() < UNHEARD_LIMIT => {
                let text = take(&mut decoder, &chunk, read, &mut open);
                printed.push(&text);
                if listening {
                    unheard.push_str(&text);
                }
            }
            place = progress.reserve(), if !unheard.is_empty() => match place {
                Ok(place) => place.send(Progress::Output(std::mem::take(&mut unheard))),
                // The receiver is gone. The result contains the whole output anyway.
                Err(_) => {
                    listening = false;
                    unheard.clear();
                }
            },
            status = group.ended() => break End::Exited(exit_of(status)),
            () = cancel.cancelled() => break End::Cancelled,
            () = tokio::time::sleep_until(deadline) => break End::TimedOut,
        }
    };
    match &end {
        // The group has ended. A process that left it may still hold the pipe; the wait for it is bounded.
        End::Exited(_) => {}
        // A stop also ends all processes that the command started, even if they left the group.
        End::TimedOut | End::Cancelled => group.end(),
    }
    let rest = async {
        while open {
            let read = pipe.read(&mut chunk).await;
            let text = take(&mut decoder, &chunk, read, &mut open);
            printed.push(&text);
            unheard.push_str(&text);
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS_WITHIN, rest).await;
    if listening && !unheard.is_empty() {
        // This fails if the receiver is gone.
        let _ = progress.send(Progress::Output(unheard)).await;
    }
    end
}

fn take(decoder: &mut Decoder, chunk: &[u8], read: io::Result<usize>, open: &mut bool) -> String {
    let bytes = read.ok().and_then(|count| chunk.get(..count)).unwrap_or_default();
    if bytes.is_empty() {
        *open = false;
        return decoder.finish();
    }
    decoder.decode(bytes)
}

fn result(
    run: &ShellRun,
    end: End,
    mut printed: BoundedOutput,
    left: &[String],
    took: Duration,
) -> ToolResult {
    let (status, exit_code, remark) = match end {
        End::Exited(Exit { code: Some(0), .. }) => (ToolStatus::Completed, Some(0), None),
        End::Exited(Exit { code: Some(code), .. }) => {
            (ToolStatus::Failed, Some(i64::from(code)), Some(format!("[exit code {code}]")))
        }
        End::Exited(Exit { code: None, signal }) => {
            let signal = signal.unwrap_or_else(|| "an unknown signal".to_owned());
            (ToolStatus::Failed, None, Some(format!("[ended by {signal}]")))
        }
        End::TimedOut => {
            let limit = run.timeout.as_millis();
            let remark = format!(
                "[stopped after {limit} ms; give a longer timeout_ms, or run it with unified_exec, where it can go on]"
            );
            (ToolStatus::Failed, None, Some(remark))
        }
        End::Cancelled => (ToolStatus::Cancelled, None, Some("[stopped by a person]".to_owned())),
    };
    let sandbox = run.setting.sandbox.as_ref().filter(|_| status != ToolStatus::Cancelled);
    let explained =
        sandbox.and_then(|sandbox| sandbox.explain(&run.script.line(), exit_code, &printed.text()));
    let ended = (!left.is_empty()).then(|| {
        format!(
            "[the command left {} running in the background, which ended with the call; use unified_exec for a process that should continue]",
            left.join(", ")
        )
    });
    let made = run.setting.unmade.iter().flat_map(|unmade| unmade.undo());
    let made = made.map(|path| {
        format!(
            "[sandbox] The command created {}, which can make git run programs. The agent removed it.",
            path.display()
        )
    });
    for line in remark.into_iter().chain(ended).chain(explained).chain(made) {
        printed.remark(&line);
    }
    if printed.is_empty() {
        printed.remark("[no output]");
    }
    let duration_ms = Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    ToolResult {
        outcome: ToolOutcome { exit_code, duration_ms, ..ToolOutcome::of(status) },
        ..ToolResult::printed(status, &printed)
    }
}

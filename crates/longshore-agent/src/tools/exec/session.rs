//! One command in its own terminal.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longshore_model::host_io::Exit;
use pty_process::{OwnedReadPty, OwnedWritePty, Size};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use super::Patience;
use crate::sandbox::Sandbox;
use crate::tools::Progress;
use crate::tools::bound::{BoundedOutput, Decoder, floor};
use crate::tools::command::{CommandSetting, Script, Surroundings};
use longshore_drivers::host_io::terminals::exit_of;
use longshore_drivers::leash::{self, Group, Mark};

/// How many bytes of unread output are kept: beginning and end.
const UNREAD_LIMIT: usize = 1024 * 1024;
/// How long to wait for the last output of a command that ended while another process holds its terminal.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(200);
/// The size of the terminal, in lines and columns.
const SIZE: (u16, u16) = (40, 120);

/// A command in a terminal. Dropping it ends the command.
#[derive(Debug)]
pub(super) struct TerminalSession {
    pub(super) name: String,
    /// The command, as a person would type it.
    pub(super) line: String,
    pub(super) sandbox: Option<Sandbox>,
    writer: tokio::sync::Mutex<OwnedWritePty>,
    shared: Arc<SharedTerminal>,
    task: AbortHandle,
}

#[derive(Debug)]
struct SharedTerminal {
    said: Mutex<UnreadOutput>,
    /// Counts the reads of output, and the end of the command.
    changed: watch::Sender<u64>,
    kill: Notify,
    killed: AtomicBool,
}

#[derive(Debug)]
struct UnreadOutput {
    unread: BoundedOutput,
    ended: Option<Exit>,
    /// The programs that the command left running, which ended with it.
    left: Vec<String>,
}

impl SharedTerminal {
    fn said(&self) -> MutexGuard<'_, UnreadOutput> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TerminalSession {
    pub(super) fn start(
        name: String,
        script: &Script,
        setting: CommandSetting,
        surroundings: &Surroundings,
    ) -> io::Result<Self> {
        let other = |error: pty_process::Error| match error {
            pty_process::Error::Io(error) => error,
            error => io::Error::other(error),
        };
        let (pty, pts) = pty_process::open().map_err(other)?;
        // Lines end with one character, as in pipes.
        let mut modes = rustix::termios::tcgetattr(&pts)?;
        modes.output_modes.remove(rustix::termios::OutputModes::ONLCR);
        rustix::termios::tcsetattr(&pts, rustix::termios::OptionalActions::Now, &modes)?;
        pty.resize(Size::new(SIZE.0, SIZE.1)).map_err(other)?;
        let mark = Mark::of_this_process().under();
        let process = pty_process::Command::from(script.process(&setting, surroundings, &mark)?);
        let (child, holder) = leash::hold(move || process.spawn(pts).map_err(other))?;
        // The leader of a session is also the leader of its first process group.
        let group = Group::new(child, mark, holder)?;
        let (reader, writer) = pty.into_split();
        let shared = Arc::new(SharedTerminal {
            said: Mutex::new(UnreadOutput {
                unread: BoundedOutput::new(UNREAD_LIMIT),
                ended: None,
                left: Vec::new(),
            }),
            changed: watch::Sender::new(0),
            kill: Notify::new(),
            killed: AtomicBool::new(false),
        });
        let (unmade, holding) = (setting.unmade, hold(group, reader, Arc::clone(&shared)));
        let task = tokio::spawn(async move {
            holding.await;
            drop(unmade);
        });
        let writer = tokio::sync::Mutex::new(writer);
        let (line, sandbox) = (script.line(), setting.sandbox);
        Ok(Self { name, line, sandbox, writer, shared, task: task.abort_handle() })
    }

    /// Types something into the terminal.
    pub(super) async fn write(&self, input: &str, cancel: &CancellationToken) -> io::Result<()> {
        if self.has_ended() {
            return Err(io::Error::other("it has ended"));
        }
        let mut writer = self.writer.lock().await;
        tokio::select! {
            // A terminal is full if its program does not read.
            written = writer.write_all(input.as_bytes()) => written,
            () = cancel.cancelled() => Err(io::Error::other("stopped by a person")),
        }
    }

    pub(super) fn kill(&self) {
        self.shared.killed.store(true, Ordering::Relaxed);
        self.shared.kill.notify_one();
    }

    pub(super) fn was_killed(&self) -> bool {
        self.shared.killed.load(Ordering::Relaxed)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.shared.said().ended.is_some()
    }

    /// The programs that the command left running in the background when it ended by itself.
    pub(super) fn left_behind(&self) -> Vec<String> {
        if self.was_killed() { Vec::new() } else { self.shared.said().left.clone() }
    }

    /// Adds the output since the last call to `printed`. Returns how the command ended, if it has. Waits as `patience`
    /// says.
    pub(super) async fn hear(
        &self,
        printed: &mut BoundedOutput,
        patience: &Patience,
        progress: &mpsc::Sender<Progress>,
        cancel: &CancellationToken,
    ) -> Option<Exit> {
        let deadline = tokio::time::Instant::now() + patience.time();
        let mut changed = self.shared.changed.subscribe();
        let mut heard = String::new();
        loop {
            let (unread, ended) = {
                let mut said = self.shared.said();
                let unread = std::mem::replace(&mut said.unread, BoundedOutput::new(UNREAD_LIMIT));
                (unread, said.ended.clone())
            };
            if !unread.is_empty() {
                printed.append(&unread);
                let text = unread.text();
                let found = patience.until.as_ref().is_some_and(|until| {
                    // The text may begin in earlier output, so as much of it stays as is necessary.
                    let kept = heard.len().saturating_sub(until.len());
                    heard.drain(..floor(&heard, kept));
                    heard.push_str(&text);
                    heard.contains(until.as_str())
                });
                // This fails if the receiver is gone. The result contains the whole output anyway.
                let _ = progress.send(Progress::Output(text)).await;
                if found {
                    return ended;
                }
            }
            if ended.is_some() {
                return ended;
            }
            tokio::select! {
                // The sender lives as long as this session, so the wait cannot fail.
                _ = changed.changed() => {}
                () = cancel.cancelled() => return None,
                () = tokio::time::sleep_until(deadline) => return None,
            }
        }
    }
}

impl Drop for TerminalSession {
    fn drop(&mut self) {
        // The task drops the group, which kills its processes.
        self.task.abort();
    }
}

async fn hold(mut group: Group, mut pty: OwnedReadPty, shared: Arc<SharedTerminal>) {
    let (mut chunk, mut decoder, mut open) = (vec![0; 16 * 1024], Decoder::default(), true);
    let status = loop {
        tokio::select! {
            read = pty.read(&mut chunk), if open => open = take(&shared, &mut decoder, &chunk, read),
            () = shared.kill.notified() => group.end(),
            status = group.ended() => break status,
        }
    };
    let rest = async {
        while open {
            let read = pty.read(&mut chunk).await;
            open = take(&shared, &mut decoder, &chunk, read);
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS_WITHIN, rest).await;
    {
        let mut said = shared.said();
        said.left = group.left_behind().to_vec();
        said.ended = Some(exit_of(status));
    }
    shared.changed.send_modify(|count| *count += 1);
}

/// Keeps the output of a read. Returns whether more may follow: reading fails when no process holds the terminal any
/// more.
fn take(shared: &SharedTerminal, decoder: &mut Decoder, chunk: &[u8], read: io::Result<usize>) -> bool {
    let bytes = read.ok().and_then(|count| chunk.get(..count)).unwrap_or_default();
    let text = if bytes.is_empty() { decoder.finish() } else { decoder.decode(bytes) };
    shared.said().unread.push(&text);
    shared.changed.send_modify(|count| *count += 1);
    !bytes.is_empty()
}

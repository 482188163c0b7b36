//! Terminals: commands that run for an agent, each in its own process group.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longshore_model::host_io::{Exit, HostFault, HostReply};
use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::{OUTPUT_LIMIT, files};
use crate::leash::{self, Group, Mark};
use crate::transport::spawn::is_private;

/// How long to wait for the last output of a command that has ended, if another process holds its pipe.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(200);

/// The command to run.
#[derive(Debug)]
pub(super) struct Command {
    /// A program, or a line for the shell if there are no arguments.
    pub line: String,
    pub arguments: Vec<String>,
    pub env: Vec<(String, String)>,
    pub cwd: Option<String>,
    pub keep: Option<u64>,
}

/// A command that runs or has ended. If it is dropped, it ends.
#[derive(Debug)]
pub(super) struct Terminal {
    printed: Arc<Mutex<Tail>>,
    ended: watch::Receiver<Option<Exit>>,
    kill: Arc<Notify>,
    task: AbortHandle,
}

impl Terminal {
    /// Runs a command.
    pub(super) fn open(root: &Path, command: Command, mark: Mark) -> Result<Self, HostFault> {
        let cwd = files::resolve(root, command.cwd.as_deref().unwrap_or("."))?;
        let keep = command.keep.and_then(|keep| usize::try_from(keep).ok()).unwrap_or(OUTPUT_LIMIT);
        let failed = |error: io::Error| HostFault::Failed(format!("{}: {error}", command.line));
        let (group, pipe) = start(&command, cwd, mark).map_err(failed)?;
        let printed = Arc::new(Mutex::new(Tail::new(keep.min(OUTPUT_LIMIT))));
        let kill = Arc::new(Notify::new());
        let (tell, ended) = watch::channel(None);
        let task = tokio::spawn(run(group, pipe, Arc::clone(&printed), Arc::clone(&kill), tell));
        Ok(Self { printed, ended, kill, task: task.abort_handle() })
    }

    /// The output so far, and how the command ended, if it has.
    pub(super) fn output(&self) -> HostReply {
        let exit = self.ended.borrow().clone();
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        HostReply::Output { text: printed.text(), truncated: printed.truncated, exit }
    }

    /// Waits until the command has ended.
    pub(super) async fn ended(&self) -> Result<Exit, HostFault> {
        let mut ended = self.ended.clone();
        let exit = ended.wait_for(Option::is_some).await.ok().and_then(|exit| exit.clone());
        exit.ok_or_else(|| HostFault::Failed("the command was given up".to_owned()))
    }

    /// Ends the command and all processes that it started.
    pub(super) fn kill(&self) {
        self.kill.notify_one();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The end of the task drops the group, which kills the command.
        self.task.abort();
    }
}

/// Starts a command. Both of its outputs go into one pipe, so that they stay in order.
fn start(command: &Command, cwd: PathBuf, mark: Mark) -> io::Result<(Group, pipe::Receiver)> {
    // Some agents send a whole line for the shell. Some send a program whose path contains a blank.
    let is_program = !command.arguments.is_empty() || Path::new(&command.line).is_file();
    let mut process = match is_program {
        true => tokio::process::Command::new(&command.line),
        false => tokio::process::Command::new("/bin/sh"),
    };
    if is_program {
        process.args(&command.arguments);
    } else {
        process.args(["-c", &command.line]);
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_private(name)) {
        process.env_remove(name);
    }
    let (reader, writer) = io::pipe()?;
    process.envs(command.env.iter().map(|(name, value)| (name, value)));
    process.current_dir(cwd).process_group(0).stdin(Stdio::null());
    process.stdout(writer.try_clone()?).stderr(writer);
    leash::put_on(&mut process, &mark, Signal::KILL);
    // `process` is dropped with the hub's copies of the pipe's input, which only the child may hold.
    let (child, holder) = leash::hold(move || process.spawn())?;
    let group = Group::new(child, mark, holder)?;
    Ok((group, pipe::Receiver::from_owned_fd(reader.into())?))
}

async fn run(
    mut group: Group,
    mut pipe: pipe::Receiver,
    printed: Arc<Mutex<Tail>>,
    kill: Arc<Notify>,
    tell: watch::Sender<Option<Exit>>,
) {
    let mut chunk = vec![0; 16 * 1024];
    let mut open = true;
    let status = loop {
        tokio::select! {
            read = pipe.read(&mut chunk), if open => open = take(&printed, &chunk, read),
            () = kill.notified() => group.end(),
            status = group.ended() => break status,
        }
    };
    // The group has ended. A process that left the group may still hold the pipe, and nobody needs to wait
    // for it.
    let rest = async {
        while open {
            let read = pipe.read(&mut chunk).await;
            open = take(&printed, &chunk, read);
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS_WITHIN, rest).await;
    tell.send_replace(Some(exit_of(status)));
}

/// Keeps the read bytes. Returns whether there may be more.
fn take(printed: &Mutex<Tail>, chunk: &[u8], read: io::Result<usize>) -> bool {
    let Some(bytes) = read.ok().and_then(|count| chunk.get(..count)) else { return false };
    printed.lock().unwrap_or_else(PoisonError::into_inner).push(bytes);
    !bytes.is_empty()
}

/// How a command ended, as a type of the model.
pub fn exit_of(status: io::Result<ExitStatus>) -> Exit {
    let Ok(status) = status else { return Exit::default() };
    Exit { code: status.code(), signal: status.signal().map(signal_name) }
}

fn signal_name(number: i32) -> String {
    let known = [
        (1, "HUP"),
        (2, "INT"),
        (3, "QUIT"),
        (6, "ABRT"),
        (9, "KILL"),
        (11, "SEGV"),
        (13, "PIPE"),
        (15, "TERM"),
    ];
    match known.into_iter().find(|(of, _)| *of == number) {
        Some((_, name)) => format!("SIG{name}"),
        None => format!("signal {number}"),
    }
}

/// The last bytes of the output.
#[derive(Debug)]
struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    truncated: bool,
}

impl Tail {
    fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, truncated: false }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let surplus = self.bytes.len().saturating_sub(self.limit);
        self.truncated |= surplus > 0;
        // The buffer is cut at twice the limit, so that the bytes are not moved at every read.
        if surplus > self.limit {
            self.bytes.drain(..surplus);
        }
    }

    /// The text. It begins with a whole character.
    fn text(&self) -> String {
        let from = self.bytes.len().saturating_sub(self.limit);
        let mut bytes = self.bytes.get(from..).unwrap_or_default();
        while self.truncated && bytes.first().is_some_and(|byte| (0x80..0xc0).contains(byte)) {
            bytes = bytes.get(1..).unwrap_or_default();
        }
        String::from_utf8_lossy(bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_stay_and_begin_with_a_whole_character() {
        let mut tail = Tail::new(4);
        tail.push(b"ab");
        assert_eq!((tail.text().as_str(), tail.truncated), ("ab", false));
        tail.push("cdé".as_bytes());
        assert_eq!((tail.text().as_str(), tail.truncated), ("cdé", true));
        tail.push(b"xyz");
        assert_eq!(tail.text(), "xyz");
        for _ in 0..100 {
            tail.push(b"0123456789");
            assert!(tail.bytes.len() <= 12);
        }
        assert_eq!(tail.text(), "6789");
    }
}

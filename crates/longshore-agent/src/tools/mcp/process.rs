//! The process of an MCP server, in its own group, and its standard error.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::McpSetting;
use longshore_drivers::leash::{self, Group, Mark};
use longshore_drivers::transport::spawn::is_private;
use longshore_drivers::transport::stderr::Stderr;

/// How many bytes of the server's standard error are kept: the end.
const WORDS_LIMIT: usize = 4096;
/// How long to wait for the end of a server that failed to start.
const END_WITHIN: Duration = Duration::from_millis(500);

/// A server's process. Dropping it ends the process with all processes that it started.
#[derive(Debug)]
pub(super) struct ServerProcess {
    words: Arc<Mutex<Stderr>>,
    ended: watch::Receiver<bool>,
    task: AbortHandle,
}

impl ServerProcess {
    pub(super) fn start(
        program: &str,
        arguments: &[String],
        env: &BTreeMap<String, String>,
        setting: &McpSetting,
    ) -> Result<(Self, ChildStdout, ChildStdin), String> {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&setting.cwd).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, _) in std::env::vars_os() {
            if is_private(&name) || setting.secrets.iter().any(|secret| name == secret.as_str()) {
                command.env_remove(name);
            }
        }
        command.envs(env);
        let mark = Mark::of_this_process().under();
        leash::put_on(&mut command, &mark, Signal::TERM);
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                format!("{program} was not found; install it, or give its whole path")
            }
            _ => format!("{program}: {error}"),
        };
        let (mut child, holder) = leash::hold(move || command.spawn()).map_err(failed)?;
        let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let group = Group::new(child, mark, holder).map_err(failed)?;
        let (Some(stdout), Some(stdin), Some(stderr)) = pipes else {
            return Err("it has no pipes".to_owned());
        };
        let words = Arc::new(Mutex::new(Stderr::new(WORDS_LIMIT)));
        let (tell, ended) = watch::channel(false);
        let task = tokio::spawn(hold(group, stderr, Arc::clone(&words), tell));
        Ok((Self { words, ended, task: task.abort_handle() }, stdout, stdin))
    }

    /// The end of the server's standard error.
    pub(super) fn last_words(&self) -> Option<String> {
        let text = self.words.lock().unwrap_or_else(PoisonError::into_inner).text();
        (!text.is_empty()).then_some(text)
    }

    /// Waits a little for the end of the process, and returns the end of its standard error.
    pub(super) async fn ended(&self) -> Option<String> {
        let mut ended = self.ended.clone();
        let _ = tokio::time::timeout(END_WITHIN, ended.wait_for(|ended| *ended)).await;
        self.last_words()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The task drops the group, which kills its processes.
        self.task.abort();
    }
}

async fn hold(
    mut group: Group,
    mut stderr: ChildStderr,
    words: Arc<Mutex<Stderr>>,
    tell: watch::Sender<bool>,
) {
    let (mut chunk, mut open, pid) = (vec![0; 4096], true, group.pid());
    let keep = |chunk: &[u8], read: std::io::Result<usize>| {
        let bytes = read.ok().and_then(|count| chunk.get(..count)).unwrap_or_default();
        words.lock().unwrap_or_else(PoisonError::into_inner).push(bytes, pid);
        !bytes.is_empty()
    };
    loop {
        tokio::select! {
            read = stderr.read(&mut chunk), if open => open = keep(&chunk, read),
            _ = group.ended() => break,
        }
    }
    group.end();
    // A process that left the group may still hold the pipe. The wait for it is bounded.
    let rest = async {
        while open {
            let read = stderr.read(&mut chunk).await;
            open = keep(&chunk, read);
        }
    };
    let _ = tokio::time::timeout(END_WITHIN / 2, rest).await;
    tell.send_replace(true);
}

//! Files and commands that a client asks for, inside the work tree of a session only.
//!
//! Whoever asks has passed the hub's checks. The bounds are those of [`super`], and a command has a deadline.

use std::path::Path;
use std::time::Duration;

use longshore_model::anchor::{CommandRun, FileQuery, FileWrite, RunQuery};
use longshore_model::host_io::{Exit, HostFault, HostReply};
use tokio::time::timeout;

use super::terminals::{Command, Terminal};
use super::{FILE_LIMIT, files};
use crate::leash::Mark;

/// How long a command that was told to end may take over it.
const END_WITHIN: Duration = Duration::from_secs(3);

/// The text of a file, or some lines of it.
pub(crate) async fn read(query: FileQuery) -> Result<String, HostFault> {
    let FileQuery { root, path, line, limit } = query;
    blocking(move || files::read(Path::new(&root), &path, line, limit)).await
}

/// Writes a file, and makes the missing folders.
pub(crate) async fn write(query: FileWrite) -> Result<(), HostFault> {
    let FileWrite { root, path, content } = query;
    if content.len() as u64 > FILE_LIMIT {
        let fault = format!("would have {} bytes; the limit is {FILE_LIMIT}", content.len());
        return Err(HostFault::Unfit { path, fault });
    }
    blocking(move || files::write(Path::new(&root), &path, &content)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HostFault> + Send + 'static,
) -> Result<T, HostFault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(HostFault::Failed(error.to_string())))
}

/// Runs a command until it ends, or until its time is over. Dropping the future ends the command as well.
pub(crate) async fn run(query: RunQuery, mark: Mark) -> Result<CommandRun, HostFault> {
    let RunQuery { root, command, arguments, env, cwd, keep, within_ms } = query;
    let command = Command { line: command, arguments, env, cwd, keep: Some(keep) };
    let terminal = Terminal::open(Path::new(&root), command, mark)?;
    let ended = timeout(Duration::from_millis(within_ms), terminal.ended()).await;
    let overdue = ended.is_err();
    let exit = match ended {
        Ok(exit) => exit?,
        Err(_) => {
            terminal.kill();
            timeout(END_WITHIN, terminal.ended()).await.unwrap_or_else(|_| Ok(Exit::default()))?
        }
    };
    match terminal.output() {
        HostReply::Output { text, truncated, .. } => {
            Ok(CommandRun { output: text, truncated, exit, overdue })
        }
        HostReply::Read(_)
        | HostReply::Written
        | HostReply::Running { .. }
        | HostReply::Ended(_)
        | HostReply::Killed
        | HostReply::Released => Ok(CommandRun { exit, overdue, ..CommandRun::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_in(root: &Path, line: &str, within_ms: u64) -> RunQuery {
        RunQuery {
            root: root.display().to_string(),
            command: "/bin/sh".to_owned(),
            arguments: vec!["-c".to_owned(), line.to_owned()],
            keep: 100,
            within_ms,
            ..RunQuery::default()
        }
    }

    fn mark() -> Mark {
        Mark::of_this_process().under()
    }

    #[tokio::test]
    async fn a_file_is_read_and_written_inside_of_the_work_tree_only() {
        let (tree, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let root = tree.path().display().to_string();
        std::fs::write(other.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(other.path(), tree.path().join("way-out")).unwrap();
        let writing = |path: &str| FileWrite {
            root: root.clone(),
            path: path.to_owned(),
            content: "1\n2\n".to_owned(),
        };
        let reading =
            |path: &str, line| FileQuery { root: root.clone(), path: path.to_owned(), line, limit: None };
        write(writing("new/file")).await.unwrap();
        assert_eq!(read(reading("new/file", Some(2))).await.unwrap(), "2\n");
        for path in ["way-out/secret", "../secret", "/etc/hostname"] {
            assert_eq!(read(reading(path, None)).await, Err(HostFault::Outside(path.to_owned())));
            assert_eq!(write(writing(path)).await, Err(HostFault::Outside(path.to_owned())));
        }
        assert_eq!(read(reading("none", None)).await, Err(HostFault::Missing("none".to_owned())));
        let large = FileWrite { content: "x".repeat(FILE_LIMIT as usize + 1), ..writing("large") };
        assert!(matches!(write(large).await, Err(HostFault::Unfit { .. })));
        assert!(!tree.path().join("large").exists());
    }

    #[tokio::test]
    async fn a_command_has_an_end_an_output_and_a_deadline() {
        let tree = tempfile::tempdir().unwrap();
        let done = run(run_in(tree.path(), "echo out; echo err >&2; exit 3", 60_000), mark()).await.unwrap();
        assert_eq!((done.output.as_str(), done.exit.code), ("out\nerr\n", Some(3)));
        assert!(!done.truncated && !done.overdue);
        let long = run(run_in(tree.path(), "yes | head -c 5000", 60_000), mark()).await.unwrap();
        assert!(long.truncated && long.output.len() <= 100, "{}", long.output.len());
        let late = run(run_in(tree.path(), "echo begun; sleep 600 & sleep 600", 300), mark()).await.unwrap();
        assert!(late.overdue && late.exit.code.is_none(), "{late:?}");
        let outside = RunQuery { cwd: Some("..".to_owned()), ..run_in(tree.path(), "true", 1_000) };
        assert_eq!(run(outside, mark()).await, Err(HostFault::Outside("..".to_owned())));
    }
}

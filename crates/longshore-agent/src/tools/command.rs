//! A command from the model, and its process.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::Signal;
use serde::Deserialize;

use crate::git::kept::Unmade;
use crate::git::quiet::{Quiet, is_gits};
use crate::sandbox::{Sandbox, search_path};
use longshore_drivers::argv::{inner, line_of};
use longshore_drivers::leash::{self, Mark};
use longshore_drivers::transport::spawn::is_private;

/// A line for the shell, or a program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum Script {
    Line(String),
    Words(Vec<String>),
}

impl Script {
    /// The command as a person would type it.
    pub(super) fn line(&self) -> String {
        match self {
            Script::Line(line) => line.clone(),
            Script::Words(words) => line_of(words),
        }
    }

    /// The line of a script that is a shell with a line: `bash -lc LINE`.
    pub(super) fn inner(&self) -> Option<&str> {
        let Script::Words(words) = self else { return None };
        inner(words)
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Script::Line(line) => line.trim().is_empty(),
            Script::Words(words) => words.first().is_none_or(|program| program.is_empty()),
        }
    }

    /// The process, which does not run yet. It ends with the thread that starts it, and carries the mark.
    pub(super) fn process(
        &self,
        setting: &CommandSetting,
        surroundings: &Surroundings,
        mark: &Mark,
    ) -> io::Result<tokio::process::Command> {
        let shell = |line: &str| {
            let mut process = tokio::process::Command::new(&surroundings.shell);
            process.args(["-c", line]);
            process
        };
        let mut process = match (self, setting.quiet.as_ref().and(self.inner())) {
            // A command that only reads gets no shell of its own choice: `bash -l` would first run the person's
            // profile.
            (_, Some(line)) => shell(line),
            (Script::Line(line), None) => shell(line),
            (Script::Words(words), None) => {
                let mut words = words.iter();
                let mut process = tokio::process::Command::new(words.next().map_or("", String::as_str));
                process.args(words);
                process
            }
        };
        let secret = |name: &OsString| surroundings.secrets.iter().any(|one| name == one.as_str());
        let misleads = |name: &OsString| setting.quiet.is_some() && (is_gits(name) || misleads(name));
        let hidden = |name: &OsString| is_private(name) || secret(name) || misleads(name);
        for (name, _) in std::env::vars_os().filter(|(name, _)| hidden(name)) {
            process.env_remove(name);
        }
        // No person is there to scroll, to see colours or to type a password.
        process.env("PAGER", "cat").env("GIT_PAGER", "cat").env("NO_COLOR", "1").env("TERM", "dumb");
        process.env("GIT_TERMINAL_PROMPT", "0");
        if let Some(quiet) = &setting.quiet {
            process.envs(quiet.git.variables()).env("PATH", search_path(&quiet.folders));
            if let Some(folder) = &quiet.temporary {
                process.env("TMPDIR", folder);
            }
        }
        process.current_dir(&setting.cwd);
        if let Some(sandbox) = &setting.sandbox {
            sandbox.lock(&mut process, &setting.cwd)?;
        }
        // The leash comes after the lock: the lock may change the process's identity, and the system would then drop
        // the leash.
        leash::put_on(&mut process, mark, Signal::KILL);
        Ok(process)
    }
}

/// Whether a variable makes programs do something hidden. Commands that only read do not get such a variable.
fn misleads(name: &OsString) -> bool {
    const KNOWN: [&str; 9] = [
        "BASH_ENV",
        "ENV",
        "GREP_OPTIONS",
        "LD_AUDIT",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "LESSOPEN",
        "NODE_OPTIONS",
        "RIPGREP_CONFIG_PATH",
    ];
    KNOWN.iter().any(|known| name == known) || name.as_encoded_bytes().starts_with(b"BASH_FUNC_")
}

/// The folder in which a command starts, and its sandbox.
#[derive(Clone, Debug)]
pub(super) struct CommandSetting {
    pub(super) cwd: PathBuf,
    pub(super) sandbox: Option<Sandbox>,
    /// Further restrictions, for a command that only reads.
    pub(super) quiet: Option<ReadOnlyCommand>,
    /// The missing files of git that the command may not create while it runs.
    pub(super) unmade: Option<Arc<Unmade>>,
}

/// The restrictions for a command that only reads, so that no file that it reads makes it do more.
#[derive(Clone, Debug)]
pub(super) struct ReadOnlyCommand {
    pub(super) git: Quiet,
    /// The folders that the command reads. It runs no program of them.
    pub(super) folders: Vec<PathBuf>,
    /// The folder for the command's temporary files.
    pub(super) temporary: Option<PathBuf>,
}

/// The environment that all commands share.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    shell: PathBuf,
    /// Variables that commands do not get.
    secrets: Vec<String>,
}

impl Surroundings {
    pub(super) fn new(secrets: Vec<String>) -> Self {
        let bash = Path::new("/bin/bash");
        let shell = if bash.exists() { bash } else { Path::new("/bin/sh") };
        Self { shell: shell.to_owned(), secrets }
    }
}

/// The reason for the model why a command did not start.
pub(super) fn explain(script: &Script, error: &io::Error) -> String {
    match (script, error.kind()) {
        (Script::Words(words), io::ErrorKind::NotFound) => {
            let program = words.first().map_or("", String::as_str);
            format!("{program} was not found; to run a shell line, give it as one string")
        }
        (Script::Words(_) | Script::Line(_), _) => format!("the command did not start: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_nothing_is_no_command() {
        assert!(Script::Words(Vec::new()).is_empty() && Script::Line(" ".to_owned()).is_empty());
    }
}

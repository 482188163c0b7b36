//! Starts an agent's process, and explains why a process does not start.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::process::Stdio as Pipe;

use tokio::process::Command;

use rustix::process::Signal;

use crate::discover::Surroundings;
use crate::leash::{self, Group, Mark};

/// What to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawn {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its environment, but for what is private to the hub.
    pub around: Surroundings,
    /// What its environment has beyond that.
    pub env: BTreeMap<String, String>,
    /// Where it runs; none is where we do.
    pub cwd: Option<PathBuf>,
}

/// Why an agent's process did not start, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The work tree is no folder.
    #[error("the folder {} does not exist; make it, or open the session in another folder", .0.display())]
    NoFolder(PathBuf),
    /// The work tree is something else.
    #[error("{} is not a folder; open the session in a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The program is not there.
    #[error("the program {} or its interpreter is missing; install the agent again", .0.display())]
    NoProgram(PathBuf),
    /// The program or the folder may not be used.
    #[error("you may not run {}; check its permissions (chmod +x) and the permissions of its folder", .0.display())]
    NotAllowed(PathBuf),
    /// The file is not for this machine.
    #[error("{} is not a program for this machine; install the agent for this machine", .0.display())]
    NotForThisMachine(PathBuf),
    /// Something else.
    #[error("cannot start {}: {error}", program.display())]
    Other {
        /// Which program.
        program: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
}

/// How a process is on the leash.
#[derive(Clone, Debug)]
pub(crate) struct Tie {
    pub(crate) mark: Mark,
    /// What the system sends it when we are gone.
    pub(crate) left_alone: Signal,
    /// Whether what left its group goes on when it ends by itself.
    pub(crate) leaves: bool,
}

impl Tie {
    /// Of something that belongs to this mark, and whose end is the end of all that it started.
    pub(crate) fn under(mark: &Mark) -> Self {
        Self { mark: mark.under(), left_alone: Signal::TERM, leaves: false }
    }
}

/// The child's ends of its pipes, ours.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) group: Group,
    pub(crate) stdin: tokio::process::ChildStdin,
    pub(crate) stdout: tokio::process::ChildStdout,
    pub(crate) stderr: tokio::process::ChildStderr,
}

impl Spawn {
    /// Starts it in a process group of its own, with three pipes.
    pub(crate) fn start(&self, tie: &Tie) -> Result<Spawned, SpawnError> {
        self.check_folder()?;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).process_group(0);
        command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped());
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command.env_clear().envs(self.around.vars().filter(|(name, _)| !is_private(name))).envs(&self.env);
        leash::put_on(&mut command, &tie.mark, tie.left_alone);
        let started = leash::hold(move || command.spawn());
        let (mut child, holder) = started.map_err(|error| self.explain(error))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Group::new(child, tie.mark.clone(), holder).map_err(|error| self.explain(error))?;
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok(Spawned { group, stdin, stdout, stderr }),
            (_, _, _) => Err(self.explain(io::Error::other("it has no pipes"))),
        }
    }

    fn check_folder(&self) -> Result<(), SpawnError> {
        match &self.cwd {
            Some(cwd) if !cwd.exists() => Err(SpawnError::NoFolder(cwd.clone())),
            Some(cwd) if !cwd.is_dir() => Err(SpawnError::NotAFolder(cwd.clone())),
            Some(_) | None => Ok(()),
        }
    }

    fn explain(&self, error: io::Error) -> SpawnError {
        // It may have gone in between.
        if let Err(folder) = self.check_folder() {
            return folder;
        }
        let program = self.program.clone();
        match rustix::io::Errno::from_io_error(&error) {
            Some(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => SpawnError::NoProgram(program),
            Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => SpawnError::NotAllowed(program),
            Some(rustix::io::Errno::NOEXEC) => SpawnError::NotForThisMachine(program),
            Some(_) | None => SpawnError::Other { program, error },
        }
    }
}

/// The hub's own settings are not for agents: with its token among them, an agent could approve its own requests.
pub fn is_private(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"LONGSHORE_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_do_not_inherit_the_settings_of_the_hub() {
        assert!(is_private(OsStr::new("LONGSHORE_TOKEN")));
        assert!(!is_private(OsStr::new("PATH")));
    }
}

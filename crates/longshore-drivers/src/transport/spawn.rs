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

/// The program to start, and its surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawn {
    /// The program.
    pub program: PathBuf,
    /// The arguments of the program.
    pub arguments: Vec<String>,
    /// The environment of the hub, without the hub's own variables.
    pub around: Surroundings,
    /// The additional variables of the program.
    pub env: BTreeMap<String, String>,
    /// The folder in which it runs. If none, the hub's folder.
    pub cwd: Option<PathBuf>,
}

/// Why an agent's process did not start, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The work tree does not exist.
    #[error("the folder {} does not exist; make it, or open the session in another folder", .0.display())]
    NoFolder(PathBuf),
    /// The work tree is not a folder.
    #[error("{} is not a folder; open the session in a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The program does not exist.
    #[error("the program {} or its interpreter is missing; install the agent again", .0.display())]
    NoProgram(PathBuf),
    /// The user may not run the program, or may not use the folder.
    #[error("you may not run {}; check its permissions (chmod +x) and the permissions of its folder", .0.display())]
    NotAllowed(PathBuf),
    /// The file is not for this machine.
    #[error("{} is not a program for this machine; install the agent for this machine", .0.display())]
    NotForThisMachine(PathBuf),
    /// Another error.
    #[error("cannot start {}: {error}", program.display())]
    Other {
        /// The program.
        program: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
}

/// How a process is held on the leash.
#[derive(Clone, Debug)]
pub(crate) struct Tie {
    pub(crate) mark: Mark,
    /// The signal that the system sends to the process when the hub is gone.
    pub(crate) left_alone: Signal,
    /// Whether processes that left the group continue when this process ends by itself.
    pub(crate) leaves: bool,
}

impl Tie {
    /// A process under this mark. All processes that it starts end with it.
    pub(crate) fn under(mark: &Mark) -> Self {
        Self { mark: mark.under(), left_alone: Signal::TERM, leaves: false }
    }
}

/// A started child, with the hub's ends of its pipes.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) group: Group,
    pub(crate) stdin: tokio::process::ChildStdin,
    pub(crate) stdout: tokio::process::ChildStdout,
    pub(crate) stderr: tokio::process::ChildStderr,
}

impl Spawn {
    /// Starts the program in its own process group, with three pipes.
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
        // The folder may have disappeared since the first check.
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

/// Whether a variable is a setting of the hub. Agents do not get these: with the hub's token, an agent could
/// approve its own requests.
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

//! Files and commands in the work tree of a session, for clients. The anchor carries them out.

use std::time::Duration;

use longshore_model::anchor::{CommandRun, FileQuery, FileWrite, RunQuery};
use longshore_model::capability::Mode;
use longshore_model::host_io::HostFault;
use longshore_model::id::SessionId;

use crate::error::HubError;
use crate::hub::Hub;

/// How long a command of a client may take.
const RUN_WITHIN: Duration = Duration::from_secs(60);
/// How much longer the anchor may take to say how it ended.
const RUN_ANSWER: Duration = Duration::from_secs(15);
/// The most bytes of a command's output that a client gets.
const RUN_KEEPS: u64 = 256 << 10;

/// A command that a client wants to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunRequest {
    /// A program, or a shell line if there are no arguments.
    pub command: String,
    /// The arguments.
    pub arguments: Vec<String>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
    /// The folder, inside of the work tree; none for the work tree itself.
    pub cwd: Option<String>,
    /// How many bytes of the output to keep: the last ones. None: as many as a client may get.
    pub keep: Option<u64>,
}

impl Hub {
    /// The text of a file in a session's work tree, or some lines of it.
    pub async fn read_file(
        &self,
        session: SessionId,
        path: String,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> Result<Result<String, HostFault>, HubError> {
        let root = self.session(session).await?.cwd;
        self.ask(FileQuery { root, path, line, limit }).await
    }

    /// Writes a text file in a session's work tree.
    pub async fn write_file(
        &self,
        session: SessionId,
        path: String,
        content: String,
    ) -> Result<Result<(), HostFault>, HubError> {
        let root = self.session(session).await?.cwd;
        self.ask(FileWrite { root, path, content }).await
    }

    /// Runs a command in a session's work tree. Nobody is asked, so the mode of the session must let its agent do the same.
    pub async fn run_command(
        &self,
        session: SessionId,
        request: RunRequest,
    ) -> Result<Result<CommandRun, HostFault>, HubError> {
        let info = self.session(session).await?;
        if info.mode != Mode::Full {
            return Err(HubError::Invalid(format!(
                "this session has the mode {}, and a command of a client runs only in the mode full; set the mode, or let the \
                 agent run the command",
                info.mode
            )));
        }
        let RunRequest { command, arguments, env, cwd, keep } = request;
        let keep = keep.unwrap_or(RUN_KEEPS).min(RUN_KEEPS);
        let within_ms = u64::try_from(RUN_WITHIN.as_millis()).unwrap_or(u64::MAX);
        let query = RunQuery { root: info.cwd, command, arguments, env, cwd, keep, within_ms };
        self.inner.ask_within(RUN_WITHIN + RUN_ANSWER, query).await
    }

    /// Whether agents can work in a folder.
    pub async fn is_work_tree(&self, cwd: &str) -> bool {
        self.check_cwd(cwd).await.is_ok()
    }
}

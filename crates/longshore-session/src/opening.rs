//! Opening sessions: what a client requests, and what the hub checks before an agent starts.

use longshore_model::capability::Mode;
use longshore_model::command::{Command, Refusal};
use longshore_model::event::Draft;
use longshore_model::id::{Context, Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::Opened;
use longshore_model::mcp::{self, McpServer};
use longshore_model::time::Timestamp;

use crate::anchor_queries::check_mode;
use crate::error::HubError;
use crate::hub::{Hub, lock, now};
use crate::message::FromClient;

/// The longest path of a folder.
pub const PATH_BYTES: usize = 4_096;
/// The longest title, and the longest name of a model or an effort. All clients of a session get them with its row.
pub const NAME_BYTES: usize = 1_000;

/// Refuses a name that is too long, whichever protocol it came through.
pub(crate) fn check_name(field: &str, name: Option<&str>) -> Result<(), HubError> {
    match name.is_some_and(|name| name.len() > NAME_BYTES) {
        true => Err(HubError::Invalid(format!("`{field}` is longer than {NAME_BYTES} bytes"))),
        false => Ok(()),
    }
}

/// Refuses a command with a name that is too long.
pub(crate) fn check_names(command: &Command) -> Result<(), HubError> {
    if let Command::Rename(title) = command {
        check_name("title", Some(title))
    } else if let Command::SetModel(model) = command {
        check_name("model", Some(model))
    } else if let Command::SetEffort(effort) = command {
        check_name("effort", Some(effort))
    } else {
        Ok(())
    }
}

/// The settings that a client requests for a new session.
#[derive(Clone, Debug, Default)]
pub struct OpenRequest {
    /// The agent.
    pub agent: String,
    /// The work tree: an absolute path on the agent's machine.
    pub cwd: String,
    /// The title. None: the first prompt gives the title.
    pub title: Option<String>,
    /// The model. None: the agent chooses.
    pub model: Option<String>,
    /// How hard the agent thinks, in the agent's own words. None: the agent chooses.
    pub effort: Option<String>,
    /// What the agent may do without asking. None: the agent's usual mode.
    pub mode: Option<Mode>,
    /// The MCP servers for the agent.
    pub mcp_servers: Vec<McpServer>,
    /// A name of this request, unique among all requests of all clients. The same request again returns the session that
    /// the first one opened, also after a restart.
    pub key: Option<String>,
    /// The id of the session, from [`Hub::new_session`], for protocols that name a session before it is opened. The same
    /// request again returns the session that the first one opened.
    pub session: Option<SessionId>,
}

impl Hub {
    /// An id for a session that is opened later.
    pub fn new_session(&self) -> SessionId {
        SessionId::mint(&mut Context { now: now(), ids: &mut lock(&self.inner.ids) })
    }

    /// Opens a session and starts its agent.
    pub async fn open(&self, request: OpenRequest) -> Result<SessionInfo, HubError> {
        self.open_child(request, None).await
    }

    pub(crate) async fn open_child(
        &self,
        request: OpenRequest,
        parent: Option<SessionId>,
    ) -> Result<SessionInfo, HubError> {
        let OpenRequest { agent, cwd, title, model, effort, mode, mcp_servers, key, session } = request;
        let named = session.or_else(|| key.map(|key| SessionId::of_words(&["opened", &key])));
        if let Some(session) = named {
            match self.session(session).await {
                // The first request opens it.
                Err(HubError::UnknownSession) => {}
                known => return known,
            }
        }
        if cwd.len() > PATH_BYTES {
            return Err(HubError::Invalid(format!("`cwd` is longer than {PATH_BYTES} bytes")));
        }
        for (field, name) in [("title", &title), ("model", &model), ("effort", &effort)] {
            check_name(field, name.as_deref())?;
        }
        if !cwd.starts_with('/') {
            return Err(HubError::Invalid(format!("`cwd` must be an absolute path, not `{cwd}`")));
        }
        let variables = self.inner.mcp_env.get().map(Vec::as_slice).unwrap_or_default();
        mcp::check(&mcp_servers)
            .and_then(|()| mcp::check_variables(&mcp_servers, variables))
            .map_err(|fault| HubError::Invalid(fault.to_string()))?;
        let known = self.installed(&agent).await?;
        self.check_cwd(&cwd).await?;
        let can = &known.capabilities;
        let beyond = [
            (model.is_some() && !can.models, "change its model"),
            (effort.is_some() && !can.effort, "be told how hard to think"),
        ];
        if let Some((_, what)) = beyond.into_iter().find(|(is_beyond, _)| *is_beyond) {
            return Err(Refusal::NotSupported { agent: known.name.to_string(), what }.into());
        }
        if let Some(effort) = &effort {
            self.check_effort(&known.name, model.as_deref(), effort).await?;
        }
        let mode = mode.unwrap_or_else(|| Mode::unless_named(&known.capabilities.modes));
        check_mode(&known, mode)?;
        let opened = Opened {
            agent: known.name,
            cwd,
            mode,
            model,
            effort,
            title,
            mcp_servers,
            capabilities: known.capabilities,
            parent,
            forked_from: None,
            from_file: false,
        };
        self.begin(named, opened, Vec::new()).await
    }

    pub(crate) async fn begin(
        &self,
        named: Option<SessionId>,
        opened: Opened,
        copied: Vec<(Timestamp, Draft)>,
    ) -> Result<SessionInfo, HubError> {
        let session = named.unwrap_or_else(|| self.new_session());
        let handle = self.wake(session, Seq::ZERO);
        let opened = Box::new(opened);
        self.request(&handle, |reply| FromClient::Open { opened, copied, reply }).await
    }
}

//! Questions of the hub to its anchor: agents, models, and folders for work trees.

use longshore_log::SessionFilter;
use longshore_model::anchor::{
    AgentsQuery, Folders, FoldersQuery, Machine, ModelsQuery, RepositoryAsk, RepositoryQuery, RepositoryView,
    WorkTreeQuery,
};
use longshore_model::capability::{AgentInfo, Capabilities, Mode, ModelInfo};
use longshore_model::event::AgentName;

use crate::error::HubError;
use crate::hub::Hub;

/// How many sessions the hub reads to find the folders that were used last, and how many folders it returns.
const RECENT: (usize, usize) = (200, 12);

impl Hub {
    /// The machines that run agents. One anchor is one machine.
    pub async fn machines(&self) -> Result<Vec<Machine>, HubError> {
        self.machines_with(None).await
    }

    async fn machines_with(&self, only: Option<AgentName>) -> Result<Vec<Machine>, HubError> {
        Ok(vec![self.ask(AgentsQuery { only }).await?])
    }

    /// The agents that the anchor knows.
    pub async fn agents(&self) -> Result<Vec<AgentInfo>, HubError> {
        Ok(self.machines().await?.into_iter().flat_map(|machine| machine.agents).collect())
    }

    /// The agent of this name, if it can be started.
    pub(crate) async fn installed(&self, agent: &str) -> Result<AgentInfo, HubError> {
        let machines = self.machines_with(Some(agent.into())).await?;
        let mut agents = machines.into_iter().flat_map(|machine| machine.agents);
        let found = agents.find(|known| *known.name == *agent);
        let known = found.ok_or_else(|| HubError::UnknownAgent(agent.to_owned()))?;
        match known.path {
            Some(_) => Ok(known),
            None => Err(HubError::NotInstalled { agent: known.title, install: known.install }),
        }
    }

    /// Refuses a folder in which no agent can work. If the anchor cannot tell, the folder is accepted.
    pub(crate) async fn check_cwd(&self, cwd: &str) -> Result<(), HubError> {
        match self.ask(WorkTreeQuery { path: cwd.to_owned() }).await {
            Ok(Some(fault)) => Err(HubError::BadCwd { cwd: cwd.to_owned(), fault }),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// The models of one agent.
    pub async fn models(&self, agent: &str) -> Result<Vec<ModelInfo>, HubError> {
        self.ask_models(agent, false).await
    }

    /// Asks a new process of the agent for its models, even if they are known. This shows whether the agent
    /// starts.
    pub async fn models_anew(&self, agent: &str) -> Result<Vec<ModelInfo>, HubError> {
        self.ask_models(agent, true).await
    }

    async fn ask_models(&self, agent: &str, anew: bool) -> Result<Vec<ModelInfo>, HubError> {
        self.installed(agent).await?;
        self.ask(ModelsQuery { agent: agent.into(), anew }).await
    }

    /// Refuses an effort that the model is known not to have, because every turn with it would fail. If the
    /// models are unknown, the effort is accepted.
    pub(crate) async fn check_effort(
        &self,
        agent: &str,
        model: Option<&str>,
        effort: &str,
    ) -> Result<(), HubError> {
        let models = self.models(agent).await.unwrap_or_default();
        let efforts = ModelInfo::efforts_of(&models, model);
        if efforts.is_empty() || efforts.iter().any(|known| known == effort) {
            return Ok(());
        }
        let model = model.unwrap_or("this model").to_owned();
        Err(HubError::UnknownEffort { effort: effort.to_owned(), model, efforts })
    }

    /// The folders in a folder of the anchor's machine. Without a path: in the folder where people begin.
    pub async fn folders(&self, path: Option<String>) -> Result<Folders, HubError> {
        match self.ask(FoldersQuery { path }).await {
            // The machine answered: it is the path that nobody can list.
            Err(HubError::Anchor(fault)) => Err(HubError::Invalid(fault)),
            answer => answer,
        }
    }

    /// Looks into the repository of a folder, or changes its work trees.
    pub async fn repository(&self, cwd: String, ask: RepositoryAsk) -> Result<RepositoryView, HubError> {
        self.ask(RepositoryQuery { cwd, ask }).await
    }

    /// The work trees that were used last, the latest first.
    pub async fn recent_folders(&self) -> Result<Vec<String>, HubError> {
        let (sessions, most) = RECENT;
        let page = self.sessions(SessionFilter { limit: sessions, ..SessionFilter::default() }).await?;
        let mut recent: Vec<String> = Vec::new();
        for session in page.sessions {
            if recent.len() < most && !recent.contains(&session.cwd) {
                recent.push(session.cwd);
            }
        }
        Ok(recent)
    }
}

/// Refuses a mode that the agent is known not to have, before the hub creates a session that could never
/// work.
pub(crate) fn check_mode(agent: &AgentInfo, mode: Mode) -> Result<(), HubError> {
    let Capabilities { modes, custom, .. } = &agent.capabilities;
    if modes.is_empty() || modes.contains(&mode) || custom.contains_key(Capabilities::GUESSED_MODES) {
        return Ok(());
    }
    let modes = modes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Err(HubError::Invalid(format!("{} has no mode {mode}; its modes are {modes}", agent.name)))
}

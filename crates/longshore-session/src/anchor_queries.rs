//! What the hub asks its anchor: which agents and models there are, and where a work tree could be.

use longshore_log::SessionFilter;
use longshore_model::anchor::{Answer, Folders, Query};
use longshore_model::capability::{AgentInfo, Capabilities, Mode, ModelInfo};
use longshore_model::event::AgentName;

use crate::error::HubError;
use crate::hub::{Hub, mismatch};

/// How many sessions are looked at for the folders that were used last, and how many of those are told.
const RECENT: (usize, usize) = (200, 12);

/// A machine that runs agents.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The agents that it knows, found or not.
    pub agents: Vec<AgentInfo>,
}

impl Hub {
    /// The machines that run agents. There is one as long as there is one anchor.
    pub async fn machines(&self) -> Result<Vec<Machine>, HubError> {
        self.machines_with(None).await
    }

    async fn machines_with(&self, only: Option<AgentName>) -> Result<Vec<Machine>, HubError> {
        match self.ask(Query::Agents { only }).await? {
            Answer::Agents { machine, agents } => Ok(vec![Machine { name: machine, agents }]),
            Answer::Models { .. }
            | Answer::Git { .. }
            | Answer::Sessions { .. }
            | Answer::Messages { .. }
            | Answer::Past { .. }
            | Answer::WorkTree { .. }
            | Answer::RecordSize { .. }
            | Answer::Folders(_) => Err(mismatch()),
        }
    }

    /// The agents that the anchor knows.
    pub async fn agents(&self) -> Result<Vec<AgentInfo>, HubError> {
        Ok(self.machines().await?.into_iter().flat_map(|machine| machine.agents).collect())
    }

    /// An agent that can be started.
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

    /// Refuses a folder that no agent can work in. An anchor that cannot tell is no reason to refuse.
    pub(crate) async fn check_cwd(&self, cwd: &str) -> Result<(), HubError> {
        match self.ask(Query::WorkTree { path: cwd.to_owned() }).await {
            Ok(Answer::WorkTree { fault: Some(fault) }) => {
                Err(HubError::BadCwd { cwd: cwd.to_owned(), fault })
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The models of one agent.
    pub async fn models(&self, agent: &str) -> Result<Vec<ModelInfo>, HubError> {
        self.ask_models(agent, false).await
    }

    /// The same from a process that is started for it, whatever is known: so it is seen whether the agent starts.
    pub async fn models_anew(&self, agent: &str) -> Result<Vec<ModelInfo>, HubError> {
        self.ask_models(agent, true).await
    }

    async fn ask_models(&self, agent: &str, anew: bool) -> Result<Vec<ModelInfo>, HubError> {
        self.installed(agent).await?;
        match self.ask(Query::Models { agent: agent.into(), anew }).await? {
            Answer::Models { models } => Ok(models),
            Answer::Agents { .. }
            | Answer::Git { .. }
            | Answer::Sessions { .. }
            | Answer::Messages { .. }
            | Answer::Past { .. }
            | Answer::WorkTree { .. }
            | Answer::RecordSize { .. }
            | Answer::Folders(_) => Err(mismatch()),
        }
    }

    /// Refuses an effort that the model is known not to have: with it, every turn would fail. Who cannot be asked is not in
    /// the way of who knows better.
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

    /// The folders in a folder of the anchor's machine; without a path, in the one where people begin.
    pub async fn folders(&self, path: Option<String>) -> Result<Folders, HubError> {
        match self.ask(Query::Folders { path }).await? {
            Answer::Folders(folders) => Ok(folders),
            Answer::Agents { .. }
            | Answer::Models { .. }
            | Answer::Git { .. }
            | Answer::Sessions { .. }
            | Answer::Messages { .. }
            | Answer::WorkTree { .. }
            | Answer::Past { .. }
            | Answer::RecordSize { .. } => Err(mismatch()),
        }
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

/// Refuses a mode that the agent is known not to have, before there is a session that could never work.
pub(crate) fn check_mode(agent: &AgentInfo, mode: Mode) -> Result<(), HubError> {
    let Capabilities { modes, custom, .. } = &agent.capabilities;
    if modes.is_empty() || modes.contains(&mode) || custom.contains_key(Capabilities::GUESSED_MODES) {
        return Ok(());
    }
    let modes = modes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Err(HubError::Invalid(format!("{} has no mode {mode}; its modes are {modes}", agent.name)))
}

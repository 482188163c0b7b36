//! An installed agent, and how it runs on a scripted model.

use std::path::{Path, PathBuf};

use longshore_drivers::discover::{AgentSettings, Surroundings};
use longshore_drivers::offline::{Offline, OfflinePlace};
use longshore_drivers::spec::Agent;
use longshore_model::capability::{AgentInfo, Mode};
use longshore_model::service::ModelApi;

use super::guess;
use super::program::Program;
use super::recorded::RecordedAgent;
use super::set::Scenario;

/// The placeholder in the settings for the address of the scripted model, without `/v1`.
pub const MODEL_URL: &str = "${MODEL_URL}";

/// An installed agent.
#[derive(Clone, Debug)]
pub struct InstalledAgent {
    /// The agent.
    pub agent: Agent,
    /// The path of the program.
    pub path: PathBuf,
    /// The version of the program, if the program reports one.
    pub version: Option<String>,
    /// The person's settings for the agent.
    pub settings: AgentSettings,
    /// The environment in which the agent was found. On a stage, the agent gets only `PATH` of it. An agent
    /// that Longshore cannot run on a scripted model gets all of it.
    pub around: Surroundings,
    /// The only API that the model speaks, if a gateway is between agent and model.
    pub gateway: Option<ModelApi>,
}

/// The reason why an agent cannot play a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhyNot {
    /// Neither Longshore nor the settings say how the agent finds a scripted model.
    #[error("Longshore does not know how to set a scripted model for this agent")]
    NoModel,
    /// The agent does not have the mode.
    #[error("not offered: this agent has no mode `{0}`")]
    NoMode(Mode),
    /// The scenario needs something that the agent never does.
    #[error("not offered: this agent does not ask, or does not stream")]
    Unable,
}

impl InstalledAgent {
    /// An agent, as this machine knows it.
    pub fn new(
        agent: Agent,
        info: &AgentInfo,
        settings: AgentSettings,
        around: Surroundings,
    ) -> Option<Self> {
        let path = PathBuf::from(info.path.as_ref()?);
        Some(Self { agent, path, version: info.version.clone(), settings, around, gateway: None })
    }

    /// Whether Longshore knows how the agent runs on a scripted model.
    pub fn runs_offline(&self) -> bool {
        self.offline(OfflinePlace { folder: Path::new("/"), model: "" }).is_some()
    }

    /// How the agent runs on a scripted model, according to Longshore and to the settings.
    pub(super) fn offline(&self, place: OfflinePlace<'_>) -> Option<Offline> {
        let at_model = |(name, value): (&str, &str)| (name.to_owned(), value.replace(MODEL_URL, place.model));
        let told = self.settings.verify_env.iter().map(|(name, value)| at_model((name, value)));
        let program = self.program().map_or(&[][..], |program| program.env);
        let mut offline = match self.agent.offline(place) {
            Some(offline) => offline,
            None if self.settings.verify_env.is_empty() && program.is_empty() => return None,
            None => Offline {
                arguments: self.settings.args.clone(),
                env: program.iter().copied().map(at_model).collect(),
                files: Vec::new(),
                calls: guess::CALLS,
            },
        };
        offline.env.extend(told);
        Some(offline)
    }

    /// What Longshore knows about the program of an ACP agent from the settings.
    fn program(&self) -> Option<&'static Program> {
        let speaks_acp = self.settings.driver.as_deref() == Some("acp");
        speaks_acp.then(|| Program::of(&self.path)).flatten()
    }

    /// The recording to compare with: the recording of this agent or of a related one. An agent of the
    /// settings behaves like its driver, and an ACP agent of the settings is known by its program.
    pub fn recorded(&self) -> Option<RecordedAgent> {
        match self.settings.driver.as_deref() {
            None => RecordedAgent::of(self.agent.name()),
            Some("acp") => self.program().and_then(Program::recorded),
            Some(driver) => RecordedAgent::of(driver),
        }
    }

    /// Why the agent cannot play this scenario; none if it can.
    pub fn why_not(&self, scenario: &Scenario) -> Option<WhyNot> {
        let can = self.agent.capabilities();
        if scenario.model.is_some() && !self.runs_offline() {
            return Some(WhyNot::NoModel);
        }
        match scenario.mode.filter(|_| !scenario.is_offered(&can)) {
            Some(mode) => Some(WhyNot::NoMode(mode)),
            None => (!scenario.fits(&can)).then_some(WhyNot::Unable),
        }
    }

    /// The settings and the environment of the agent on a stage.
    pub(super) fn settings(&self, folder: &Path, offline: Option<&Offline>) -> (AgentSettings, Surroundings) {
        let Some(offline) = offline else { return (self.settings.clone(), self.around.clone()) };
        let path = self.around.var("PATH").cloned().unwrap_or_default();
        let at = |name: &str| folder.join(name).into_os_string();
        let around = Surroundings::of([
            ("PATH", path),
            ("HOME", at("home")),
            ("TMPDIR", at("tmp")),
            ("LANG", "C.UTF-8".into()),
        ]);
        let settings = AgentSettings {
            path: Some(self.path.clone()),
            args: offline.arguments.clone(),
            env: offline.env.clone(),
            transport: self.settings.transport,
            ..AgentSettings::default()
        };
        (settings, around)
    }
}

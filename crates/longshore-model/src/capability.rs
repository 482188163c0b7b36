//! What agents can do, and what agents may do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::AgentName;
use crate::time::Timestamp;

/// What an agent may do without asking. All agents share these modes; each driver maps them to its agent's
/// own modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Read and propose, change nothing.
    Plan,
    /// Ask before every command and before every change.
    #[default]
    Ask,
    /// Change files of the work tree without asking; ask before everything else.
    AutoEdit,
    /// Never ask.
    Full,
}

impl Mode {
    /// The mode in which an agent with these modes works if nobody names a mode: `ask`, or the most
    /// restrictive mode if the agent cannot ask.
    pub fn unless_named(modes: &[Mode]) -> Mode {
        let usual = [Mode::Ask, Mode::Plan, Mode::AutoEdit, Mode::Full];
        usual.into_iter().find(|mode| modes.contains(mode)).unwrap_or_default()
    }
}

impl std::str::FromStr for Mode {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "plan" => Ok(Mode::Plan),
            "ask" => Ok(Mode::Ask),
            "auto-edit" => Ok(Mode::AutoEdit),
            "full" => Ok(Mode::Full),
            other => Err(format!("`{other}` is not a mode; the modes are plan, ask, auto-edit and full")),
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mode::Plan => "plan",
            Mode::Ask => "ask",
            Mode::AutoEdit => "auto-edit",
            Mode::Full => "full",
        })
    }
}

/// What an agent can do. Clients hide everything else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[allow(missing_docs)]
pub struct Capabilities {
    pub list_sessions: bool,
    pub open_session: bool,
    pub send_prompt: bool,
    pub streaming: bool,
    pub attachments: bool,
    pub approvals: bool,
    pub multi_turn: bool,
    pub filtering: bool,
    pub pagination: bool,
    pub interrupt: bool,
    pub steer: bool,
    pub fork: bool,
    pub modes: Vec<Mode>,
    pub models: bool,
    /// Whether a person can choose how hard the agent thinks.
    pub effort: bool,
    /// The agent remembers nothing itself. When it starts, it gets its earlier lines from the log.
    pub memory_in_log: bool,
    /// The agent keeps a record of its conversations, and the hub reads that record: turns in the agent's own
    /// terminal enter the log.
    pub own_record: bool,
    pub custom: BTreeMap<String, Value>,
}

impl Capabilities {
    /// A key of `custom`: the modes are a guess from similar agents. The agent reports its real modes when it
    /// runs.
    pub const GUESSED_MODES: &str = "guessedModes";

    /// Removes what was only a guess, for an agent that is not installed or does not start.
    pub fn forget_guesses(&mut self) {
        if self.custom.remove(Self::GUESSED_MODES).is_some() {
            self.modes.clear();
        }
    }
}

/// An agent, as a machine knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// The agent's name: `codex`.
    pub name: AgentName,
    /// The agent's name for people: `Codex`.
    pub title: String,
    /// The path of the program; none if the agent is not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The version of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The command that installs the agent.
    pub install: String,
    /// The command that logs in to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Whether somebody is logged in; none if only the running agent could tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged_in: Option<bool>,
    /// The command that continues a conversation in the agent's own terminal, run in the conversation's
    /// folder. `{native}` stands for the agent's name of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// A remark for people who want to use the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// The result of the last `longshore verify` of all scenarios, with the version that it tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// What the agent can do.
    pub capabilities: Capabilities,
    /// The agent's models, if the hub has asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelInfo>,
}

/// The result of the last time that an agent played all scenarios.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// The version that was installed at that time.
    pub version: Option<String>,
    /// When the agent played the scenarios.
    pub at: Timestamp,
    /// The number of scenarios that the agent played.
    pub played: usize,
    /// The number of scenarios that were compared with a recording.
    pub compared: usize,
    /// The scenarios in which the agent behaved differently.
    pub differs: Vec<String>,
}

/// A model that an agent can use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The id with which a client requests the model.
    pub id: String,
    /// The model's name for people.
    pub title: String,
    /// What the model is good for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether the agent uses this model if nobody names one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
    /// The efforts that a person can choose for this model, in the agent's words, the least first; empty if
    /// there is no choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<String>,
}

impl ModelInfo {
    /// The efforts of one of these models; without a name, of the default model. For a model that is not
    /// listed: all efforts of the agent.
    pub fn efforts_of(models: &[ModelInfo], model: Option<&str>) -> Vec<String> {
        let used = models.iter().find(|known| model.map_or(known.default, |id| known.id == id));
        let mut efforts: Vec<String> = Vec::new();
        for effort in used.map_or(models, std::slice::from_ref).iter().flat_map(|model| &model.efforts) {
            if !efforts.contains(effort) {
                efforts.push(effort.clone());
            }
        }
        efforts
    }
}

/// A slash command that the agent offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommand {
    /// The name, without the slash.
    pub name: String,
    /// What the command does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

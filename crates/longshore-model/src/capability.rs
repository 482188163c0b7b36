//! What agents can do, and what they may.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::AgentName;
use crate::time::Timestamp;

/// What an agent may do without asking. One set for all agents; each driver maps it to its agent's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Read and propose, change nothing.
    Plan,
    /// Ask before every command and every change.
    #[default]
    Ask,
    /// Change files of the work tree freely, ask for the rest.
    AutoEdit,
    /// Never ask.
    Full,
}

impl Mode {
    /// The mode in which an agent with these modes works when nobody names one: it asks, or where it cannot, it may do the least.
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

/// What an agent can do. Clients hide what is not there.
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
    /// It can be told how hard to think.
    pub effort: bool,
    /// It remembers nothing itself: what it said before is given back to it from the log when it starts.
    pub memory_in_log: bool,
    /// It keeps a record of its conversations that is read: what was said in its own terminal comes into the log.
    pub own_record: bool,
    pub custom: BTreeMap<String, Value>,
}

impl Capabilities {
    /// In `custom`: the modes are those that such an agent mostly has. Which of them it has is known once it has run.
    pub const GUESSED_MODES: &str = "guessedModes";

    /// Takes back what was only guessed, of an agent that is not here or does not start.
    pub fn forget_guesses(&mut self) {
        if self.custom.remove(Self::GUESSED_MODES).is_some() {
            self.modes.clear();
        }
    }
}

/// One agent as a machine knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Its name: `codex`.
    pub name: AgentName,
    /// Its name for people: `Codex`.
    pub title: String,
    /// Where it was found; none when it is not installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The command that installs it.
    pub install: String,
    /// The command that logs in to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Whether somebody is logged in, where that can be told without starting it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged_in: Option<bool>,
    /// The command that goes on with a conversation in the agent's own terminal, in the conversation's folder; the
    /// agent's name for the conversation stands where it says `{native}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// Something to know before using it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// What came of the last time that all scenarios were played with it; of which version, stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Its models, when it was asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelInfo>,
}

/// What came of the last time that all scenarios were played with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// The version that was installed then.
    pub version: Option<String>,
    /// When.
    pub at: Timestamp,
    /// How many scenarios were played.
    pub played: usize,
    /// How many of them were compared with a recording.
    pub compared: usize,
    /// The scenarios in which it did otherwise.
    pub differs: Vec<String>,
}

/// A model that an agent can use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// What to ask for.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// What it is good for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether the agent takes it when nothing is asked for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
    /// How hard it can be told to think, in the agent's words, the least first; none when that cannot be chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<String>,
}

impl ModelInfo {
    /// How hard one of these models can be told to think; without a name, the default. Of one that is not listed it is only
    /// known which words its agent has at all.
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

/// A slash command that an agent knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommand {
    /// Without the slash.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

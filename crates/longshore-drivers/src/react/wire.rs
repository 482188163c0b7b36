//! The wire of the built-in agent: types of the model, one JSON object per line. `docs/react.md` describes it
//! for people.
//!
//! ```text
//!  hub                                   agent
//!  {"open": Launch}                ->         once, first
//!                                  <-    {"draft": SessionReady}
//!  {"tell":"prompt","with":{..}}   ->
//!                                  <-    {"draft": .., "history": ..}    whatever happens
//!                                  <-    {"delegate": {"call":..,"wish":"begin",..}}
//!  {"tell":"child","with":{..}}    ->
//!  {"models": id}                  ->         instead of an open
//!                                  <-    {"models": {"id":..,"models":[..]}}
//! ```

use longshore_model::anchor::Launch;
use longshore_model::capability::ModelInfo;
use longshore_model::command::AgentCommand;
use longshore_model::delegation::DelegationRequest;
use longshore_model::event::{Draft, Raw};
use longshore_model::id::QueryId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A line to the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum ToAgent {
    /// Begin this session.
    Open(Box<Launch>),
    /// A command of the session for the agent.
    Tell(AgentCommand),
    /// Request for the models. The process gets no other request.
    Models(QueryId),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Opening {
    Open(Box<Launch>),
    Models(QueryId),
}

impl ToAgent {
    /// Writes the line.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        match self {
            ToAgent::Open(launch) => serde_json::to_string(&Opening::Open(launch.clone())),
            ToAgent::Models(id) => serde_json::to_string(&Opening::Models(*id)),
            ToAgent::Tell(command) => serde_json::to_string(command),
        }
    }

    /// Reads the line.
    pub fn of_line(line: &str) -> Result<Self, serde_json::Error> {
        match serde_json::from_str::<Opening>(line) {
            Ok(Opening::Open(launch)) => Ok(ToAgent::Open(launch)),
            Ok(Opening::Models(id)) => Ok(ToAgent::Models(id)),
            Err(fault) => match serde_json::from_str(line) {
                Ok(command) => Ok(ToAgent::Tell(command)),
                Err(_) if line.starts_with("{\"open\"") || line.starts_with("{\"models\"") => Err(fault),
                Err(fault) => Err(fault),
            },
        }
    }
}

/// A line from the agent, with at least one of the fields. `H` is the agent's memory, which the driver only
/// passes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentLine<H = Value> {
    /// An event of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    /// An item that the agent needs back when it starts again.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub history: Option<H>,
    /// A request to another session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegate: Option<Delegate>,
    /// The answer to [`ToAgent::Models`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Models>,
}

/// A request to another session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delegate {
    /// The agent's id for the call.
    pub call: String,
    /// The content of the request.
    #[serde(flatten)]
    pub request: DelegationRequest,
}

/// The models, or why they are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Models {
    /// The id of the question.
    pub id: QueryId,
    /// All models.
    #[serde(default)]
    pub models: Vec<ModelInfo>,
    /// Why the models are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl<H> Default for AgentLine<H> {
    fn default() -> Self {
        Self { draft: None, history: None, delegate: None, models: None }
    }
}

impl<H: Serialize + DeserializeOwned> AgentLine<H> {
    /// A line with an event.
    pub fn draft(draft: Draft) -> Self {
        Self { draft: Some(draft), ..Self::default() }
    }

    /// A line with an item to remember.
    pub fn history(item: H) -> Self {
        Self { history: Some(item), ..Self::default() }
    }

    /// Adds an item to remember.
    #[must_use]
    pub fn remember(mut self, item: H) -> Self {
        self.history = Some(item);
        self
    }

    /// A line with a request to another session.
    pub fn delegate(call: &str, request: DelegationRequest) -> Self {
        Self { delegate: Some(Delegate { call: call.to_owned(), request }), ..Self::default() }
    }

    /// A line with the models, or the reason why they are unknown.
    pub fn models(id: QueryId, found: Result<Vec<ModelInfo>, String>) -> Self {
        let (models, error) = match found {
            Ok(models) => (models, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Self { models: Some(Models { id, models, error }), ..Self::default() }
    }

    /// Writes the line.
    pub fn to_line(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads the line.
    pub fn of_line(line: &Raw) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
    }
}

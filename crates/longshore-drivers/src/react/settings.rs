//! The settings of the built-in agent: its model, the address of the model, and its limits.

use longshore_model::service::{ModelApi, host_of};
use serde::{Deserialize, Serialize};

/// The variable with the agent's settings, as JSON.
pub const VARIABLE: &str = "LONGSHORE_REACT";
/// The variable with the names of the agents to which the agent may delegate, separated by commas.
pub const AGENTS_VARIABLE: &str = "LONGSHORE_REACT_AGENTS";

/// A person's settings for the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReactSettings {
    /// The API of the service. `chat` if it is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<ModelApi>,
    /// The address of the service, with its version: `https://api.openai.com/v1`. Without it, the agent uses
    /// the service whose key is in the environment.
    pub base_url: String,
    /// The model. If none, the first model that the service lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The NAME of the variable with the key. A person's own server needs no key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Additional headers of every request.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub headers: std::collections::BTreeMap<String, String>,
    /// Instructions for the model, after the agent's own instructions.
    pub instructions: String,
    /// The effort, if the service accepts one: `low`, `medium`, `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// How many tokens the model can hold at once.
    pub context_window: u64,
    /// The most tokens of one answer. The Messages API requires a number: 16000 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// How many requests to the model one turn may make.
    pub max_iterations: u32,
    /// How many tokens a session may use. 0 means no limit.
    pub max_tokens: u64,
    /// How much a session may cost. 0 means no limit. Needs the prices.
    pub max_cost_usd: f64,
    /// The price of a million input tokens.
    pub price_input: f64,
    /// The same for cached tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_cached: Option<f64>,
    /// The price of a million output tokens.
    pub price_output: f64,
    /// How often the agent tries a request again.
    pub max_retries: u32,
    /// The first wait before another try, in milliseconds. Each wait is twice as long as the previous one.
    pub retry_ms: u64,
    /// How long the service may be silent, in seconds.
    pub patience_s: u64,
    /// How long an MCP server may be silent during a call, in seconds.
    pub mcp_timeout_s: u64,
    /// The same for single servers, by their names.
    #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub mcp_timeouts_s: std::collections::BTreeMap<String, u64>,
    /// Whether commands may use the network.
    pub network: bool,
    /// Whether commands run in a sandbox, if the system has one.
    pub sandbox: bool,
    /// What may run without an approval, besides commands that only read: the first words of commands, and
    /// tools of MCP servers (`server.tool`, `server.*`).
    pub allow: Vec<String>,
}

impl Default for ReactSettings {
    fn default() -> Self {
        Self {
            api: None,
            base_url: String::new(),
            model: None,
            key_env: None,
            headers: Default::default(),
            instructions: String::new(),
            effort: None,
            context_window: 128_000,
            max_output: None,
            max_iterations: 200,
            max_tokens: 0,
            max_cost_usd: 0.0,
            price_input: 0.0,
            price_cached: None,
            price_output: 0.0,
            max_retries: 5,
            retry_ms: 1_000,
            patience_s: 300,
            mcp_timeout_s: 300,
            mcp_timeouts_s: Default::default(),
            network: false,
            sandbox: true,
            allow: Vec::new(),
        }
    }
}

/// Known services, by the variable with their key.
const KNOWN: [(&str, ModelApi, &str, &str); 2] = [
    ("OPENAI_API_KEY", ModelApi::Responses, "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    ("ANTHROPIC_API_KEY", ModelApi::Messages, "ANTHROPIC_BASE_URL", "https://api.anthropic.com/v1"),
];

/// The address of a service from a variable. Anthropic's own programs take the address without the version.
fn place_of(api: ModelApi, set: &str) -> String {
    let set = set.trim().trim_end_matches('/');
    match api {
        ModelApi::Messages if !set.ends_with("/v1") => format!("{set}/v1"),
        ModelApi::Messages | ModelApi::Chat | ModelApi::Responses => set.to_owned(),
    }
}

impl ReactSettings {
    /// The API of the model.
    pub fn api(&self) -> ModelApi {
        self.api.unwrap_or(ModelApi::Chat)
    }

    /// The host and the port of the service's address.
    pub fn place(&self) -> &str {
        host_of(&self.base_url)
    }

    /// The settings, completed from the environment. None if nothing names a model service.
    pub fn resolved(mut self, var: impl Fn(&str) -> Option<String>) -> Option<Self> {
        if !self.base_url.is_empty() {
            return Some(self);
        }
        let wanted = |api: ModelApi| self.api.is_none_or(|set| set == api);
        let (key, api, place, base) =
            KNOWN.into_iter().find(|(key, api, ..)| wanted(*api) && var(key).is_some())?;
        // A key goes to the address in the key's own variable, and to no other address, because it may be the
        // key of a gateway.
        let set = var(place).filter(|set| !set.trim().is_empty());
        self.base_url = set.map_or_else(|| base.to_owned(), |set| place_of(api, &set));
        self.api = Some(api);
        self.key_env.get_or_insert_with(|| key.to_owned());
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(
        settings: ReactSettings,
        vars: &[(&str, &str)],
    ) -> Option<(ModelApi, String, Option<String>)> {
        let var =
            |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        settings.resolved(var).map(|settings| (settings.api(), settings.base_url, settings.key_env))
    }

    #[test]
    fn a_key_in_the_environment_is_enough() {
        let found = |vars: &[(&str, &str)]| resolved(ReactSettings::default(), vars);
        assert_eq!(found(&[]), None);
        let anthropic = (
            ModelApi::Messages,
            "https://api.anthropic.com/v1".to_owned(),
            Some("ANTHROPIC_API_KEY".to_owned()),
        );
        assert_eq!(found(&[("ANTHROPIC_API_KEY", "k")]), Some(anthropic.clone()));
        let openai =
            found(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("OPENAI_BASE_URL", "http://x/v1")]);
        assert_eq!(
            openai,
            Some((ModelApi::Responses, "http://x/v1".to_owned(), Some("OPENAI_API_KEY".to_owned())))
        );
        for set in ["http://gateway:1", "http://gateway:1/", "http://gateway:1/v1", "http://gateway:1/v1/"] {
            let gateway = found(&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", set)]).unwrap();
            assert_eq!(gateway.1, "http://gateway:1/v1", "the key of a gateway goes to the gateway");
        }
        assert_eq!(
            found(&[("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", " ")]),
            Some(anthropic.clone())
        );
        let settings = ReactSettings { api: Some(ModelApi::Messages), ..ReactSettings::default() };
        assert_eq!(
            resolved(settings, &[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]),
            Some(anthropic)
        );
    }

    #[test]
    fn a_place_that_is_set_needs_no_key() {
        let settings =
            ReactSettings { base_url: "http://127.0.0.1:11434/v1".to_owned(), ..ReactSettings::default() };
        let expected = (ModelApi::Chat, "http://127.0.0.1:11434/v1".to_owned(), None);
        assert_eq!(resolved(settings, &[("OPENAI_API_KEY", "k")]), Some(expected));
    }
}

//! The built-in agent in the table: this program itself, available once the settings or the environment name
//! a model service.

use std::path::PathBuf;
use std::sync::Arc;

use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;
use serde_json::Value;

use super::settings::{ReactSettings, VARIABLE};
use super::{NAME, React, SET_UP, TITLE, VERB, capabilities, offline};
use crate::discover::{AgentSettings, Finding, Surroundings, find_program, is_program};
use crate::offline::{Offline, OfflinePlace};
use crate::spec::{Agent, AgentSpec, Invocation, Purpose};

/// An agent with the wire of the built-in agent: the built-in agent, the same with other settings, or another
/// program.
#[derive(Clone, Debug)]
pub struct ReactSpec {
    name: String,
    title: String,
    /// How a person sets the agent up.
    set_up: String,
    settings: ReactSettings,
    /// The program of the settings, and its arguments. Empty for the built-in agent.
    command: Vec<String>,
}

impl Default for ReactSpec {
    fn default() -> Self {
        Self {
            name: NAME.to_owned(),
            title: TITLE.to_owned(),
            set_up: SET_UP.to_owned(),
            settings: ReactSettings::default(),
            command: Vec::new(),
        }
    }
}

impl ReactSpec {
    /// An agent of the settings: the built-in agent under another name, or another program if there is a
    /// command.
    pub fn of_settings(name: &str, settings: &AgentSettings) -> Result<Agent, String> {
        let more: serde_json::Map<String, Value> = settings.more.clone().into_iter().collect();
        let own: ReactSettings =
            serde_json::from_value(Value::Object(more)).map_err(|error| error.to_string())?;
        let title = settings.title.clone().unwrap_or_else(|| match name {
            NAME => TITLE.to_owned(),
            other => other.to_owned(),
        });
        let set_up = SET_UP.replace(&format!("[agents.{NAME}]"), &format!("[agents.{name}]"));
        let (name, command) = (name.to_owned(), settings.command.clone());
        Ok(Arc::new(Self { name, title, set_up, settings: own, command }))
    }
}

impl AgentSpec for ReactSpec {
    fn name(&self) -> &str {
        &self.name
    }

    fn title(&self) -> &str {
        &self.title
    }

    fn install(&self) -> &str {
        &self.set_up
    }

    fn offline(&self, place: OfflinePlace<'_>) -> Option<Offline> {
        Some(offline::offline(place, self.settings.api))
    }

    fn driver_name(&self) -> &str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        capabilities()
    }

    fn configured(&self, settings: &AgentSettings) -> Result<Option<Agent>, String> {
        Self::of_settings(&self.name, settings).map(Some)
    }

    fn delegates(&self) -> bool {
        true
    }

    fn find(&self, settings: &AgentSettings, around: &Surroundings) -> Finding {
        if let Some(program) = self.command.first() {
            let place = PathBuf::from(program);
            return match place.is_absolute() && is_program(&place) {
                true => Finding { path: Some(place), remark: None },
                false => find_program(program, None, settings, around),
            };
        }
        let around = around.with(&settings.env);
        let var = |name: &str| around.var(name).and_then(|value| value.to_str().map(str::to_owned));
        if self.settings.clone().resolved(var).is_none() {
            return Finding { path: None, remark: None };
        }
        match settings.path.clone().map_or_else(std::env::current_exe, Ok) {
            Ok(path) => Finding { path: Some(path), remark: None },
            Err(error) => {
                let remark = format!("this program does not know where it is: {error}");
                Finding { path: None, remark: Some(remark) }
            }
        }
    }

    fn invocation(&self, _purpose: Purpose<'_>) -> Invocation {
        let arguments = match self.command.split_first() {
            Some((_, own)) => own.to_vec(),
            None => vec![VERB.to_owned()],
        };
        // The settings always serialize to JSON. They contain the name of the key's variable, and never the
        // key.
        let settings = serde_json::to_string(&self.settings).unwrap_or_default();
        Invocation { arguments, env: [(VARIABLE.to_owned(), settings)].into(), files: Vec::new() }
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(React::new())
    }
}

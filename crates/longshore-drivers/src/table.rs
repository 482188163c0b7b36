//! The table of agents: the built-in agents, one line each, and the agents of the settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::discover::{AgentSettings, Transport};
use crate::spec::{Agent, AgentSpec, Channel};
use crate::{acp, claude, codex, opencode, react};

/// An error in the agents of the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAgent {
    /// The agent is not built in, and has no driver in the settings.
    #[error(
        "the settings name an unknown agent `{name}`; the known agents are {known}. To add an agent, set its `driver` and its `command`"
    )]
    Unknown {
        /// The name of the agent.
        name: String,
        /// The built-in agents.
        known: String,
    },
    /// This driver takes no agents of the settings.
    #[error(
        "the agent `{name}` of the settings has the driver `{driver}`; the settings can add agents only with {known}"
    )]
    NoSuchDriver {
        /// The name of the agent.
        name: String,
        /// The driver in the settings.
        driver: String,
        /// The drivers that take agents of the settings.
        known: String,
    },
    /// The driver of the agent needs a command.
    #[error(
        "the agent `{0}` of the settings has no `command`; set it, as in command = [\"my-agent\", \"--acp\"]"
    )]
    NoCommand(String),
    /// The agent does not understand one of its settings.
    #[error("cannot understand the settings of the agent `{name}`: {fault}")]
    Misunderstood {
        /// The name of the agent.
        name: String,
        /// The fault.
        fault: String,
    },
    /// The program of the agent cannot call back.
    #[error("the agent `{0}` of the settings cannot call back; remove `transport = \"socket\"`")]
    NoSocket(String),
}

/// The agents that are built in.
pub fn built_in() -> Vec<Agent> {
    let mut agents: Vec<Agent> = vec![
        Arc::new(codex::CodexSpec),
        Arc::new(codex::exec::ExecSpec),
        Arc::new(claude::ClaudeSpec::default()),
        Arc::new(opencode::OpenCodeSpec),
        Arc::new(react::ReactSpec::default()),
    ];
    agents.extend(acp::rows().iter().map(acp::AcpSpec::known));
    agents
}

/// Makes an agent from the settings, under the settings' name.
type Maker = fn(name: &str, settings: &AgentSettings) -> Result<Agent, BadAgent>;

/// The drivers for agents of the settings, by their names there.
const MAKERS: &[(&str, Maker)] =
    &[(acp::NAME, make_acp), (claude::NAME, make_claude), (react::NAME, make_react)];

fn make_acp(name: &str, settings: &AgentSettings) -> Result<Agent, BadAgent> {
    of_command(name, settings, acp::AcpSpec::of_settings)
}

fn make_claude(name: &str, settings: &AgentSettings) -> Result<Agent, BadAgent> {
    of_command(name, settings, claude::ClaudeSpec::of_settings)
}

/// An agent that is another program. Only its command is known.
fn of_command(
    name: &str,
    settings: &AgentSettings,
    make: fn(&str, &AgentSettings) -> Agent,
) -> Result<Agent, BadAgent> {
    if settings.command.is_empty() {
        return Err(BadAgent::NoCommand(name.to_owned()));
    }
    let agent = make(name, settings);
    agent.configured(settings).map_err(|fault| misunderstood(name, fault))?;
    Ok(agent)
}

/// Without a command, it is the built-in agent with other settings, for example another model.
fn make_react(name: &str, settings: &AgentSettings) -> Result<Agent, BadAgent> {
    react::ReactSpec::of_settings(name, settings).map_err(|fault| misunderstood(name, fault))
}

fn misunderstood(name: &str, fault: String) -> BadAgent {
    BadAgent::Misunderstood { name: name.to_owned(), fault }
}

/// All agents: the built-in agents, then the agents of the settings. An agent of the settings with a driver
/// replaces a built-in agent with the same name.
pub fn all(settings: &BTreeMap<String, AgentSettings>) -> Result<Vec<Agent>, BadAgent> {
    let mut agents = built_in();
    for (name, settings) in settings {
        let place = agents.iter().position(|agent| agent.name() == name);
        match (&settings.driver, place) {
            (Some(driver), Some(place)) => agents[place] = make(name, driver, settings)?,
            (Some(driver), None) => agents.push(make(name, driver, settings)?),
            (None, Some(place)) => {
                let made = agents[place].configured(settings).map_err(|fault| misunderstood(name, fault))?;
                if let Some(agent) = made {
                    agents[place] = agent;
                }
            }
            (None, None) => {
                let known = agents.iter().map(|agent| agent.name()).collect::<Vec<_>>().join(", ");
                return Err(BadAgent::Unknown { name: name.clone(), known });
            }
        }
    }
    for agent in &agents {
        let wanted = settings.get(agent.name()).filter(|settings| settings.transport == Transport::Socket);
        if wanted.is_some_and(|settings| !calls_back(&**agent, settings)) {
            return Err(BadAgent::NoSocket(agent.name().to_owned()));
        }
    }
    Ok(agents)
}

/// Whether the programs of an agent call back for its sessions.
pub fn calls_back(agent: &dyn AgentSpec, settings: &AgentSettings) -> bool {
    match agent.channel(settings) {
        Channel::Socket(_) => true,
        Channel::Lines | Channel::Turns | Channel::Http(_) => false,
    }
}

fn make(name: &str, driver: &str, settings: &AgentSettings) -> Result<Agent, BadAgent> {
    let Some((_, maker)) = MAKERS.iter().find(|(known, _)| *known == driver) else {
        let known = MAKERS.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
        let (name, driver) = (name.to_owned(), driver.to_owned());
        return Err(BadAgent::NoSuchDriver { name, driver, known });
    };
    maker(name, settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str, settings: AgentSettings) -> Result<Vec<Agent>, BadAgent> {
        all(&[(name.to_owned(), settings)].into())
    }

    #[test]
    fn every_name_is_there_once_and_can_be_typed() {
        let agents = all(&BTreeMap::new()).unwrap();
        let mut names: Vec<_> = agents.iter().map(|agent| agent.name()).collect();
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')));
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!((names.len(), count > 0), (count, true));
    }

    #[test]
    fn a_name_that_says_nothing_is_refused() {
        let error = with("codx", AgentSettings::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("the settings name an unknown agent `codx`; the known agents are codex")
        );
        let driver = AgentSettings { driver: Some("telepathy".to_owned()), ..AgentSettings::default() };
        let error = with("mine", driver).unwrap_err();
        assert!(matches!(error, BadAgent::NoSuchDriver { .. }), "{error}");
    }

    #[test]
    fn what_an_agent_does_not_understand_is_refused() {
        let more = |key: &str, value: serde_json::Value| AgentSettings {
            more: [(key.to_owned(), value)].into(),
            ..AgentSettings::default()
        };
        for (name, key) in [("codex", "base_url"), ("react", "base_ulr")] {
            let error = with(name, more(key, "x".into())).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(key), "{error}");
        }
        assert!(with("react", more("base_url", "http://127.0.0.1:1/v1".into())).is_ok());
        let local = AgentSettings { driver: Some("react".to_owned()), ..more("model", "qwen".into()) };
        assert_eq!(with("local", local).unwrap().last().unwrap().title(), "local");
    }

    #[test]
    fn only_those_that_can_are_told_to_call_back() {
        let socket = AgentSettings { transport: Transport::Socket, ..AgentSettings::default() };
        let claude =
            with("claude", socket.clone()).unwrap().into_iter().find(|agent| agent.name() == "claude");
        assert!(calls_back(&*claude.unwrap(), &socket));
        assert_eq!(with("codex", socket.clone()).unwrap_err(), BadAgent::NoSocket("codex".to_owned()));
        let (driver, command) = (Some("claude".to_owned()), vec!["node".to_owned(), "cli.js".to_owned()]);
        let agents = with("mine", AgentSettings { driver, command, ..socket.clone() }).unwrap();
        let mine = agents.last().unwrap();
        assert_eq!((mine.name(), calls_back(&**mine, &socket)), ("mine", true));
        assert_eq!(mine.invocation(crate::spec::Purpose::Machine).arguments[..2], ["cli.js", "-p"]);
    }

    #[test]
    fn settings_of_a_built_in_agent_add_none() {
        let settings = AgentSettings { args: vec!["--fast".to_owned()], ..AgentSettings::default() };
        assert_eq!(with("codex", settings).unwrap().len(), built_in().len());
    }
}

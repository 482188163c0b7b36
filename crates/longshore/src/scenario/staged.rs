//! An agent on its stage. It plays one scenario after another in one session of one process, as long as
//! nothing goes wrong.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use longshore_drivers::capture::Capture;
use longshore_drivers::spec::Channel;
use longshore_model::event::Event;

use super::installed::InstalledAgent;
use super::play::ScenarioClient;
use super::set::Scenario;
use super::shape::Shape;

/// The result of a scenario.
#[derive(Debug)]
pub struct Played {
    /// The shape of the scenario.
    pub shape: Shape,
    /// The version that the agent reports, or else the version that its program reports.
    pub version: Option<String>,
    /// Why the agent could not play the scenario to its end.
    pub fault: Option<String>,
}

/// An agent and the session in which it plays.
pub struct StagedAgent<'a> {
    found: &'a InstalledAgent,
    /// The folder in which stages are set up. Each stage is deleted afterwards.
    below: &'a Path,
    /// None before the first scenario, and after a stage was removed.
    client: Option<ScenarioClient>,
}

impl<'a> StagedAgent<'a> {
    /// An agent that has not played yet.
    pub fn new(found: &'a InstalledAgent, below: &'a Path) -> Self {
        Self { found, below, client: None }
    }

    /// The agent.
    pub fn found(&self) -> &InstalledAgent {
        self.found
    }

    /// Plays a scenario after the previous ones. A caller that rejects the result calls
    /// [`strike`](Self::strike), so that the next scenario begins on a new stage.
    pub async fn play(&mut self, scenario: &Scenario) -> Result<Played> {
        let mode = scenario.mode_for(&self.found.agent.capabilities());
        if scenario.is_about_opening() || self.starts_for_each_turn() {
            self.strike().await;
        }
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(ScenarioClient::open(self.found, self.below, mode).await?),
        };
        let fault = client.perform(scenario, mode).await.err().map(|error| format!("{error:#}"));
        let version = client.version().or_else(|| self.found.version.clone());
        Ok(Played { shape: client.shape(scenario), version, fault })
    }

    /// The events of the stage's session.
    pub fn events(&self) -> &[Arc<Event>] {
        self.client.as_ref().map_or(&[], ScenarioClient::events)
    }

    /// An agent with one process per turn gains nothing from a stage that stays.
    fn starts_for_each_turn(&self) -> bool {
        match self.found.agent.channel(&self.found.settings) {
            Channel::Turns => true,
            Channel::Lines | Channel::Http(_) | Channel::Socket(_) => false,
        }
    }

    /// Ends the agent and deletes its stage.
    pub async fn strike(&mut self) {
        if let Some(client) = self.client.take() {
            client.leave().await;
        }
    }

    /// Ends the agent, deletes its stage, and returns the wire of this scenario as a capture.
    pub async fn capture(mut self, scenario: &Scenario, version: Option<&str>) -> Capture {
        let agent = &self.found.agent;
        let entries = match self.client.take() {
            Some(client) => client.leave().await,
            None => Vec::new(),
        };
        Capture {
            driver: agent.driver_name().to_owned(),
            agent: [Some(agent.name()), version].into_iter().flatten().collect::<Vec<_>>().join("-"),
            scenario: scenario.name.clone(),
            entries,
        }
    }
}

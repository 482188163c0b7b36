//! The seam between the door that programs call and the anchor that holds their processes: neither knows the other.

use std::collections::BTreeSet;

use longshore_drivers::anchor::AnchorConfig;
use longshore_drivers::table;
use longshore_drivers::transport::socket::{CallbackLine as Held, CallbackRegistry};
use longshore_facades::callback::{Callbacks, ProgramLine};
use longshore_model::id::SessionId;

/// The programs of our own anchor that call back.
pub(crate) struct CalledBack {
    reception: CallbackRegistry,
    /// The agents whose programs do.
    agents: BTreeSet<String>,
}

impl CalledBack {
    pub(crate) fn of(anchor: &AnchorConfig, reception: CallbackRegistry) -> Self {
        let calls_back = |name: &str| anchor.settings.get(name).cloned().unwrap_or_default();
        let agents = anchor.agents.iter();
        let agents = agents.filter(|agent| table::calls_back(&***agent, &calls_back(agent.name())));
        Self { reception, agents: agents.map(|agent| agent.name().to_owned()).collect() }
    }
}

impl Callbacks for CalledBack {
    fn expects(&self, agent: &str) -> bool {
        self.agents.contains(agent)
    }

    fn knows(&self, token: &str) -> bool {
        self.reception.knows(token)
    }

    fn answer(&self, session: SessionId, token: &str) -> Option<ProgramLine> {
        let Held { said, told, arrived, longest } = self.reception.answer(session, token)?;
        Some(ProgramLine { said, told, arrived, longest })
    }
}

//! An agent whose program calls back; it speaks like the fake one.

use std::sync::Arc;

use longshore_drivers::anchor::AnchorConfig;
use longshore_drivers::discover::{AgentSettings, Finding, Surroundings};
use longshore_drivers::spec::{Agent, AgentSpec, CallBack, Channel, Invocation, Purpose};
use longshore_drivers::transport::socket::CallbackRegistry;
use longshore_model::capability::Capabilities;
use longshore_model::driver::Driver;
use serde_json::Value;

use super::{Parrot, Rig};

/// The variable that tells it its token.
pub(crate) const TOKEN: &str = "FAKE_TOKEN";
/// After which it does not come back.
pub(crate) const FAREWELL: u16 = 4001;

impl Rig {
    /// An anchor whose agent `fake` calls back.
    pub(crate) fn caller(
        script: Value,
        reception: CallbackRegistry,
        change: impl FnOnce(&mut AnchorConfig),
    ) -> Self {
        Self::with(script, 64, |config| {
            config.agents = vec![Arc::new(Caller) as Agent];
            config.reception = reception;
            change(config);
        })
    }
}

#[derive(Debug)]
struct Caller;

impl AgentSpec for Caller {
    fn name(&self) -> &str {
        "fake"
    }

    fn title(&self) -> &str {
        "Fake"
    }

    fn install(&self) -> &str {
        "make fake"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn find(&self, settings: &AgentSettings, _: &Surroundings) -> Finding {
        Finding { path: settings.path.clone(), remark: None }
    }

    fn invocation(&self, _: Purpose<'_>) -> Invocation {
        Invocation::default()
    }

    fn channel(&self, _: &AgentSettings) -> Channel {
        Channel::Socket(CallBack { address: "--call", token: TOKEN, farewell: FAREWELL })
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Parrot::default())
    }
}

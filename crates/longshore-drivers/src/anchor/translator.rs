//! A driver and what it needs to be called: the time, ids, and a net for when it falls.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use longshore_model::driver::{Driver, Input, Output};
use longshore_model::id::{Context, Ids};
use longshore_model::time::Timestamp;

use crate::spec::Agent;

/// A driver that cannot take anything else down with it.
pub(crate) struct Translator {
    /// None once it has panicked: what state it was left in, nobody knows.
    driver: Option<Box<dyn Driver>>,
    ids: Ids,
    /// Of its ids.
    seed: u64,
}

impl Translator {
    /// A driver with a source of ids of its own.
    pub(crate) fn new(agent: &Agent) -> Result<Self, String> {
        let seed = getrandom::u64().map_err(|error| format!("the system gives no random bytes: {error}"))?;
        let driver = catch_unwind(AssertUnwindSafe(|| agent.driver())).map_err(|panic| {
            format!(
                "its driver failed; this is a fault in Longshore, please report it: {}",
                words_of(&*panic)
            )
        })?;
        Ok(Self { driver: Some(driver), ids: Ids::seeded(seed), seed })
    }

    /// With it, the same input makes the same ids once more.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether it still translates.
    pub(crate) fn works(&self) -> bool {
        self.driver.is_some()
    }

    /// Calls the driver. What it said before it panicked stays in `out`; the error is what it panicked with.
    pub(crate) fn handle(&mut self, input: Input, now: Timestamp, out: &mut Output) -> Result<(), String> {
        let Some(driver) = &mut self.driver else { return Ok(()) };
        let mut cx = Context { now, ids: &mut self.ids };
        let result = catch_unwind(AssertUnwindSafe(|| driver.handle(input, &mut cx, out)));
        result.map_err(|panic| {
            self.driver = None;
            words_of(&*panic)
        })
    }

    /// When the driver wants a tick.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        self.driver.as_ref()?.deadline()
    }
}

/// What a panic said.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".to_owned())
}

//! A driver with the time and ids that it needs. A panic of the driver is caught here.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use longshore_model::driver::{Driver, Input, Output};
use longshore_model::id::{Context, Ids};
use longshore_model::time::Timestamp;

use crate::spec::Agent;

/// A driver whose panic harms nothing else.
pub(crate) struct Translator {
    /// None after a panic, because the driver's state is then unknown.
    driver: Option<Box<dyn Driver>>,
    ids: Ids,
    /// The seed of `ids`.
    seed: u64,
}

impl Translator {
    /// A new driver, with its own source of ids.
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

    /// The seed of the ids. With it, the same input makes the same ids again.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether the driver still translates.
    pub(crate) fn works(&self) -> bool {
        self.driver.is_some()
    }

    /// Calls the driver. Output from before a panic stays in `out`. The error is the message of the panic.
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

/// The message of a panic.
fn words_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".to_owned())
}

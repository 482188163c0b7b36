//! Chooses the step that answers a request, and keeps the remaining steps.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use serde_json::{Value, json};

use super::chunks::{Chunks, Cutting};
use super::step::{Action, Repeat, RequestCue, Say, Script, ScriptStep, ScriptUsage, StepAnswer};

/// The model's text when no step fits a request.
pub const EXHAUSTED: &str = "(script exhausted)";

/// The remaining steps of a script.
#[derive(Debug, Default)]
pub struct ScriptPlayer {
    waiting: VecDeque<PendingStep>,
    /// How many steps were ever added. Each step keeps the number by which errors name it.
    added: usize,
}

#[derive(Debug)]
struct PendingStep {
    number: usize,
    left: Repeat,
    step: Arc<ScriptStep>,
}

/// The step that answers a request.
#[derive(Debug, Clone)]
pub struct StepChoice {
    /// The number of the step in its script, from 1. None if no step fits the request.
    pub number: Option<usize>,
    /// The step to play.
    pub step: Arc<ScriptStep>,
}

/// A remaining step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftStep {
    /// The number of the step in its script, from 1.
    pub number: usize,
    /// How many more requests the step answers. None if there is no limit.
    pub times: Option<u32>,
    /// The step as the author wrote it.
    pub step: Value,
}

impl ScriptPlayer {
    /// A player at the beginning of a script.
    pub fn new(script: Script) -> Self {
        let mut player = ScriptPlayer::default();
        player.push(script);
        player
    }

    /// Appends the steps of a script.
    pub fn push(&mut self, script: Script) {
        for step in script.steps {
            self.added += 1;
            self.waiting.push_back(PendingStep {
                number: self.added,
                left: step.repeat,
                step: Arc::new(step),
            });
        }
    }

    /// Takes the step for a request.
    ///
    /// A step whose `when` fits wins over steps without `when`. So each session that a script names gets its own steps
    /// in order, whichever session asks first, and other sessions share the rest.
    pub fn next(&mut self, heard: &RequestCue<'_>) -> StepChoice {
        let asks_for_it = |waiting: &PendingStep| {
            let when = waiting.step.when.as_ref();
            when.is_some_and(|when| when.fits(heard))
        };
        let claimed = self.waiting.iter().position(asks_for_it);
        let open = || self.waiting.iter().position(|w| w.step.when.is_none());
        match claimed.or_else(open) {
            Some(at) => self.take(at),
            None => StepChoice { number: None, step: exhausted() },
        }
    }

    fn take(&mut self, at: usize) -> StepChoice {
        let waiting = &mut self.waiting[at];
        let chosen = StepChoice { number: Some(waiting.number), step: Arc::clone(&waiting.step) };
        match waiting.left {
            Repeat::Forever => {}
            Repeat::Times(times) if times > 1 => waiting.left = Repeat::Times(times - 1),
            Repeat::Times(_) => {
                self.waiting.remove(at);
            }
        }
        chosen
    }

    /// The remaining steps, in order.
    pub fn left(&self) -> Vec<LeftStep> {
        let left = |waiting: &PendingStep| LeftStep {
            number: waiting.number,
            times: match waiting.left {
                Repeat::Times(times) => Some(times),
                Repeat::Forever => None,
            },
            step: waiting.step.source.clone(),
        };
        self.waiting.iter().map(left).collect()
    }
}

/// The step for a request that no step of the script fits.
fn exhausted() -> Arc<ScriptStep> {
    static STEP: LazyLock<Arc<ScriptStep>> = LazyLock::new(|| {
        let text = Chunks::cut(EXHAUSTED, Cutting::Count(1), std::time::Duration::ZERO);
        Arc::new(ScriptStep {
            note: None,
            when: None,
            repeat: Repeat::Forever,
            play: StepAnswer::Stream {
                actions: vec![Action::Say(Say { text, id: None, phase: None, unfinished: false })],
                usage: ScriptUsage::default(),
                headers: Default::default(),
            },
            source: json!({"do": [{"say": EXHAUSTED}]}),
        })
    });
    Arc::clone(&STEP)
}

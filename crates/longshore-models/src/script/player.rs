//! Chooses the step that answers a request, and keeps the steps that are left.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use serde_json::{Value, json};

use super::chunks::{Chunks, Cutting};
use super::step::{Action, Repeat, RequestCue, Say, Script, ScriptStep, ScriptUsage, StepAnswer};

/// The model's text when no step fits a request.
pub const EXHAUSTED: &str = "(script exhausted)";

/// The steps that are still to be played.
#[derive(Debug, Default)]
pub struct ScriptPlayer {
    waiting: VecDeque<PendingStep>,
    /// How many steps were ever added, so that each keeps the number that errors call it by.
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
    /// The number of the step in its script, from 1; none when the script had nothing for the request.
    pub number: Option<usize>,
    /// What to play.
    pub step: Arc<ScriptStep>,
}

/// A step that is not used up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftStep {
    /// Its number in the script, from 1.
    pub number: usize,
    /// How many more requests it answers; none when it never ends.
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
    /// A step whose `when` fits wins over steps without `when`. So the sessions that a script names get their
    /// own steps in order, whichever asks first, and the others share the rest.
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

    /// The steps that are not used up, in order.
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

/// The step of a script that has nothing left to say.
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

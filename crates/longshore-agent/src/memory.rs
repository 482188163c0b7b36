//! The memory of an agent that starts again: a fold of its own lines from the log.

use std::collections::{HashMap, HashSet};

use longshore_model::command::Attachment;
use longshore_model::event::{Body, Raw};
use longshore_model::id::PromptId;
use longshore_model::item::PlanStep;
use longshore_model::usage::Usage;
use longshore_models::history::{History, HistoryItem, HistoryPart};

use crate::AgentLine;

/// The memory of an agent that starts again, from the lines of its session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The conversation.
    pub history: History,
    /// The rules that a person allowed for the whole session.
    pub rules: Vec<String>,
    /// The last plan.
    pub plan: Vec<PlanStep>,
    /// The tokens that the session has used.
    pub usage: Usage,
    /// The cost of the session.
    pub cost_usd: f64,
}

impl Memory {
    /// Folds the lines of a session. Lines without memory are skipped.
    pub fn of_lines(lines: &[Raw]) -> Self {
        let said: Vec<AgentLine> = lines.iter().filter_map(|line| AgentLine::of_line(line).ok()).collect();
        let heard = |said: &AgentLine| match &said.history {
            Some(HistoryItem::Message { prompt, .. }) => *prompt,
            Some(_) | None => None,
        };
        let heard: HashSet<PromptId> = said.iter().filter_map(heard).collect();
        let mut attached: HashMap<PromptId, Vec<Attachment>> = HashMap::new();
        let mut memory = Memory::default();
        for AgentLine { draft, history, .. } in said {
            if let Some(draft) = draft {
                match draft.body {
                    Body::UserMessage { prompt, attachments, .. } => {
                        match prompt.filter(|it| heard.contains(it)) {
                            Some(prompt) => drop(attached.insert(prompt, attachments)),
                            // The agent that got this prompt died before it could confirm it.
                            None => {
                                let text = draft.text.unwrap_or_default();
                                memory.history.push(HistoryItem::user(prompt, &text, &attachments));
                            }
                        }
                    }
                    Body::PlanUpdated { steps } => memory.plan = steps,
                    Body::UsageUpdated(usage) => memory.usage = usage,
                    Body::TurnFinished(end) => memory.cost_usd += end.cost_usd.unwrap_or(0.0),
                    _ => {}
                }
            }
            match history {
                Some(HistoryItem::Allowed { rules }) => memory.rules.extend(rules),
                Some(HistoryItem::Message { role, step, prompt, mut content }) => {
                    let with = prompt.and_then(|prompt| attached.remove(&prompt)).unwrap_or_default();
                    content.extend(with.into_iter().map(HistoryPart::Attached));
                    memory.history.push(HistoryItem::Message { role, step, prompt, content });
                }
                Some(item) => memory.history.push(item),
                None => {}
            }
        }
        memory
    }
}

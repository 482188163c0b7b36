//! The commands of a session to its agent.

use longshore_model::approval::{ApprovalDecision, Decision, QuestionAnswer};
use longshore_model::command::{AgentCommand, Attachment};
use longshore_model::delegation::ChildNews;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ApprovalId, Context, PromptId, QuestionId, TurnId};
use longshore_model::item::{ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{Delegation, DelegationEnd, TurnOutcome};

use super::calls::CallStage;
use super::turn::MachineTurn;
use super::{Effect, Effects, Machine, compact, session_tools};
use crate::AgentLine;
use crate::tools::{Permit, ToolResult};
use longshore_models::history::HistoryItem;

/// A prompt of a person that the history does not have yet.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UserPrompt {
    pub(super) prompt: PromptId,
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
}

impl Machine {
    pub(super) fn told(&mut self, command: AgentCommand, cx: &mut Context<'_>, out: &mut Effects) {
        match command {
            AgentCommand::Prompt { turn, prompt, text, attachments } => {
                self.prompt(turn, UserPrompt { prompt, text, attachments }, cx, out);
            }
            AgentCommand::Steer { turn, prompt, text, attachments } => {
                let words = UserPrompt { prompt, text, attachments };
                match self.turn.as_mut().filter(|running| running.id == turn) {
                    Some(running) => running.steered.push(words),
                    // The turn ended just before. The history takes the prompt, and the model answers it in the next
                    // turn.
                    None => self.hear(words, out),
                }
            }
            AgentCommand::Interrupt { turn } => {
                if self.turn.as_ref().is_some_and(|running| running.id == turn) {
                    self.interrupt(cx, out);
                }
            }
            AgentCommand::Decide { approval, decision } => self.decided(approval, decision, cx, out),
            AgentCommand::Answer { question, answer } => self.answered(question, answer, cx, out),
            AgentCommand::SetMode(mode) => {
                if let Some(setup) = &mut self.setup {
                    setup.mode = mode;
                }
            }
            AgentCommand::SetModel(model) => {
                if let Some(setup) = &mut self.setup {
                    setup.model = Some(model);
                }
            }
            AgentCommand::Child { call, news } => self.child(&call, news, cx, out),
            AgentCommand::SetEffort(effort) => {
                if let Some(setup) = &mut self.setup {
                    setup.effort = Some(effort);
                }
            }
            // The agent's conversations have no titles of their own, and the hub alone keeps them.
            AgentCommand::Rename(_) | AgentCommand::Archive(_) => {}
        }
    }

    fn prompt(&mut self, turn: TurnId, words: UserPrompt, cx: &mut Context<'_>, out: &mut Effects) {
        if self.setup.is_none() {
            return;
        }
        if self.turn.is_some() {
            // The hub sends no prompt during a turn. If it does, the new prompt replaces the turn.
            self.interrupt(cx, out);
        }
        self.turn = Some(MachineTurn::new(turn, cx.now));
        if words.text.trim() == format!("/{}", compact::COMMAND) {
            return self.compact_and_rest(cx, out);
        }
        self.hear(words, out);
        self.go_on(cx, out);
    }

    /// Adds a prompt to the history. The line leaves the attachments out: the log already has them.
    pub(super) fn hear(&mut self, words: UserPrompt, out: &mut Effects) {
        let UserPrompt { prompt, text, attachments } = words;
        self.history.push(HistoryItem::user(Some(prompt), &text, &attachments));
        out.push(Effect::Say(Box::new(AgentLine::history(HistoryItem::user(Some(prompt), &text, &[])))));
    }

    fn decided(
        &mut self,
        approval: ApprovalId,
        decided: ApprovalDecision,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        let mode = self.setup.as_ref().map(|setup| setup.mode).unwrap_or_default();
        let Some(turn) = &mut self.turn else { return };
        let waits = |stage: &CallStage| matches!(stage, CallStage::Asked { approval: asked, .. } if *asked == approval);
        let Some(call) = turn.calls.iter_mut().find(|call| waits(&call.stage)) else { return };
        let id = call.id.clone();
        if !decided.decision.allows() {
            let why = decided.message.map(|words| format!(": {words}")).unwrap_or_default();
            let mut result = ToolResult::failed(format!("the user declined this{why}"));
            result.outcome = ToolOutcome::of(ToolStatus::Declined);
            self.finish_call(&id, result, out);
            return match decided.decision {
                Decision::Cancel => self.interrupt(cx, out),
                Decision::Deny | Decision::AllowOnce | Decision::AllowSession | Decision::AllowAlways => {
                    self.schedule(cx, out);
                }
            };
        }
        if let Some(input) = decided.input.filter(serde_json::Value::is_object) {
            call.arguments = input;
        }
        let always = match &mut call.stage {
            CallStage::Asked { always, .. } if decided.decision != Decision::AllowOnce => {
                std::mem::take(always)
            }
            _ => Vec::new(),
        };
        call.stage = CallStage::Ready(Permit { mode, approved: true });
        if !always.is_empty() {
            self.say(AgentLine::history(HistoryItem::Allowed { rules: always.clone() }), out);
            out.push(Effect::Allow(always));
        }
        self.schedule(cx, out);
    }

    fn answered(
        &mut self,
        question: QuestionId,
        answer: QuestionAnswer,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        let Some(turn) = &mut self.turn else { return };
        if let Some(at) = turn.wondering.iter().position(|(asked, _)| *asked == question) {
            let (_, asker) = turn.wondering.remove(at);
            return out.push(Effect::Reply { asker, answer });
        }
        let waits = |stage: &CallStage| matches!(stage, CallStage::Questioned(asked) if *asked == question);
        let Some(call) = turn.calls.iter().find(|call| waits(&call.stage)) else { return };
        let id = call.id.clone();
        self.finish_call(&id, session_tools::answer(&answer), out);
        self.schedule(cx, out);
    }

    fn child(&mut self, call: &str, news: ChildNews, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(turn) = &mut self.turn else { return };
        let (id, calls) = (turn.id, &mut turn.calls);
        let Some(acting) = calls.iter_mut().find(|acting| acting.id == call) else { return };
        let CallStage::Delegated { child, task } = &mut acting.stage else { return };
        let item = acting.item;
        match news {
            ChildNews::Opened { child: opened, agent } => {
                *child = Some(opened);
                let started = Body::DelegationStarted(Delegation { child: opened, agent });
                let draft = Draft::new(started).turn(id).item(item).text(task.clone());
                self.say(AgentLine::draft(draft), out);
            }
            ChildNews::Said { text } => {
                self.say(
                    AgentLine::draft(Draft::new(Body::ToolOutputDelta).turn(id).item(item).text(text)),
                    out,
                );
            }
            ChildNews::Ended { outcome, text } => {
                if let Some(child) = *child {
                    let ended = Body::DelegationFinished(DelegationEnd { child, outcome });
                    let draft = Draft::new(ended).turn(id).item(item).text(text.clone());
                    self.say(AgentLine::draft(draft), out);
                }
                let result = match outcome {
                    TurnOutcome::Completed => ToolResult::done(text),
                    TurnOutcome::Failed => ToolResult::failed(format!("it failed: {text}")),
                    TurnOutcome::Interrupted => {
                        ToolResult::ended(ToolStatus::Cancelled, format!("it was interrupted. {text}"))
                    }
                };
                self.finish_call(call, result, out);
                self.schedule(cx, out);
            }
        }
    }
}

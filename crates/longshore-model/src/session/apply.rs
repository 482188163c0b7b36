//! Applies events: how each event changes the state of a session.

use super::bounds::OPEN_TEXT_LIMIT;
use super::past::is_told_by_agent;
use super::row::{PREVIEW_CHARS, tail};
use super::{
    AgentState, OPEN_TEXTS_LIMIT, OpenDelegation, OpenItem, OpenKind, PROMPTS_HERE_LIMIT, PromptReceipt,
    Resolution, RunningTurn, Session, WaitingPrompt, brief, title_of,
};
use crate::event::{Body, Event};
use crate::id::{ItemId, PromptId};
use crate::info::{OpenApproval, OpenQuestion, QueuedPrompt};
use crate::item::ToolStatus;
use crate::lifecycle::{FaultCode, SleepCause, TurnErrorCode};

impl Session {
    /// Applies one event of this session. An event that is already applied changes nothing.
    pub fn apply(&mut self, event: &Event) {
        if event.seq <= self.head {
            return;
        }
        self.head = event.seq;
        // A fork begins with events that are older than the fork.
        self.updated_at = self.updated_at.max(event.at);
        self.acts.note(event);
        self.note_heard(event);
        self.note_heard_at(event);
        match &event.body {
            Body::UserMessage { prompt, .. } => {
                if let Some(prompt) = prompt {
                    self.note_said_here(*prompt, event);
                    self.unqueue(*prompt);
                }
                if !self.titled {
                    self.title = title_of(event.text());
                    self.titled = !self.title.is_empty();
                }
            }

            Body::MessageStarted => self.begin(event, OpenKind::Message),
            Body::MessageDelta => self.grow(event, OpenKind::Message),
            Body::MessageDone { .. } => {
                self.end(event.item);
                self.last_text = tail(event.text().trim(), PREVIEW_CHARS).to_owned();
            }
            Body::ReasoningStarted => self.begin(event, OpenKind::Reasoning),
            Body::ReasoningDelta => self.grow(event, OpenKind::Reasoning),
            Body::ReasoningDone { .. } => self.end(event.item),
            Body::PlanStarted => self.begin(event, OpenKind::Plan),
            Body::PlanDelta => self.grow(event, OpenKind::Plan),
            Body::PlanUpdated { .. } => self.end(event.item),
            Body::ToolStarted(_) => self.begin(event, OpenKind::Tool),
            Body::ToolOutputDelta => self.grow(event, OpenKind::Tool),
            Body::ToolUpdated(_) => {}
            Body::ToolFinished(_) => self.end(event.item),
            Body::FileDiff(diff) => match diff.status {
                ToolStatus::Running => self.begin(event, OpenKind::Diff),
                ToolStatus::Completed | ToolStatus::Failed | ToolStatus::Declined | ToolStatus::Cancelled => {
                    self.end(event.item.filter(|item| self.is_open(*item, OpenKind::Diff)));
                }
            },
            Body::TurnDiff => {}

            Body::ApprovalRequested(request) => {
                let open = OpenApproval {
                    session: self.id,
                    turn: event.turn,
                    item: event.item,
                    seq: event.seq,
                    requested_at: event.at,
                    reason: event.text.clone(),
                    cut: false,
                    request: request.clone(),
                };
                self.approvals.insert(request.approval, brief::approval_entry(open));
            }
            Body::ApprovalDecided { approval, decision } => {
                let asked = self.approvals.remove(approval).map(|ask| ask.whole);
                if let Some((asked, item)) = asked.and_then(|asked| Some((asked.requested_at, asked.item?)))
                    && let Some(open) = self.open.get_mut(&item)
                {
                    open.waited_ms += event.at.millis_since(asked);
                }
                let bytes = brief::bytes_of_decision(decision);
                self.approvals_past.insert_sized(*approval, Resolution::Answered(decision.clone()), bytes);
            }
            Body::ApprovalExpired { approval } => {
                self.approvals.remove(approval);
                let expired = Resolution::Expired(event.text().to_owned());
                self.approvals_past.insert_sized(*approval, expired, event.text().len());
            }
            Body::QuestionAsked(request) => {
                let open = OpenQuestion {
                    session: self.id,
                    turn: event.turn,
                    seq: event.seq,
                    asked_at: event.at,
                    text: event.text.clone(),
                    cut: false,
                    request: request.clone(),
                };
                self.questions.insert(request.question, brief::question_entry(open));
            }
            Body::QuestionAnswered { question, answer } => {
                self.questions.remove(question);
                let bytes = brief::bytes_of_answer(answer);
                self.questions_past.insert_sized(*question, Resolution::Answered(answer.clone()), bytes);
            }
            Body::QuestionExpired { question } => {
                self.questions.remove(question);
                let expired = Resolution::Expired(event.text().to_owned());
                self.questions_past.insert_sized(*question, expired, event.text().len());
            }
            Body::DelegationStarted(delegation) => {
                let (begun, since) = (event.id(), event.seq);
                let (turn, item) = (event.turn, event.item);
                let open = OpenDelegation { begun, since, turn, item, waiting: false };
                self.delegations.insert(delegation.child, open);
                self.delegated.insert(delegation.child, ());
            }
            Body::DelegationWaiting { child, waiting } => {
                if let Some(open) = self.delegations.get_mut(child) {
                    open.waiting = *waiting;
                }
            }
            Body::DelegationFinished(end) => {
                self.delegations.remove(&end.child);
            }

            Body::TurnStarted { .. } => {
                self.spoken |= self.native.is_some();
                self.turn = event.turn.map(|id| RunningTurn { id, begun: event.id(), started: event.at });
                self.usage_before = self.usage;
                self.cut = false;
                self.unheard.clear();
                self.reacted = false;
            }
            Body::TurnFinished(end) => {
                if self.turn.map(|turn| turn.id) == event.turn {
                    self.turn = None;
                }
                self.resumed = self.resumed.filter(|resumed| Some(resumed.turn) != event.turn);
                let code = end.error.as_ref().map(|error| error.code);
                self.cut = code == Some(TurnErrorCode::HubRestarted);
                if self.cut {
                    let unheard = &self.unheard;
                    let is_lost =
                        |receipt: &PromptReceipt| unheard.iter().any(|said| said.prompt == receipt.prompt);
                    let lost = self.keys.values_mut().filter(|receipt| is_lost(receipt));
                    lost.for_each(|receipt| receipt.lost = true);
                } else if is_told_by_agent(end) {
                    self.unheard.clear();
                }
                self.last_outcome = Some(end.outcome);
                if let Some(usage) = &end.usage {
                    self.usage = self.usage.at_least(&self.usage_before.plus(usage));
                }
                if let Some(cost) = end.cost_usd {
                    self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
                }
            }

            Body::SessionOpened(opened) => self.opened = (**opened).clone(),
            Body::SessionReady(ready) => {
                self.agent_state = AgentState::Ready;
                self.woken = true;
                self.forgotten = false;
                self.native = ready.native.clone().or(self.native.take());
                self.spoken |= self.native.is_some() && self.turn.is_some();
                self.imported = None;
                self.version = ready.version.clone().or(self.version.take());
                self.transcript = ready.transcript.clone().or(self.transcript.take());
                self.model = ready.model.clone().or(self.model.take());
            }
            Body::SessionSleeping(_) => self.agent_state = AgentState::Asleep,
            Body::SessionRevived { .. } => {}
            Body::SessionHandedOff => match self.agent_state {
                AgentState::Starting { .. } | AgentState::Ready => {
                    self.agent_state = AgentState::Ending(SleepCause::Released);
                }
                AgentState::Asleep | AgentState::Ending(_) => {}
            },
            Body::SessionClosed => {
                self.closed = true;
                self.agent_state = AgentState::Asleep;
            }
            Body::SessionError(fault) => match fault.code {
                FaultCode::ResumeFailed => self.forgotten = true,
                FaultCode::StartFailed
                | FaultCode::Refused
                | FaultCode::Timeout
                | FaultCode::BadConfiguration => {}
            },
            Body::Notice { .. } => {}

            Body::PromptQueued { prompt, turn_id, attachments, key, first, by } => {
                let queued = QueuedPrompt {
                    prompt: *prompt,
                    turn: *turn_id,
                    text: event.text().to_owned(),
                    attachments: attachments.clone(),
                    held: false,
                    cut: false,
                    by: by.clone(),
                };
                let receipt = PromptReceipt { prompt: *prompt, turn: *turn_id, seq: event.seq, lost: false };
                if self.cut && *first {
                    self.resumed = Some(receipt);
                }
                self.cut = false;
                if let Some(key) = key {
                    self.keys.insert_sized(key.clone(), receipt, key.len());
                }
                self.enqueue(WaitingPrompt { queued, event: event.id() }, *first);
            }
            Body::PromptCancelled { prompt } => {
                self.resumed = self.resumed.filter(|resumed| resumed.prompt != *prompt);
                self.unqueue(*prompt);
            }
            Body::PromptEdited { prompt } => {
                let mut waiting = self.queue.iter_mut().map(|waiting| &mut waiting.queued);
                if let Some(queued) = waiting.find(|queued| queued.prompt == *prompt) {
                    queued.text = event.text().to_owned();
                }
            }
            Body::QueueReordered { order } => {
                let place = |waiting: &WaitingPrompt| {
                    order.iter().position(|prompt| *prompt == waiting.queued.prompt)
                };
                self.queue.make_contiguous().sort_by_key(|waiting| place(waiting).unwrap_or(order.len()));
            }
            Body::QueueHeld => self.queue.iter_mut().for_each(|waiting| waiting.queued.held = true),
            Body::QueueSent { prompts } => {
                let waiting = self.queue.iter_mut().map(|waiting| &mut waiting.queued);
                waiting.filter(|queued| prompts.contains(&queued.prompt)).for_each(|sent| sent.held = false);
            }

            Body::TitleChanged => {
                self.title = brief::name(event.text());
                self.titled = true;
            }
            Body::ModelChanged { model } => self.model = Some(model.clone()),
            Body::EffortChanged { effort } => {
                self.effort = Some(effort.clone()).filter(|effort| !effort.is_empty());
            }
            Body::ModeChanged { mode } => self.opened.mode = *mode,
            Body::GitChanged(git) => self.git = Some(git.clone()),
            Body::CommandsListed { commands } => self.commands = brief::commands(commands),
            Body::UsageUpdated(usage) => self.usage = usage.at_least(&self.usage),
            Body::UsageLimited(_) => {}
            Body::Imported { until } => {
                self.imported = Some(*until);
                self.taken_in_at = event.at;
                self.prompts_here.clear();
                // The first one names the conversation.
                self.native = self.native.take().or_else(|| event.text.clone());
            }
            Body::ArchiveChanged { archived } => self.archived = *archived,
            Body::Raw { .. } => {}
        }
    }

    /// Of a prompt too many the oldest is let go: what was said until the next one counts as taken in.
    fn note_said_here(&mut self, prompt: PromptId, event: &Event) {
        self.prompts_here.push_back((prompt, event.at));
        if self.prompts_here.len() > PROMPTS_HERE_LIMIT {
            self.prompts_here.pop_front();
            self.taken_in_at = self.prompts_here.front().map_or(event.at, |(_, said_at)| *said_at);
        }
    }

    /// Opens an item. An item that has ended stays ended: later events of it are recorded and change nothing.
    fn begin(&mut self, event: &Event, kind: OpenKind) {
        if let Some(item) = event.item.filter(|item| !self.ended.contains(item)) {
            let (turn, since) = (event.turn, event.at);
            let fresh = || OpenItem {
                begun: event.id(),
                turn,
                kind,
                text: String::new(),
                printed: 0,
                since,
                waited_ms: 0,
            };
            self.open.entry(item).or_insert_with(fresh);
        }
    }

    fn grow(&mut self, event: &Event, kind: OpenKind) {
        self.begin(event, kind);
        let mut open = event.item.and_then(|item| self.open.get_mut(&item));
        if let Some(open) = &mut open {
            open.printed += written(event.text());
        }
        let has_room = |open: &&mut OpenItem| open.text.len() < OPEN_TEXT_LIMIT;
        if let Some(open) = open.filter(has_room).filter(|_| self.open_bytes < OPEN_TEXTS_LIMIT) {
            open.text.push_str(event.text());
            self.open_bytes += event.text().len();
        }
    }

    fn end(&mut self, item: Option<ItemId>) {
        if let Some(item) = item {
            let ended = self.open.remove(&item);
            self.open_bytes -= ended.map_or(0, |ended| ended.text.len());
            self.ended.insert(item, ());
        }
    }

    pub(super) fn has_begun(&self, item: ItemId) -> bool {
        self.open.contains_key(&item) || self.ended.contains(&item)
    }

    pub(super) fn is_open(&self, item: ItemId, kind: OpenKind) -> bool {
        self.open.get(&item).is_some_and(|open| open.kind == kind)
    }
}

/// How many bytes a text takes in JSON, where unprintable characters take more.
fn written(text: &str) -> usize {
    text.bytes().map(|byte| if byte < b' ' && byte != b'\n' { 6 } else { 1 }).sum()
}

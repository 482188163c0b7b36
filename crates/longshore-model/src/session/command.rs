//! Commands of clients: what each does, or why the session refuses it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{AgentState, Effect, Outcome, QUEUE_BYTES, QUEUE_LIMIT, Resolution, Session};
use crate::approval::{AnswerAction, ApprovalDecision, Decision, Field, FieldKind, QuestionAnswer};
use crate::command::{AgentCommand, Attachment, Command, Prompt, Refusal, Reply, When};
use crate::event::{Author, Body, Draft};
use crate::id::{ApprovalId, Context, ItemId, PromptId, QuestionId, TurnId};
use crate::lifecycle::{Sleep, SleepCause, TurnOutcome};

impl Session {
    pub(super) fn command(
        &mut self,
        command: Command,
        by: Author,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Result<Reply, Refusal> {
        if self.closed && !matches!(command, Command::Archive(_) | Command::Rename(_) | Command::Close) {
            return Err(Refusal::Closed);
        }
        match command {
            Command::Prompt(prompt) => return self.prompt(prompt, by, cx, out),
            Command::Decide { approval, decision, message, input } => {
                return self.decide(approval, ApprovalDecision { decision, message, input, by }, cx, out);
            }
            Command::Answer { question, action, answers } => {
                return self.answer(question, QuestionAnswer { action, answers, by }, cx, out);
            }
            Command::EditPrompt { prompt, text } => {
                self.waiting(prompt)?;
                if text.trim().is_empty() {
                    return Err(Refusal::EmptyPrompt);
                }
                self.record(Draft::new(Body::PromptEdited { prompt }).text(text), cx, out);
            }
            Command::CancelPrompt { prompt } => {
                self.waiting(prompt)?;
                self.record(Draft::new(Body::PromptCancelled { prompt }), cx, out);
            }
            Command::Reorder { order } => {
                for prompt in &order {
                    self.waiting(*prompt)?;
                }
                self.record(Draft::new(Body::QueueReordered { order }), cx, out);
            }
            Command::SendQueued { all } => self.send_held(all, cx, out),
            Command::DiscardQueue => self.discard_queue(cx, out),
            Command::Interrupt => {
                match self.interrupt(cx, out) {
                    // The turn begins when the agent has started. It is stopped by holding its prompt.
                    Err(Refusal::NoTurn) if self.next().is_some() => {}
                    done => done?,
                }
                self.hold(&format!("{by} stopped the turn"), cx, out);
            }
            Command::Recall => match self.interrupt(cx, out) {
                Err(Refusal::NoTurn) if self.next().is_some() => self.discard_queue(cx, out),
                done => done?,
            },
            Command::SetMode(mode) => {
                if !self.opened.capabilities.modes.contains(&mode) {
                    return Err(self.not_supported("work in that mode"));
                }
                self.record(Draft::new(Body::ModeChanged { mode }), cx, out);
                self.tell(AgentCommand::SetMode(mode), out);
            }
            Command::SetModel(model) => {
                if !self.opened.capabilities.models {
                    return Err(self.not_supported("change its model"));
                }
                self.record(Draft::new(Body::ModelChanged { model: model.clone() }), cx, out);
                self.tell(AgentCommand::SetModel(model), out);
            }
            Command::SetEffort(effort) => {
                if !self.opened.capabilities.effort {
                    return Err(self.not_supported("be told how hard to think"));
                }
                self.record(Draft::new(Body::EffortChanged { effort: effort.clone() }), cx, out);
                self.tell(AgentCommand::SetEffort(effort), out);
            }
            Command::Rename(title) => {
                self.record(Draft::new(Body::TitleChanged).text(title.clone()), cx, out);
                self.tell(AgentCommand::Rename(title), out);
            }
            Command::Archive(archived) => {
                if self.archived != archived {
                    self.record(Draft::new(Body::ArchiveChanged { archived }), cx, out);
                    self.tell(AgentCommand::Archive(archived), out);
                }
            }
            Command::Revive { from_log } => {
                if self.agent_state == AgentState::Asleep {
                    self.forgotten |= from_log;
                    self.launch(out);
                }
            }
            Command::Resume => return self.resume(by, cx, out),
            Command::Release { hand_back } => self.release(hand_back, cx, out)?,
            Command::Close => {
                // Nobody could send it or discard it later: a closed session refuses both.
                self.discard_queue(cx, out);
                if !self.closed {
                    let sleep = Sleep { cause: SleepCause::Stopped, ..Sleep::default() };
                    self.rest(&sleep, "the session was closed", cx, out);
                    self.record(Draft::new(Body::SessionClosed).text(format!("closed by {by}")), cx, out);
                    out.effects.push(Effect::Stop);
                }
            }
        }
        Ok(Reply::Done)
    }

    pub(super) fn prompt(
        &mut self,
        prompt: Prompt,
        by: Author,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Result<Reply, Refusal> {
        let Prompt { text, attachments, key, when } = prompt;
        let receipt = key.as_ref().and_then(|key| self.keys.get(key));
        if let Some(receipt) = receipt.filter(|receipt| !receipt.lost) {
            return Ok(Reply::Prompted { prompt: receipt.prompt, turn: receipt.turn, seq: receipt.seq });
        }
        if text.trim().is_empty() && attachments.is_empty() {
            return Err(Refusal::EmptyPrompt);
        }
        if !attachments.is_empty() && !self.opened.capabilities.attachments {
            return Err(self.not_supported("take attachments"));
        }
        // A turn that runs elsewhere is none of ours to steer.
        let ours = self.turn.filter(|_| !self.is_elsewhere());
        let steers = ours.filter(|_| when == When::Steer && self.opened.capabilities.steer);
        self.check_room(&text, &attachments, steers.is_some())?;
        self.take_over_from_elsewhere(cx, out);
        let prompt = PromptId::mint(cx);
        let turn = steers.map_or_else(|| TurnId::mint(cx), |turn| turn.id);
        let queued = Body::PromptQueued {
            prompt,
            turn_id: turn,
            attachments: attachments.clone(),
            key,
            first: when == When::Interrupt,
            by: by.clone(),
        };
        let seq = self.record(Draft::new(queued).text(text.clone()), cx, out);
        if steers.is_some() {
            // Said at once: it never waits, since the message itself takes it off the queue.
            let said =
                Body::UserMessage { prompt: Some(prompt), attachments: attachments.clone(), by: Some(by) };
            let item = ItemId::mint(cx);
            self.record(Draft::new(said).turn(turn).item(item).text(text.clone()), cx, out);
            self.tell(AgentCommand::Steer { turn, prompt, text, attachments }, out);
        } else if when == When::Interrupt && self.turn.is_some() {
            self.interrupt(cx, out)?;
        }
        self.pump(cx, out);
        Ok(Reply::Prompted { prompt, turn, seq })
    }

    /// Refuses a prompt for which there is no room among those that wait: for their turn, or, when it steers a turn, for the
    /// agent to react to them.
    fn check_room(&self, text: &str, attachments: &[Attachment], steers: bool) -> Result<(), Refusal> {
        let bytes = |text: &str, attachments: &[Attachment]| {
            text.len() + attachments.iter().map(Attachment::bytes).sum::<usize>()
        };
        let queued = self.queue.iter().map(|waiting| &waiting.queued);
        let queued = queued.map(|queued| bytes(&queued.text, &queued.attachments));
        let unheard = self.unheard.iter().filter(|_| steers).map(|said| bytes(&said.text, &said.attachments));
        let (count, waiting) =
            queued.chain(unheard).fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes));
        if count >= QUEUE_LIMIT {
            return Err(Refusal::QueueFull(QUEUE_LIMIT));
        }
        if waiting > 0 && waiting + bytes(text, attachments) > QUEUE_BYTES {
            return Err(Refusal::QueueTooLarge(QUEUE_BYTES));
        }
        Ok(())
    }

    fn interrupt(&mut self, cx: &mut Context<'_>, out: &mut Outcome) -> Result<(), Refusal> {
        let turn = self.turn.ok_or(Refusal::NoTurn)?;
        if let AgentState::Starting { .. } = self.agent_state {
            // It waits for an agent that starts anew, and that one has not heard of it.
            self.finish_unsaid(turn.id, TurnOutcome::Interrupted, None, cx, out);
            return Ok(());
        }
        self.tell(AgentCommand::Interrupt { turn: turn.id }, out);
        Ok(())
    }

    fn decide(
        &mut self,
        approval: ApprovalId,
        decision: ApprovalDecision,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Result<Reply, Refusal> {
        let Some(open) = self.approvals.get(&approval).map(|ask| &ask.whole) else {
            return Err(match self.approvals_past.get(&approval) {
                Some(Resolution::Answered(first)) => Refusal::AlreadyDecided(first.clone()),
                Some(Resolution::Expired(reason)) => Refusal::Expired(reason.clone()),
                None => Refusal::UnknownApproval,
            });
        };
        let possible =
            decision.decision == Decision::Deny || open.request.options.contains(&decision.decision);
        if !possible {
            return Err(Refusal::NotAnOption(open.request.options.clone()));
        }
        let (turn, item) = (open.turn, open.item);
        let body = Body::ApprovalDecided { approval, decision: decision.clone() };
        self.record(Draft::new(body).turn(turn).item(item), cx, out);
        self.tell(AgentCommand::Decide { approval, decision: decision.clone() }, out);
        if decision.decision == Decision::Cancel {
            self.hold(&format!("{} stopped the turn", decision.by), cx, out);
        }
        Ok(Reply::Decided(decision))
    }

    fn answer(
        &mut self,
        question: QuestionId,
        answer: QuestionAnswer,
        cx: &mut Context<'_>,
        out: &mut Outcome,
    ) -> Result<Reply, Refusal> {
        let Some(open) = self.questions.get(&question).map(|ask| &ask.whole) else {
            return Err(match self.questions_past.get(&question) {
                Some(Resolution::Answered(first)) => Refusal::AlreadyAnswered(first.clone()),
                Some(Resolution::Expired(reason)) => Refusal::Expired(reason.clone()),
                None => Refusal::UnknownQuestion,
            });
        };
        if answer.action == AnswerAction::Accept {
            check_answers(&open.request.fields, &answer.answers)?;
        }
        let turn = open.turn;
        let secret = |id: &String| open.request.fields.iter().any(|field| field.secret && field.id == *id);
        // A secret goes to the agent and nowhere else: the log remembers only that it was given.
        let mut remembered = answer.clone();
        for (id, value) in &mut remembered.answers {
            if secret(id) {
                *value = Value::from("(secret)");
            }
        }
        let body = Body::QuestionAnswered { question, answer: remembered.clone() };
        self.record(Draft::new(body).turn(turn), cx, out);
        self.tell(AgentCommand::Answer { question, answer }, out);
        Ok(Reply::Answered(remembered))
    }

    /// Sends a command to the agent if it runs. A later agent learns the same when it starts.
    fn tell(&self, command: AgentCommand, out: &mut Outcome) {
        if self.agent_state == AgentState::Ready {
            out.effects.push(Effect::Tell(command));
        }
    }

    fn waiting(&self, prompt: PromptId) -> Result<(), Refusal> {
        let is_queued = self.queue.iter().any(|waiting| waiting.queued.prompt == prompt);
        is_queued.then_some(()).ok_or(Refusal::UnknownPrompt)
    }

    fn not_supported(&self, what: &'static str) -> Refusal {
        Refusal::NotSupported { agent: self.opened.agent.to_string(), what }
    }
}

/// Checks that every required field has an answer of the right kind.
fn check_answers(fields: &[Field], answers: &BTreeMap<String, Value>) -> Result<(), Refusal> {
    let bad =
        |field: &str, fault: &str| Refusal::BadAnswer { field: field.to_owned(), fault: fault.to_owned() };
    if let Some(stray) = answers.keys().find(|id| !fields.iter().any(|field| field.id == **id)) {
        return Err(bad(stray, "is not a field of this question"));
    }
    for field in fields {
        let Some(value) = answers.get(&field.id) else {
            if field.optional {
                continue;
            }
            return Err(bad(&field.id, "is missing"));
        };
        let offered = |value: &Value| {
            value
                .as_str()
                .is_some_and(|text| field.open || field.choices.iter().any(|choice| choice.label == text))
        };
        let fits = match field.kind {
            FieldKind::Text => value.is_string(),
            FieldKind::Number => value.is_number(),
            FieldKind::Integer => value.is_i64() || value.is_u64(),
            FieldKind::Boolean => value.is_boolean(),
            FieldKind::One => offered(value),
            FieldKind::Many => value.as_array().is_some_and(|values| values.iter().all(offered)),
        };
        if !fits {
            return Err(bad(&field.id, "is of the wrong kind, or not among the choices"));
        }
    }
    Ok(())
}

//! The approvals and questions of a session that a person watches: remembered, shown, answered.

use std::collections::VecDeque;

use anyhow::Result;
use longshore_model::approval::{ApprovalRequest, QuestionRequest};
use longshore_model::event::{Body, Event};
use serde_json::{Map, Value, json};

use super::Live;
use crate::cli::responder::Responder;
use crate::client::Refused;
use crate::render::{field_prompt, keys, parse_answer, parse_decision};

/// Something that waits for the person.
pub(super) enum PendingAsk {
    Approval(ApprovalRequest),
    Question { request: QuestionRequest, answers: Map<String, Value>, at: usize },
}

impl PendingAsk {
    fn id(&self) -> String {
        match self {
            PendingAsk::Approval(request) => request.approval.to_string(),
            PendingAsk::Question { request, .. } => request.question.to_string(),
        }
    }

    fn is_secret(&self) -> bool {
        match self {
            PendingAsk::Approval(_) => false,
            PendingAsk::Question { request, at, .. } => {
                request.fields.get(*at).is_some_and(|field| field.secret)
            }
        }
    }
}

impl Live {
    /// Keeps in mind what waits for the person, and forgets what no longer does. Says whether the person is being
    /// asked for something that is settled now.
    pub(super) fn notice_ask(&mut self, event: &Event) -> bool {
        let is_approval =
            |ask: &PendingAsk, id| matches!(ask, PendingAsk::Approval(request) if request.approval == id);
        let is_question = |ask: &PendingAsk, id| matches!(ask, PendingAsk::Question { request, .. } if request.question == id);
        let first = |asks: &VecDeque<PendingAsk>| asks.front().map(PendingAsk::id);
        let before = first(&self.asks);
        match &event.body {
            Body::ApprovalRequested(request) => self.asks.push_back(PendingAsk::Approval(request.clone())),
            Body::QuestionAsked(request) => {
                let (answers, at) = (Map::new(), 0);
                self.asks.push_back(PendingAsk::Question { request: request.clone(), answers, at });
            }
            Body::ApprovalDecided { approval, .. } | Body::ApprovalExpired { approval } => {
                self.asks.retain(|ask| !is_approval(ask, *approval));
            }
            Body::QuestionAnswered { question, .. } | Body::QuestionExpired { question } => {
                self.asks.retain(|ask| !is_question(ask, *question));
            }
            _ => {}
        }
        before.is_some() && first(&self.asks) != before
    }

    /// Asks for the first thing that waits, or says how it can be answered when nobody sits here.
    pub(super) fn ask_person(&mut self) -> Result<()> {
        let Some(ask) = self.asks.front() else { return Ok(()) };
        if matches!(self.hand, Responder::Elsewhere) {
            if self.told.replace(ask.id()) == Some(ask.id()) {
                return Ok(());
            }
            // One line for each command, so that no command is broken over two.
            let how = match ask {
                PendingAsk::Approval(ApprovalRequest { approval, .. }) => vec![
                    format!("waiting: longshore approve {approval}"),
                    format!("     or: longshore deny {approval}"),
                ],
                PendingAsk::Question { request, .. } => {
                    vec![format!("waiting: longshore answer {}", request.question)]
                }
            };
            return how.iter().try_for_each(|line| self.tell(line));
        }
        let (words, yes) = match ask {
            PendingAsk::Approval(request) if self.screen.has_line() => {
                (format!("your answer: {} (n and words tell the agent why)", keys(&request.options)), "y")
            }
            PendingAsk::Approval(_) => ("your answer: ".to_owned(), "y"),
            PendingAsk::Question { request, at, .. } => {
                (request.fields.get(*at).map(field_prompt).unwrap_or_default(), "1")
            }
        };
        let secret = ask.is_secret();
        self.hand.asked(yes);
        Ok(self.screen.ask(words, secret)?)
    }

    /// Takes a line as the answer to what waits. Says whether something did.
    pub(super) async fn answered(&mut self, line: &str) -> Result<bool> {
        let done = match self.asks.front_mut() {
            None => return Ok(false),
            Some(PendingAsk::Approval(request)) => {
                let Some((decision, message)) = parse_decision(line, &request.options) else {
                    let how = format!("answer {}; n and words tell the agent why", keys(&request.options));
                    self.tell(&how)?;
                    return self.ask_person().map(|()| true);
                };
                let params =
                    json!({ "approval": request.approval, "decision": decision, "message": message });
                self.client.call::<Value>("decide", params).await
            }
            Some(PendingAsk::Question { request, answers, at }) => {
                if let Some(field) = request.fields.get(*at) {
                    match parse_answer(field, line) {
                        Ok(Some(value)) => drop(answers.insert(field.id.clone(), value)),
                        Ok(None) => {}
                        Err(bad) => {
                            self.tell(&bad.to_string())?;
                            return self.ask_person().map(|()| true);
                        }
                    }
                    *at += 1;
                }
                if *at < request.fields.len() {
                    return self.ask_person().map(|()| true);
                }
                let params = json!({ "question": request.question, "answers": answers });
                self.client.call::<Value>("answer", params).await
            }
        };
        self.told_of(done).map(|()| true)
    }

    /// A refusal is told and the watch goes on: somebody else was first, or the agent moved on.
    pub(super) fn told_of<T>(&mut self, done: Result<T>) -> Result<()> {
        match done {
            Ok(_) => Ok(()),
            Err(error) => match error.downcast_ref::<Refused>() {
                Some(Refused { hint: Some(hint), .. }) => self.tell(&format!("{error}: {hint}")),
                Some(_) => self.tell(&error.to_string()),
                None => Err(error),
            },
        }
    }
}

//! Watching a session: events as they come, questions answered in place, Ctrl-C to stop the turn.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use longshore_model::approval::{ApprovalRequest, QuestionRequest};
use longshore_model::event::{Body, Event};
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::exit::INTERRUPTED;
use super::terminal::{Screen, is_interactive, now, style, typed_lines};
use crate::client::{Client, News, Refused};
use crate::render::{Renderer, SPINNER_PACE, Show, field_prompt, parse_answer, parse_decision};

/// Until when to watch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The end of this turn.
    Turn(TurnId),
    /// The person leaves.
    Left,
}

/// Something that waits for the person.
enum Ask {
    Approval(ApprovalRequest),
    Question { request: QuestionRequest, answers: Map<String, Value>, at: usize },
}

pub(super) struct Live {
    client: Client,
    session: SessionId,
    until: Until,
    as_json: bool,
    renderer: Renderer,
    screen: Screen,
    asks: VecDeque<Ask>,
    cursor: Seq,
    interrupted: bool,
}

impl Live {
    pub(super) fn new(client: Client, session: SessionId, until: Until, as_json: bool) -> Self {
        let renderer = Renderer::new(style(Show::Folded));
        let (screen, asks) = (Screen::new(), VecDeque::new());
        Self {
            client,
            session,
            until,
            as_json,
            renderer,
            screen,
            asks,
            cursor: Seq::ZERO,
            interrupted: false,
        }
    }

    /// Watches from `after` on. The exit code tells how the turn ended.
    pub(super) async fn watch(mut self, after: Seq) -> Result<ExitCode> {
        let _: Value =
            self.client.call("subscribe", json!({ "session": self.session, "after": after })).await?;
        let mut typed = (is_interactive() && !self.as_json).then(typed_lines);
        let mut spin = tokio::time::interval(Duration::from_millis(SPINNER_PACE));
        loop {
            tokio::select! {
                biased;
                _ = tokio::signal::ctrl_c() => {
                    if let Some(code) = self.ctrl_c().await? {
                        return Ok(code);
                    }
                }
                news = self.client.news() => {
                    if let Some(code) = self.news(news?).await? {
                        self.screen.print(&self.renderer.finish())?;
                        return Ok(code);
                    }
                }
                line = next_line(&mut typed) => match line {
                    Some(line) => self.typed(&line).await?,
                    None => typed = None,
                },
                _ = spin.tick(), if !self.as_json => {
                    let line = self.asks.is_empty().then(|| self.renderer.status(now())).flatten();
                    self.screen.draw(line)?;
                }
            }
        }
    }

    async fn news(&mut self, news: News) -> Result<Option<ExitCode>> {
        let (json, event) = match news {
            News::Event(json, event) => (json, event),
            News::Resume(session, after) => {
                let _: Value =
                    self.client.call("subscribe", json!({ "session": session, "after": after })).await?;
                return Ok(None);
            }
        };
        self.cursor = event.seq;
        if self.as_json {
            self.screen.print(&format!("{json}\n"))?;
        } else {
            let text = self.renderer.event(&event);
            self.screen.print(&text)?;
            self.notice_ask(&event)?;
        }
        Ok(self.ended_by(&event))
    }

    fn ended_by(&self, event: &Event) -> Option<ExitCode> {
        let Body::TurnFinished(end) = &event.body else { return None };
        if self.until != Until::Turn(event.turn?) {
            return None;
        }
        Some(match end.outcome {
            TurnOutcome::Completed => ExitCode::SUCCESS,
            TurnOutcome::Failed => ExitCode::FAILURE,
            TurnOutcome::Interrupted => ExitCode::from(INTERRUPTED),
        })
    }

    /// Keeps in mind what waits for the person, and forgets what no longer does.
    fn notice_ask(&mut self, event: &Event) -> Result<()> {
        let before = self.asks.len();
        match &event.body {
            Body::ApprovalRequested(request) => self.asks.push_back(Ask::Approval(request.clone())),
            Body::QuestionAsked(request) => {
                let (answers, at) = (Map::new(), 0);
                self.asks.push_back(Ask::Question { request: request.clone(), answers, at });
            }
            Body::ApprovalDecided { approval, .. } | Body::ApprovalExpired { approval } => {
                self.asks
                    .retain(|ask| !matches!(ask, Ask::Approval(request) if request.approval == *approval));
            }
            Body::QuestionAnswered { question, .. } | Body::QuestionExpired { question } => {
                self.asks.retain(
                    |ask| !matches!(ask, Ask::Question { request, .. } if request.question == *question),
                );
            }
            _ => return Ok(()),
        }
        if before == 0 || self.asks.len() < before {
            self.prompt_for_answer()?;
        }
        Ok(())
    }

    fn prompt_for_answer(&mut self) -> Result<()> {
        if !is_interactive() {
            let how = match self.asks.front() {
                Some(Ask::Approval(request)) => {
                    format!("waiting: longshore approve {0} (or: longshore deny {0})\n", request.approval)
                }
                Some(Ask::Question { request, .. }) => {
                    format!(
                        "waiting for an answer to question {}; answer it from any client\n",
                        request.question
                    )
                }
                None => return Ok(()),
            };
            return Ok(self.screen.print(&how)?);
        }
        match self.asks.front() {
            Some(Ask::Approval(_)) => self.screen.print("your answer: ")?,
            Some(Ask::Question { request, at, .. }) => {
                if let Some(field) = request.fields.get(*at) {
                    let text = field_prompt(field);
                    self.screen.print(&text)?;
                }
            }
            None => {}
        }
        Ok(())
    }

    /// A line that the person typed: an answer when something waits, otherwise a prompt.
    async fn typed(&mut self, line: &str) -> Result<()> {
        let done = match self.asks.front_mut() {
            Some(Ask::Approval(request)) => {
                let Some(decision) = parse_decision(line, &request.options) else {
                    return self.prompt_for_answer();
                };
                let params = json!({ "approval": request.approval, "decision": decision });
                self.client.call::<Value>("decide", params).await
            }
            Some(Ask::Question { request, answers, at }) => {
                if let Some(field) = request.fields.get(*at) {
                    match parse_answer(field, line) {
                        Ok(Some(value)) => drop(answers.insert(field.id.clone(), value)),
                        Ok(None) => {}
                        Err(bad) => {
                            self.screen.print(&format!("{bad}\n"))?;
                            return self.prompt_for_answer();
                        }
                    }
                    *at += 1;
                }
                if *at < request.fields.len() {
                    return self.prompt_for_answer();
                }
                let params = json!({ "question": request.question, "answers": answers });
                self.client.call::<Value>("answer", params).await
            }
            None if line.trim().is_empty() || self.until != Until::Left => return Ok(()),
            None => {
                let params = json!({ "session": self.session, "content": line, "when": "queue" });
                self.client.call::<Value>("prompt", params).await
            }
        };
        match done {
            Ok(_) => Ok(()),
            // Somebody else was first, or the agent moved on: the event that says so is under way.
            Err(error) if error.downcast_ref::<Refused>().is_some() => {
                Ok(self.screen.print(&format!("{error}\n"))?)
            }
            Err(error) => Err(error),
        }
    }

    /// The first stops the turn, the second leaves.
    async fn ctrl_c(&mut self) -> Result<Option<ExitCode>> {
        self.screen.erase()?;
        if std::mem::replace(&mut self.interrupted, true) || self.until == Until::Left {
            println!();
            return Ok(Some(ExitCode::from(INTERRUPTED)));
        }
        eprintln!("stopping the turn; Ctrl-C again leaves it running");
        self.client.send("interrupt", json!({ "session": self.session })).await?;
        Ok(None)
    }
}

async fn next_line(typed: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match typed {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}

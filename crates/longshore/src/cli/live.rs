//! Watching a session: events as they come, questions answered in place, Ctrl-C to stop the turn.

use std::collections::VecDeque;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use longshore_model::approval::{ApprovalRequest, QuestionRequest};
use longshore_model::event::{Body, Event};
use longshore_model::id::{Seq, SessionId, TurnId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Map, Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::exit::{Fault, INTERRUPTED};
use super::hand::Hand;
use super::terminal::{Screen, now, put_line};
use crate::client::{Client, News, Refused};
use crate::render::{Renderer, SPINNER_PACE, field_prompt, parse_answer, parse_decision};

/// Until when to watch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// The end of this turn.
    Turn(TurnId),
    /// The person leaves.
    Left,
}

/// How the watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watched {
    /// The turn did.
    Turn(TurnOutcome),
    /// The person went, at ease.
    Left,
    /// The person went at once.
    Broken,
}

impl Watched {
    pub(super) fn code(self) -> ExitCode {
        match self {
            Watched::Turn(TurnOutcome::Completed) | Watched::Left => ExitCode::SUCCESS,
            Watched::Turn(TurnOutcome::Failed) => ExitCode::FAILURE,
            Watched::Turn(TurnOutcome::Interrupted) | Watched::Broken => ExitCode::from(INTERRUPTED),
        }
    }
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
    pub(super) screen: Screen,
    pub(super) hand: Hand,
    asks: VecDeque<Ask>,
    /// What was last said to wait, where nobody can be asked.
    told: Option<String>,
    cursor: Seq,
    /// The session as it was before we followed it; what was asked until then may be settled.
    before: SessionInfo,
    interrupted: bool,
}

impl Ask {
    fn id(&self) -> String {
        match self {
            Ask::Approval(request) => request.approval.to_string(),
            Ask::Question { request, .. } => request.question.to_string(),
        }
    }
}

/// Whether this asks for something that was decided before `session` was looked at.
pub(super) fn is_settled(event: &Event, session: &SessionInfo) -> bool {
    let Body::ApprovalRequested(request) = &event.body else { return false };
    let waits = session.approvals.iter().any(|open| open.request.approval == request.approval);
    event.seq <= session.head && !waits
}

impl Live {
    pub(super) fn new(client: Client, before: SessionInfo, until: Until, as_json: bool) -> Self {
        // Programs that read events answer in their own way.
        let hand = if as_json { Hand::Elsewhere } else { Hand::of_this_terminal() };
        Self::on(client, before, until, as_json, Screen::new(), hand)
    }

    /// The same on a screen of the caller's, where somebody else may answer.
    pub(super) fn on(
        client: Client,
        before: SessionInfo,
        until: Until,
        as_json: bool,
        screen: Screen,
        hand: Hand,
    ) -> Self {
        let renderer = Renderer::new(screen.style).in_folder(&before.cwd);
        Self {
            client,
            session: before.session_id,
            until,
            as_json,
            renderer,
            screen,
            hand,
            asks: VecDeque::new(),
            told: None,
            cursor: Seq::ZERO,
            before,
            interrupted: false,
        }
    }

    /// Watches from `after` on. The exit code tells how the turn ended.
    pub(super) async fn watch(mut self, after: Seq) -> Result<ExitCode> {
        self.follow(after).await.map(Watched::code)
    }

    /// Watches from `after` on.
    pub(super) async fn follow(&mut self, after: Seq) -> Result<Watched> {
        let _: Value =
            self.client.call("subscribe", json!({ "session": self.session, "after": after })).await?;
        self.cursor = after;
        let mut spin = tokio::time::interval(Duration::from_millis(SPINNER_PACE));
        // One stream for the whole watch: it keeps a Ctrl-C that comes while an event is being shown.
        let mut interrupt = signal(SignalKind::interrupt())?;
        loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => {
                    if self.ctrl_c().await? {
                        return Ok(Watched::Broken);
                    }
                }
                news = self.client.news() => {
                    let Ok(news) = news else { return Err(self.lost()?.into()) };
                    if let Some(outcome) = self.news(news).await? {
                        self.screen.settled()?;
                        self.screen.print(&self.renderer.finish())?;
                        return Ok(Watched::Turn(outcome));
                    }
                }
                line = self.hand.line() => match line {
                    Some(line) => self.typed(&line).await?,
                    // The end of what a person types is how they leave.
                    None if self.until == Until::Left => {
                        self.screen.settled()?;
                        return Ok(Watched::Left);
                    }
                    None => self.hand = Hand::Elsewhere,
                },
                _ = spin.tick(), if !self.as_json => {
                    self.screen.draw(self.renderer.status(now()))?;
                }
            }
        }
    }

    async fn news(&mut self, news: News) -> Result<Option<TurnOutcome>> {
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
            let settled = self.notice_ask(&event);
            if settled {
                self.screen.settled()?;
                self.hand.settled();
            }
            let text = match &event.body {
                Body::ApprovalRequested(request) if is_settled(&event, &self.before) => {
                    self.renderer.decided_since(&event, request);
                    String::new()
                }
                _ => self.renderer.event(&event),
            };
            self.screen.print(&text)?;
            if event.seq >= self.before.head && (settled || !self.screen.is_asking()) {
                self.ask_person()?;
            }
        }
        Ok(self.ended_by(&event))
    }

    fn ended_by(&self, event: &Event) -> Option<TurnOutcome> {
        let Body::TurnFinished(end) = &event.body else { return None };
        (self.until == Until::Turn(event.turn?)).then_some(end.outcome)
    }

    /// Keeps in mind what waits for the person, and forgets what no longer does. Says whether the person is being
    /// asked for something that is settled now.
    fn notice_ask(&mut self, event: &Event) -> bool {
        let is_approval = |ask: &Ask, id| matches!(ask, Ask::Approval(request) if request.approval == id);
        let is_question =
            |ask: &Ask, id| matches!(ask, Ask::Question { request, .. } if request.question == id);
        let first = |asks: &VecDeque<Ask>| asks.front().map(Ask::id);
        let before = first(&self.asks);
        match &event.body {
            Body::ApprovalRequested(request) => self.asks.push_back(Ask::Approval(request.clone())),
            Body::QuestionAsked(request) => {
                let (answers, at) = (Map::new(), 0);
                self.asks.push_back(Ask::Question { request: request.clone(), answers, at });
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
    fn ask_person(&mut self) -> Result<()> {
        let Some(ask) = self.asks.front() else { return Ok(()) };
        if matches!(self.hand, Hand::Elsewhere) {
            if self.told.replace(ask.id()) == Some(ask.id()) {
                return Ok(());
            }
            let how = match ask {
                Ask::Approval(request) => {
                    format!("waiting: longshore approve {0} (or: longshore deny {0})\n", request.approval)
                }
                Ask::Question { request, .. } => format!(
                    "waiting: longshore attach {} asks you (or: POST /api/v1/questions/{})\n",
                    self.session, request.question
                ),
            };
            return Ok(self.screen.print(&how)?);
        }
        let (words, yes) = match ask {
            Ask::Approval(_) => ("your answer: ".to_owned(), "y"),
            Ask::Question { request, at, .. } => {
                (request.fields.get(*at).map(field_prompt).unwrap_or_default(), "1")
            }
        };
        self.hand.asked(yes);
        Ok(self.screen.ask(words)?)
    }

    /// The hub is gone in the middle of it.
    fn lost(&mut self) -> Result<Fault> {
        self.screen.settled()?;
        self.screen.print(&self.renderer.finish())?;
        let hint =
            format!("`longshore up`, then `longshore attach {} --after {}`", self.session, self.cursor);
        Ok(Fault::no_hub("the hub has gone; the session is as safe as its log", hint))
    }

    /// A line that the person typed: an answer when something waits, otherwise a prompt.
    async fn typed(&mut self, line: &str) -> Result<()> {
        match &self.hand {
            Hand::Person(_) | Hand::Elsewhere => self.screen.typed(line)?,
            Hand::Itself { .. } => self.screen.answered(line)?,
        }
        let done = match self.asks.front_mut() {
            Some(Ask::Approval(request)) => {
                let Some(decision) = parse_decision(line, &request.options) else {
                    self.screen.print("one of the letters above, please\n")?;
                    return self.ask_person();
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
                            return self.ask_person();
                        }
                    }
                    *at += 1;
                }
                if *at < request.fields.len() {
                    return self.ask_person();
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
    async fn ctrl_c(&mut self) -> Result<bool> {
        self.screen.erase()?;
        if std::mem::replace(&mut self.interrupted, true) || self.until == Until::Left {
            put_line("")?;
            return Ok(true);
        }
        eprintln!("stopping the turn; Ctrl-C again does not wait for it");
        self.client.send("interrupt", json!({ "session": self.session })).await?;
        Ok(false)
    }
}

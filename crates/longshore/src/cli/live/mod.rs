//! Watching a session: events as they come, questions answered in place, keys to stop the turn.

mod asks;
mod input;

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use longshore_model::capability::{Mode, SlashCommand};
use longshore_model::event::{Body, Event};
use longshore_model::id::{PromptId, Seq, SessionId, TurnId};
use longshore_model::info::SessionInfo;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::{Content, Item};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use self::asks::PendingAsk;
use super::exit::{Fault, INTERRUPTED};
use super::line::InputLine;
use super::responder::{Responder, Typed};
use super::slash;
use super::terminal::{Screen, is_interactive, note, now, put_line, typed_lines};
use crate::client::{Client, HubNotification};
use crate::config::Places;
use crate::render::human::short_id;
use crate::render::{Renderer, SPINNER_PACE};

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
pub(super) enum WatchEnd {
    /// The turn did.
    Turn(TurnOutcome),
    /// The person went, at ease.
    Left,
    /// The person went at once.
    Broken,
}

impl WatchEnd {
    pub(super) fn code(self) -> ExitCode {
        match self {
            WatchEnd::Turn(TurnOutcome::Completed) | WatchEnd::Left => ExitCode::SUCCESS,
            WatchEnd::Turn(TurnOutcome::Failed) => ExitCode::FAILURE,
            WatchEnd::Turn(TurnOutcome::Interrupted) | WatchEnd::Broken => ExitCode::from(INTERRUPTED),
        }
    }
}

/// A prompt that was said here and has not come to its end.
struct TypedPrompt {
    prompt: PromptId,
    turn: TurnId,
    echo: Echo,
}

/// Where the screen shows a prompt as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echo {
    /// Right where its turn begins.
    InPlace,
    /// Above what came since.
    Above,
    /// Nowhere: the key that sent it took it out of the line.
    Nowhere,
}

pub(super) struct Live {
    client: Client,
    session: SessionId,
    until: Until,
    as_json: bool,
    renderer: Renderer,
    pub(super) screen: Screen,
    pub(super) hand: Responder,
    asks: VecDeque<PendingAsk>,
    /// What was last said to wait, where nobody can be asked.
    told: Option<String>,
    cursor: Seq,
    /// The session as it was before we followed it; what was asked until then may be settled.
    before: SessionInfo,
    mode: Mode,
    commands: Vec<SlashCommand>,
    /// The turn that runs.
    turn: Option<TurnId>,
    said: Vec<TypedPrompt>,
    /// The prompt whose turn is watched, as long as it waits behind the turn of somebody else.
    queued: Option<PromptId>,
    /// Whether the key that stops and leaves was pressed, and nothing happened since.
    interrupted: bool,
    /// Whether there is nothing more to read: the watch ends with what was said.
    leaving: bool,
}

/// Whether this asks for something that was decided before `session` was looked at.
pub(super) fn is_settled(event: &Event, session: &SessionInfo) -> bool {
    let Body::ApprovalRequested(request) = &event.body else { return false };
    let waits = session.approvals.iter().any(|open| open.request.approval == request.approval);
    event.seq <= session.head && !waits
}

impl Live {
    pub(super) fn new(client: Client, before: SessionInfo, until: Until, as_json: bool) -> Self {
        let mut screen = Screen::new();
        let hand = match (until, is_interactive()) {
            // Programs that read events answer in their own way.
            _ if as_json => Responder::Elsewhere,
            (Until::Turn(_), true) => Responder::Person(typed_lines()),
            (Until::Left, true) => match open_line(&screen) {
                Ok((line, typed)) => {
                    screen = screen.above(line);
                    Responder::Person(typed)
                }
                // A terminal that can do nothing.
                Err(_) => Responder::Person(typed_lines()),
            },
            (Until::Left, false) if !std::io::stdin().is_terminal() => Responder::Person(typed_lines()),
            (Until::Turn(_) | Until::Left, false) => Responder::Elsewhere,
        };
        Self::on(client, before, until, as_json, screen, hand)
    }

    /// The same on a screen of the caller's, where somebody else may answer.
    pub(super) fn on(
        client: Client,
        before: SessionInfo,
        until: Until,
        as_json: bool,
        screen: Screen,
        hand: Responder,
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
            mode: before.mode,
            commands: before.commands.clone(),
            turn: None,
            said: Vec::new(),
            queued: None,
            before,
            interrupted: false,
            leaving: false,
        }
    }

    /// The prompt that begins the turn that is watched. As long as it waits behind the turn of somebody else, it is what
    /// is taken back.
    pub(super) fn begun_by(self, prompt: PromptId) -> Self {
        Self { queued: Some(prompt), ..self }
    }

    /// Watches from `after` on. The exit code tells how the turn ended.
    pub(super) async fn watch(mut self, after: Seq) -> Result<ExitCode> {
        self.follow(after).await.map(WatchEnd::code)
    }

    /// Watches from `after` on.
    pub(super) async fn follow(&mut self, after: Seq) -> Result<WatchEnd> {
        let _: Value =
            self.client.call("subscribe", json!({ "session": self.session, "after": after })).await?;
        self.cursor = after;
        if after > Seq::ZERO && !self.as_json {
            self.learn_names().await?;
        }
        self.screen.commands(slash::names(&self.commands));
        let mut spin = tokio::time::interval(Duration::from_millis(SPINNER_PACE));
        // One stream for the whole watch: it keeps a Ctrl-C that comes while an event is being shown.
        let mut interrupt = signal(SignalKind::interrupt())?;
        loop {
            if self.leaving && self.said.is_empty() && self.cursor >= self.before.head {
                return self.left();
            }
            tokio::select! {
                biased;
                _ = interrupt.recv() => {
                    if self.ctrl_c().await? {
                        return Ok(WatchEnd::Broken);
                    }
                }
                news = self.client.news() => {
                    let Ok(news) = news else { return Err(self.lost()?.into()) };
                    if let Some(ended) = self.news(news).await? {
                        self.screen.settled()?;
                        self.screen.print(&self.renderer.finish())?;
                        return Ok(ended);
                    }
                }
                typed = self.hand.typed() => match typed {
                    Some(typed) => if self.typed(typed).await? {
                        return self.left();
                    },
                    // The end of what a person types is how they leave.
                    None if self.until == Until::Left && self.screen.has_line() => return self.left(),
                    None => {
                        self.leaving = self.until == Until::Left;
                        self.hand = Responder::Elsewhere;
                        self.ask_person()?;
                    }
                },
                _ = spin.tick(), if !self.as_json => self.tick()?,
            }
        }
    }

    /// The calls that run already, or have ended in this very moment: their beginning will not be seen, and their end wants a
    /// name. They are of the turn that runs, which is the one of the newest items.
    async fn learn_names(&mut self) -> Result<()> {
        #[derive(serde::Deserialize)]
        struct Page {
            items: Vec<Item>,
            next: Option<Seq>,
        }
        let (mut before, mut turn, after) = (None, None, self.cursor);
        loop {
            let asked = json!({ "session": self.session, "before": before, "limit": 100 });
            let Page { items, next } = self.client.call("timeline", asked).await?;
            items.iter().filter(|item| item.seq <= after).for_each(|item| self.learn_name(item));
            turn = turn.or_else(|| items.iter().rev().find_map(|item| item.turn));
            let goes_back_further = items.iter().find_map(|item| item.turn) == turn;
            if next.is_none() || !goes_back_further {
                return Ok(());
            }
            before = next;
        }
    }

    fn learn_name(&mut self, item: &Item) {
        let call = if let Content::Tool { call, .. } = &item.content {
            Some(call)
        } else if let Content::Delegation { call, .. } = &item.content {
            call.as_ref()
        } else {
            None
        };
        if let (Some(call), Some(id)) = (call, item.id) {
            // What a tool printed is no part of its name.
            let runs = item.ended_at.is_none();
            self.renderer.began_before(id, item.started_at, call, &call.name, runs);
        }
    }

    /// Nobody watches any more.
    fn left(&mut self) -> Result<WatchEnd> {
        self.screen.settled()?;
        Ok(WatchEnd::Left)
    }

    /// What goes on is shown anew, as wide as the terminal is by now.
    fn tick(&mut self) -> Result<()> {
        if let Some(width) = self.screen.resized() {
            self.renderer.resize(width);
        }
        let status = self.renderer.status(now());
        let shown = match (status, self.screen.has_line()) {
            (None, true) if self.interrupted => Some("Ctrl-C again leaves; the session goes on".to_owned()),
            (None, true) => Some(self.at_rest()),
            (status, _) => status,
        };
        Ok(self.screen.draw(shown)?)
    }

    async fn news(&mut self, news: HubNotification) -> Result<Option<WatchEnd>> {
        let (json, event) = match news {
            HubNotification::Event(json, event) => (json, event),
            HubNotification::Resume(session, after) => {
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
            let text = self.shown(&event);
            self.screen.print(&text)?;
            if event.seq >= self.before.head && (settled || !self.screen.is_asking()) {
                self.ask_person()?;
            }
        }
        let ended = self.ended_by(&event);
        self.keep_up_with(&event);
        Ok(ended)
    }

    /// What an event adds to the screen.
    fn shown(&mut self, event: &Event) -> String {
        let echo = |prompt: PromptId| {
            self.said.iter().find(|said| said.prompt == prompt).map_or(Echo::Nowhere, |said| said.echo)
        };
        match &event.body {
            Body::ApprovalRequested(request) if is_settled(event, &self.before) => {
                self.renderer.decided_since(event, request);
                String::new()
            }
            // It stands there as it was typed.
            Body::UserMessage { prompt: Some(prompt), .. } if echo(*prompt) == Echo::InPlace => {
                drop(self.renderer.event(event));
                String::new()
            }
            Body::QueueHeld if self.queued.is_some() => {
                let why = event.text().rsplit_once(": ").map_or(event.text(), |(why, _)| why);
                let id = short_id(self.session);
                let how = format!(
                    "`longshore queue send {id} --all` sends it, `longshore queue discard {id}` removes it"
                );
                self.renderer.aside(&format!("your prompt is held: {why}; {how}"))
            }
            Body::PromptCancelled { prompt } if self.queued == Some(*prompt) => {
                self.renderer.aside("your prompt was removed from the queue; the agent did not get it")
            }
            // The agent hears it in the turn that runs; the message itself comes next.
            Body::PromptQueued { turn_id, .. } if self.turn == Some(*turn_id) => String::new(),
            Body::PromptQueued { prompt, .. } if self.screen.has_line() && echo(*prompt) != Echo::Nowhere => {
                match self.turn {
                    Some(_) => self.renderer.aside("queued: it runs when this turn ends"),
                    None => String::new(),
                }
            }
            _ => self.renderer.event(event),
        }
    }

    /// Keeps in mind where the session stands.
    fn keep_up_with(&mut self, event: &Event) {
        match &event.body {
            Body::TurnStarted { prompt } => {
                self.turn = event.turn;
                self.queued = self.queued.filter(|queued| Some(*queued) != *prompt);
            }
            Body::UserMessage { prompt, .. } => {
                self.queued = self.queued.filter(|queued| Some(*queued) != *prompt);
            }
            Body::TurnFinished(_) => {
                self.turn = None;
                // Whoever waits for a turn of their own has not seen that one end.
                self.interrupted &= self.until != Until::Left;
                self.said.retain(|said| Some(said.turn) != event.turn);
            }
            Body::PromptCancelled { prompt } => self.said.retain(|said| said.prompt != *prompt),
            Body::SessionSleeping(_) => self.turn = None,
            // Nobody waits here for what waits for a person.
            Body::QueueHeld => self.said.retain(|said| Some(said.turn) == self.turn),
            Body::SessionClosed => {
                self.turn = None;
                self.said.clear();
            }
            Body::ModeChanged { mode } => self.mode = *mode,
            Body::CommandsListed { commands } => {
                self.commands.clone_from(commands);
                self.screen.commands(slash::names(commands));
            }
            _ => {}
        }
        self.screen.busy(self.turn.is_some());
    }

    /// How the watching ends with this, if it does: with the turn, or when that will not come by itself any more.
    fn ended_by(&self, event: &Event) -> Option<WatchEnd> {
        match &event.body {
            Body::TurnFinished(end) => {
                (self.until == Until::Turn(event.turn?)).then_some(WatchEnd::Turn(end.outcome))
            }
            Body::PromptCancelled { prompt } if self.queued == Some(*prompt) => Some(WatchEnd::Broken),
            Body::QueueHeld if self.queued.is_some() => Some(WatchEnd::Broken),
            _ => None,
        }
    }

    /// The hub is gone in the middle of it.
    fn lost(&mut self) -> Result<Fault> {
        self.screen.settled()?;
        self.screen.print(&self.renderer.finish())?;
        let hint = format!(
            "`longshore resume {0}` starts the hub, and the agent continues; `longshore attach {0} --after {1}` \
             only shows the rest of the conversation",
            self.session, self.cursor
        );
        Ok(Fault::no_hub("the hub has stopped; the session is safe in the log", hint))
    }

    /// The first stops the turn, the second leaves.
    async fn ctrl_c(&mut self) -> Result<bool> {
        self.screen.erase()?;
        let again = std::mem::replace(&mut self.interrupted, true);
        if again || (self.until == Until::Left && !self.screen.has_line()) {
            put_line("")?;
            return Ok(true);
        }
        if let Some(prompt) = self.queued.take() {
            let own = json!({ "session": self.session, "prompt": prompt });
            // It may have begun in this very moment; then it is its turn that is stopped.
            if self.client.call::<Value>("cancelPrompt", own).await.is_ok() {
                note("the prompt was taken back before the agent got it");
                return Ok(true);
            }
        }
        if self.until != Until::Left {
            note("stopping the turn; Ctrl-C again does not wait for it");
        }
        self.client.send("interrupt", json!({ "session": self.session })).await?;
        Ok(false)
    }

    /// What a person did. Says whether they leave.
    async fn typed(&mut self, typed: Typed) -> Result<bool> {
        match typed {
            Typed::Line(line) => return self.line(&line).await,
            Typed::Steer(words) => self.say(&words, "steer", Echo::Nowhere).await?,
            Typed::Prompt(words) => {
                self.interrupted = false;
                self.say(&words, "queue", Echo::Above).await?;
            }
            Typed::Stop => self.stop().await?,
            Typed::Break if self.turn.is_none() => {
                return Ok(std::mem::replace(&mut self.interrupted, true));
            }
            Typed::Break => return self.ctrl_c().await,
            Typed::NextMode => self.next_mode().await?,
        }
        Ok(false)
    }
}

/// The input line of this terminal, with what was said in it before.
fn open_line(screen: &Screen) -> Result<(InputLine, tokio::sync::mpsc::Receiver<Typed>)> {
    let places = Places::find()?;
    places.make_data()?;
    InputLine::open(&places.history(), screen.style.color)
}

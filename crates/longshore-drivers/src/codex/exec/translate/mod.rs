//! The driver: lines of theirs in, words of the waist out, and a process for each prompt.
//!
//! | module | holds |
//! |---|---|
//! | `runs` | how a process is started, for what a session says |
//! | `turns` | turns begin, fail and end |
//! | `items` | what they are made of |
//!
//! Every line that comes while there is a session is kept: a handler says what it has a word for, and `Exec::line`
//! keeps whatever no handler had a word for.

mod items;
mod runs;
mod turns;

use longshore_model::anchor::{Launch, Start};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, NoticeLevel, RawFault};
use longshore_model::id::{Context, SessionId};
use longshore_model::lifecycle::{FaultCode, Ready, SessionFault};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;

use self::runs::ExecPrompt;
use self::turns::ExecRun;
use super::MODES;
use super::wire::{self, ExecEvent};
use crate::kit::{Scribe, WireError};

/// The driver of one session.
#[derive(Debug, Default)]
pub struct Exec {
    conversation: Option<ExecConversation>,
}

/// The session.
#[derive(Debug)]
struct ExecConversation {
    /// How the next process is to be started. Changes with what the session says, and when the thread has a name.
    launch: Launch,
    /// What the thread has used so far; none when that is not known.
    used: Option<Usage>,
    /// The process that runs.
    running: Option<ExecRun>,
    /// What was said while a process whose turn was over had not ended yet.
    next: Option<ExecPrompt>,
}

impl Exec {
    /// A driver that has no session yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn open(&mut self, launch: Launch, scribe: &mut Scribe<'_>) {
        let session = launch.session;
        if !MODES.contains(&launch.mode) {
            let text = refused(launch.mode);
            let fault = Body::SessionError(SessionFault { code: FaultCode::Refused });
            scribe.say(session, Draft::new(fault).text(text.clone()));
            scribe.out.finished = Some(text);
            return;
        }
        let native = match &launch.start {
            Start::Resume { native } => Some(native.clone()),
            Start::New | Start::Told { .. } | Start::Lines { .. } | Start::Fork { .. } => None,
        };
        let used = match &launch.start {
            Start::New | Start::Told { .. } | Start::Lines { .. } => Some(Usage::default()),
            // What it used before, it tells only with what it uses next.
            Start::Resume { .. } | Start::Fork { .. } => None,
        };
        let ready = Ready { native, version: None, model: launch.model.clone(), transcript: None };
        scribe.say(session, Draft::new(Body::SessionReady(ready)));
        self.conversation = Some(ExecConversation { launch, used, running: None, next: None });
    }

    /// A line of theirs. What comes of it carries the line; a line that nothing comes of is kept as it is.
    fn line(&mut self, line: &str, scribe: &mut Scribe<'_>) {
        let Some(conversation) = &mut self.conversation else { return };
        let (kind, fault) = match wire::read(line) {
            Ok(line) => (line.kind, conversation.hear(line.said, scribe).err().map(|_| RawFault::Malformed)),
            Err(_) => ("malformed".to_owned(), Some(RawFault::Malformed)),
        };
        if !scribe.has_quoted() {
            conversation.keep(kind, fault, scribe);
        }
    }
}

impl ExecConversation {
    fn session(&self) -> SessionId {
        self.launch.session
    }

    /// A line of the process that runs.
    fn hear(&mut self, said: ExecEvent, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let failed = matches!(said, ExecEvent::TurnFailed(_));
        let Some(running) = &mut self.running else { return Ok(()) };
        // An error that fails the turn is told when it does, a moment later and in the same words.
        if let Some(text) = running.untold.take().filter(|_| !failed) {
            self.notice(NoticeLevel::Warning, text, &mut scribe.bare());
        }
        match said {
            ExecEvent::ThreadStarted(thread) => self.named(thread, scribe),
            ExecEvent::Item(step, item) => return self.item(step, item, scribe),
            ExecEvent::TurnCompleted(usage) => self.turn_completed(usage, scribe),
            ExecEvent::TurnFailed(message) => self.turn_failed(message, scribe),
            ExecEvent::Error(message) => self.went_wrong(message, scribe),
            ExecEvent::Called(call) => self.called(call, scribe),
            ExecEvent::Returned(result) => self.returned(result, scribe),
            ExecEvent::Other => {}
        }
        Ok(())
    }

    fn tell(&mut self, command: AgentCommand, scribe: &mut Scribe<'_>) {
        match command {
            AgentCommand::Prompt { turn, text, attachments, .. } => {
                self.prompt(ExecPrompt { turn, text, attachments }, scribe);
            }
            AgentCommand::Interrupt { turn } => self.interrupt(turn, scribe),
            AgentCommand::SetMode(mode) => self.launch.mode = mode,
            AgentCommand::SetModel(model) => self.launch.model = Some(model),
            AgentCommand::Steer { text, .. } => {
                let fault = Body::SessionError(SessionFault { code: FaultCode::Refused });
                let text =
                    format!("codex exec takes nothing into a running turn and never heard this: {text}");
                scribe.say(self.session(), Draft::new(fault).text(text));
            }
            // It asks nothing, delegates nothing through us, and what a thread is called is no concern of its.
            AgentCommand::Child { .. }
            | AgentCommand::Decide { .. }
            | AgentCommand::Answer { .. }
            | AgentCommand::Rename(_)
            | AgentCommand::SetEffort(_)
            | AgentCommand::Archive(_) => {}
        }
    }

    /// Keeps a line as it came.
    fn keep(&self, kind: String, fault: Option<RawFault>, scribe: &mut Scribe<'_>) {
        let turn = self.running.as_ref().map(|running| running.turn);
        scribe.keep(self.session(), turn, kind, fault);
    }

    /// Says a line to people.
    fn notice(&self, level: NoticeLevel, text: String, scribe: &mut Scribe<'_>) {
        let turn = self.running.as_ref().map(|running| running.turn);
        scribe.notice(self.session(), turn, level, text);
    }
}

/// Why a session does not come to be.
fn refused(mode: Mode) -> String {
    let modes: Vec<String> = MODES.iter().map(ToString::to_string).collect();
    format!("codex exec never asks, so it cannot work in the mode {mode}; its modes are {}", modes.join(", "))
}

impl Driver for Exec {
    fn handle(&mut self, input: Input, cx: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => self.open(launch, &mut Scribe::new(cx, out)),
            Input::Ask { id, .. } => {
                let answer =
                    "codex exec answers no questions; ask codex, whose threads and models are the same";
                out.answers.push((id, Err(answer.to_owned())));
            }
            Input::Line(raw) => self.line(&raw, &mut Scribe::hearing(&raw, cx, out)),
            Input::Garbled { text, fault } => {
                if let Some(conversation) = &self.conversation {
                    let scribe = &mut Scribe::hearing(&text, cx, out);
                    conversation.keep("garbled".to_owned(), Some(fault), scribe);
                }
            }
            Input::Tell { command, .. } => {
                if let Some(conversation) = &mut self.conversation {
                    conversation.tell(command, &mut Scribe::new(cx, out));
                }
            }
            Input::Ended { sleep, reason } => {
                if let Some(conversation) = &mut self.conversation {
                    conversation.ended(&sleep, reason, &mut Scribe::new(cx, out));
                }
            }
            Input::Tick => {
                if let Some(conversation) = &mut self.conversation {
                    conversation.tick(&mut Scribe::new(cx, out));
                }
            }
            // It is one conversation, no server, and does its work itself.
            Input::Http(_) | Input::Close { .. } | Input::WorkDone { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.conversation.as_ref()?.running.as_ref()?.due
    }
}

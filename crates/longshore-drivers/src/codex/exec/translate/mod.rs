//! The driver: translates Codex's lines into events, and starts a process for each prompt.
//!
//! | module | holds |
//! |---|---|
//! | `runs` | how a process is started for a prompt |
//! | `turns` | how turns begin, fail and end |
//! | `items` | the parts of a turn |
//!
//! While there is a session, the driver keeps every line. Handlers emit drafts for what they understand, and
//! `Exec::line` keeps every line for which no handler emitted a draft.

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
    /// How the next process must be started. This changes with the session's commands, and when Codex names
    /// the thread.
    launch: Launch,
    /// The usage of the thread so far. None if it is unknown.
    used: Option<Usage>,
    /// The running process.
    running: Option<ExecRun>,
    /// A prompt that came when the turn of the running process was over, but the process had not ended yet.
    next: Option<ExecPrompt>,
}

impl Exec {
    /// A driver without a session.
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
            // Codex reports the earlier usage only together with the next usage.
            Start::Resume { .. } | Start::Fork { .. } => None,
        };
        let ready = Ready { native, version: None, model: launch.model.clone(), transcript: None };
        scribe.say(session, Draft::new(Body::SessionReady(ready)));
        self.conversation = Some(ExecConversation { launch, used, running: None, next: None });
    }

    /// Handles a line. A draft from the line carries the line. A line without a draft is kept unchanged.
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

    /// Handles a line of the running process.
    fn hear(&mut self, said: ExecEvent, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let failed = matches!(said, ExecEvent::TurnFailed(_));
        let Some(running) = &mut self.running else { return Ok(()) };
        // If the error fails the turn, the next line repeats it. So the driver does not report it twice.
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
            // `codex exec` asks nothing, does not delegate through the hub, and has no titles of threads.
            AgentCommand::Child { .. }
            | AgentCommand::Decide { .. }
            | AgentCommand::Answer { .. }
            | AgentCommand::Rename(_)
            | AgentCommand::SetEffort(_)
            | AgentCommand::Archive(_) => {}
        }
    }

    /// Keeps a line unchanged.
    fn keep(&self, kind: String, fault: Option<RawFault>, scribe: &mut Scribe<'_>) {
        let turn = self.running.as_ref().map(|running| running.turn);
        scribe.keep(self.session(), turn, kind, fault);
    }

    /// Emits a line as a notice for people.
    fn notice(&self, level: NoticeLevel, text: String, scribe: &mut Scribe<'_>) {
        let turn = self.running.as_ref().map(|running| running.turn);
        scribe.notice(self.session(), turn, level, text);
    }
}

/// Why a session cannot be opened.
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
            // The agent has one conversation, is not a server, and needs no files or commands of the hub.
            Input::Http(_) | Input::Close { .. } | Input::WorkDone { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.conversation.as_ref()?.running.as_ref()?.due
    }
}

//! What an imported file may bring in. Its author may be a stranger, so the file only tells what happened: it starts
//! nothing, allows nothing and decides nothing. The check is pure and goes event by event.
//!
//! | in the file | here |
//! |---|---|
//! | the opening | this hub's own knowledge of the agent, mode `ask`, a folder that this hub knows or that the caller names; no MCP servers, no model, no parent, no origin |
//! | messages and tool calls | unchanged; the author is marked as imported |
//! | approvals and questions | with new ids, and only with their outcome, so none is open |
//! | attachments by path or address | left out: this hub would read them |
//! | notices | marked as imported: another hub wrote them |
//! | work of other sessions | raw events: no session of this hub is a child of a file |
//! | modes, models, waiting prompts | raw events, which have no effect |
//! | the agent's own name of the conversation | unchanged; a notice says if a session here has the same name |
//! | lines of an agent whose memory is the log | left out: they would become its memory, with everything that was ever allowed |

// What is not named here is not let in: that is the safe side for whatever kind of event there will be.
#![allow(clippy::wildcard_enum_match_arm)]

use std::collections::HashMap;

use longshore_model::capability::{Capabilities, Mode};
use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{AgentName, Author, Body, Event, NoticeLevel, Raw};
use longshore_model::id::{ApprovalId, QuestionId, Seq, SessionId};
use longshore_model::lifecycle::{NativeId, Opened, TurnErrorCode};
use longshore_model::time::Timestamp;

/// The most bytes of an imported title.
const TITLE_BYTES: usize = 1_000;
/// The most approvals and questions that may wait for their outcome at once; further ones are left out.
const WAITING: usize = 1_000;

/// An imported event with the agent's own frame.
pub(crate) type ImportedEvent = (Event, Option<Raw>);

/// Checks the events of one file.
#[derive(Debug)]
pub(crate) struct Customs {
    session: SessionId,
    agent: AgentName,
    /// Whether the agent uses lines of the log as its memory.
    remembers_lines: bool,
    now: Timestamp,
    /// Approvals and questions whose outcome is not known yet.
    waiting: HashMap<uuid::Uuid, ImportedEvent>,
    /// The agent's name of the conversation, according to the file. It has no effect, except that a notice
    /// names a session with the same name.
    native: Option<NativeId>,
    /// Whether the hub has looked for such a session.
    looked_for: bool,
}

impl Customs {
    /// Checks the opening of a session. Returns the check of the rest, and the events that enter, with
    /// notices.
    pub(crate) fn open(
        first: ImportedEvent,
        opened: Opened,
        capabilities: Capabilities,
        cwd: String,
        now: Timestamp,
    ) -> (Self, Vec<ImportedEvent>) {
        let (mut event, _) = first;
        let (agent, remembers_lines) = (opened.agent.clone(), capabilities.memory_in_log);
        let servers: Vec<&str> = opened.mcp_servers.iter().map(|server| server.name.as_str()).collect();
        let mut notices = vec![(
            NoticeLevel::Info,
            format!(
                "this session was read from a file: it goes on in {cwd}, in mode ask, and its agent is told what the file says"
            ),
        )];
        if !servers.is_empty() {
            let names = tidy(&servers.join(", "));
            let left_out =
                format!("left out of the file, since no file starts programs here: the MCP servers {names}");
            notices.push((NoticeLevel::Warning, left_out));
        }
        let opened = Opened {
            cwd,
            mode: Mode::Ask,
            model: None,
            effort: None,
            title: opened.title.map(|title| tidy(&title)).filter(|title| !title.is_empty()),
            mcp_servers: Vec::new(),
            capabilities,
            parent: None,
            forked_from: None,
            from_file: true,
            ..opened
        };
        let waiting = HashMap::new();
        let (session, native, looked_for) = (event.session, None, false);
        let customs = Self { session, agent, remembers_lines, now, waiting, native, looked_for };
        event.body = Body::SessionOpened(Box::new(opened));
        (event.turn, event.item, event.parent) = (None, None, None);
        let at = event.at;
        let said = |(level, text): (NoticeLevel, String)| customs.remark(level, text, at);
        let mut told: Vec<ImportedEvent> = notices.into_iter().map(said).collect();
        told.insert(0, (customs.dated(event), None));
        (customs, told)
    }

    /// The events that enter for one event of the file, in order.
    pub(crate) fn pass(&mut self, (event, raw): ImportedEvent) -> Vec<ImportedEvent> {
        let mut event = self.dated(event);
        let raw = raw.filter(|_| !self.remembers_lines);
        match &mut event.body {
            Body::ApprovalRequested(request) => {
                request.approval = self.own_approval(request.approval);
                let name = request.approval.0;
                return self.waits(name, (event, raw));
            }
            Body::QuestionAsked(request) => {
                request.question = self.own_question(request.question);
                let name = request.question.0;
                return self.waits(name, (event, raw));
            }
            Body::ApprovalDecided { approval, decision } => {
                *approval = self.own_approval(*approval);
                decision.by = as_told(&decision.by);
                let name = approval.0;
                return self.ends(name, (event, raw));
            }
            Body::ApprovalExpired { approval } => {
                *approval = self.own_approval(*approval);
                let name = approval.0;
                return self.ends(name, (event, raw));
            }
            Body::QuestionAnswered { question, answer } => {
                *question = self.own_question(*question);
                answer.by = as_told(&answer.by);
                let name = question.0;
                return self.ends(name, (event, raw));
            }
            Body::QuestionExpired { question } => {
                *question = self.own_question(*question);
                let name = question.0;
                return self.ends(name, (event, raw));
            }
            Body::UserMessage { attachments, by, .. } => {
                attachments.retain(is_here);
                *by = Some(as_told(by.as_deref().unwrap_or("somebody")));
            }
            Body::ToolFinished(outcome) => outcome.attachments.retain(is_here),
            // What this hub says of itself stands in notices.
            Body::Notice { .. } | Body::SessionClosed => event.text = event.text.as_deref().map(not_ours),
            // Nothing of it was cut off here, so that there is nothing to resume.
            Body::TurnFinished(end) => {
                if let Some(error) =
                    end.error.as_mut().filter(|error| error.code == TurnErrorCode::HubRestarted)
                {
                    error.code = TurnErrorCode::AgentGone;
                }
            }
            // Sessions of this hub are nobody's children in a file.
            Body::DelegationStarted(_) | Body::DelegationWaiting { .. } | Body::DelegationFinished(_) => {
                event.body = kept_raw();
            }
            Body::TitleChanged => event.text = event.text.as_deref().map(tidy),
            Body::ArchiveChanged { .. }
            | Body::UsageUpdated(_)
            | Body::UsageLimited(_)
            | Body::Raw { .. } => {}
            Body::SessionReady(ready) => {
                self.native = self.native.take().or(ready.native.take());
                event.body = kept_raw();
            }
            body if body.kind().conversation => {}
            _ => event.body = kept_raw(),
        }
        vec![(event, raw)]
    }

    /// The agent of the conversation.
    pub(crate) fn agent(&self) -> AgentName {
        self.agent.clone()
    }

    /// The agent's name of the conversation, once, when the file has said it.
    pub(crate) fn take_native(&mut self) -> Option<NativeId> {
        let native = self.native.clone().filter(|_| !self.looked_for);
        self.looked_for |= native.is_some();
        native
    }

    /// A notice that this hub already has the conversation, as a session that knows it from the agent itself.
    ///
    /// The two stay apart: the author of the file could name any conversation of this machine, and would
    /// speak in it.
    pub(crate) fn namesake(&self, known: SessionId) -> ImportedEvent {
        let text = format!(
            "the file names a conversation that is here already: {known}. The two stay apart, since a file could name any \
             conversation; what the agent itself remembers goes on in {known}, what the file says goes on here"
        );
        self.remark(NoticeLevel::Warning, text, self.now)
    }

    fn remark(&self, level: NoticeLevel, text: String, at: Timestamp) -> ImportedEvent {
        let notice = Event {
            seq: Seq::ZERO,
            session: self.session,
            agent: self.agent.clone(),
            at,
            turn: None,
            item: None,
            parent: None,
            text: Some(text),
            body: Body::Notice { level },
        };
        (self.dated(notice), None)
    }

    /// Moves the event into this session, with this agent, and not into the future, where it would be first
    /// in all lists for a long time.
    fn dated(&self, mut event: Event) -> Event {
        event.session = self.session;
        event.agent = self.agent.clone();
        event.at = event.at.min(self.now);
        event
    }

    fn waits(&mut self, name: uuid::Uuid, told: ImportedEvent) -> Vec<ImportedEvent> {
        if self.waiting.len() < WAITING {
            self.waiting.insert(name, told);
        }
        Vec::new()
    }

    /// Returns an approval or question together with its outcome.
    fn ends(&mut self, name: uuid::Uuid, told: ImportedEvent) -> Vec<ImportedEvent> {
        self.waiting.remove(&name).map(|began| vec![began, told]).unwrap_or_default()
    }

    /// A new id: a file must not refer to an approval of this hub.
    fn own_approval(&self, named: ApprovalId) -> ApprovalId {
        ApprovalId::of_words(&["imported", &self.session.to_string(), &named.to_string()])
    }

    fn own_question(&self, named: QuestionId) -> QuestionId {
        QuestionId::of_words(&["imported", &self.session.to_string(), &named.to_string()])
    }
}

fn kept_raw() -> Body {
    Body::Raw { kind: "imported".to_owned(), fault: None }
}

/// Whether the attachment is in the file itself.
fn is_here(attachment: &Attachment) -> bool {
    match attachment.source {
        AttachmentSource::Data(_) => true,
        AttachmentSource::Path(_) | AttachmentSource::Url(_) => false,
    }
}

/// The author, as the file names it; nobody did this here.
fn as_told(by: &str) -> Author {
    format!("{} (imported)", tidy(by))
}

/// A text without a line that reads as if this hub had written it.
fn not_ours(text: &str) -> String {
    const BREAKS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let lines = text.split(BREAKS).filter(|line| !line.trim().is_empty());
    lines.map(|line| format!("(imported) {line}")).collect::<Vec<_>>().join("\n")
}

/// A line of bounded length without control characters.
fn tidy(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let end = (0..=TITLE_BYTES.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line[..end].trim().to_owned()
}

//! The state of each conversation: its turn, its growing items and its settings.

use std::collections::HashMap;

use longshore_model::capability::{Mode, SlashCommand};
use longshore_model::command::Attachment;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, SessionId, TurnId};
use longshore_model::usage::Usage;

use super::settings::{AcpSettings, Answers};
use super::tools::AcpToolCall;
use crate::kit::Scribe;

/// The most bytes that the driver holds of a growing message. Beyond this, the message continues as another
/// message.
const MESSAGE_LIMIT: usize = 1 << 20;

/// A conversation of the agent that is a session of ours.
#[derive(Debug)]
pub(super) struct AcpConversation {
    pub session: SessionId,
    pub cwd: String,
    pub mode: Mode,
    /// Who answers the agent's requests for permission.
    pub answers: Answers,
    /// Whether the agent reports the past: the conversation was loaded, and no prompt was sent since.
    pub replaying: bool,
    /// The transcript that the first prompt must contain.
    pub story: Option<String>,
    pub settings: AcpSettings,
    pub model: Option<String>,
    /// How many requests that change settings have no answer yet.
    pub settling: usize,
    /// One of these requests is not a real request: it stands for a past that the agent still reports.
    pub past: Option<u64>,
    /// The prompt that waits for these requests.
    pub held: Option<AcpPrompt>,
    pub turn: Option<AcpTurn>,
    /// The message or the reasoning that grows now.
    pub voice: Option<OpenMessage>,
    /// The tool calls of the last turn and of the running turn, by the agent's ids.
    pub tools: HashMap<String, AcpToolCall>,
    /// The item of this turn's plan.
    pub plan: Option<ItemId>,
    pub commands: Option<Vec<SlashCommand>>,
    pub title: Option<String>,
    /// Whether a person gave a title, which takes precedence over the agent's title.
    pub renamed: bool,
    /// The last message of a denial that the agent did not get, as the notice showed it, and the turn of that
    /// notice.
    pub unheard: Option<(Option<TurnId>, String)>,
    /// The usage that was last reported.
    pub usage: Usage,
    /// The cost so far.
    pub cost: Option<f64>,
}

/// The running turn.
#[derive(Debug)]
pub(super) struct AcpTurn {
    pub id: TurnId,
    /// The number of our request; none while the prompt waits.
    pub call: Option<u64>,
    /// Whether the turn was stopped or failed, so that its open items will not be finished.
    pub cut: bool,
    pub usage_before: Usage,
    /// The usage of the turn's answers, if the agent reports it answer by answer.
    pub answers: Usage,
    pub cost_before: Option<f64>,
    /// The last message of the turn.
    pub last_message: String,
    /// Whether the agent called a tool.
    pub worked: bool,
}

/// A prompt.
#[derive(Clone, Debug)]
pub(super) struct AcpPrompt {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// A message or reasoning that grows.
#[derive(Debug)]
pub(super) struct OpenMessage {
    pub item: ItemId,
    pub thought: bool,
    pub text: String,
    /// The agent's id of the message, if it has one.
    pub message: Option<String>,
}

impl AcpConversation {
    pub(super) fn new(session: SessionId, cwd: String, mode: Mode) -> Self {
        Self {
            session,
            cwd,
            mode,
            answers: Answers::Person,
            replaying: false,
            story: None,
            settings: AcpSettings::default(),
            model: None,
            settling: 0,
            past: None,
            held: None,
            turn: None,
            voice: None,
            tools: HashMap::new(),
            plan: None,
            commands: None,
            title: None,
            renamed: false,
            unheard: None,
            usage: Usage::default(),
            cost: None,
        }
    }

    pub(super) fn turn_id(&self) -> Option<TurnId> {
        self.turn.as_ref().map(|turn| turn.id)
    }

    /// Begins a turn, and forgets what the last turn left.
    pub(super) fn begin(&mut self, id: TurnId) {
        self.tools.retain(|_, tool| tool.open);
        self.plan = None;
        self.turn = Some(AcpTurn {
            id,
            call: None,
            cut: false,
            usage_before: self.usage,
            answers: Usage::default(),
            cost_before: self.cost,
            last_message: String::new(),
            worked: false,
        });
    }

    /// Adds a chunk of a message or of reasoning. Chunks have no ids. Another message begins when the kind
    /// changes, when the agent names another message, and after a tool call.
    pub(super) fn speak(
        &mut self,
        thought: bool,
        message: Option<&str>,
        text: String,
        scribe: &mut Scribe<'_>,
    ) {
        let goes_on = self.voice.as_ref().is_some_and(|voice| {
            let another = matches!((&voice.message, message), (Some(of), Some(is)) if of != is);
            voice.thought == thought && !another && voice.text.len() < MESSAGE_LIMIT
        });
        if !goes_on {
            self.fall_silent(scribe);
        }
        let turn = self.turn_id();
        let voice = self.voice.get_or_insert_with(|| OpenMessage {
            item: ItemId::mint(&mut scribe.cx),
            thought,
            text: String::new(),
            message: message.map(str::to_owned),
        });
        voice.text.push_str(&text);
        let body = if thought { Body::ReasoningDelta } else { Body::MessageDelta };
        scribe.say(self.session, Draft::new(body).turn(turn).item(voice.item).text(text));
    }

    /// Ends the message or the reasoning that grows.
    pub(super) fn fall_silent(&mut self, scribe: &mut Scribe<'_>) {
        let Some(voice) = self.voice.take() else { return };
        let partial = self.turn.as_ref().is_some_and(|turn| turn.cut);
        let body = match voice.thought {
            true => Body::ReasoningDone { partial },
            false => Body::MessageDone { phase: None, partial },
        };
        if let Some(turn) = self.turn.as_mut().filter(|_| !voice.thought) {
            turn.last_message.clone_from(&voice.text);
        }
        let draft = Draft::new(body).turn(self.turn_id()).item(voice.item).text(voice.text);
        scribe.say(self.session, draft);
    }
}

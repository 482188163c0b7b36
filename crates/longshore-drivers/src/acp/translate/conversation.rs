//! What is known of each conversation: its turn, what grows in it, and what can be set.

use std::collections::HashMap;

use longshore_model::capability::{Mode, SlashCommand};
use longshore_model::command::Attachment;
use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, ItemId, SessionId, TurnId};
use longshore_model::usage::Usage;

use super::settings::{AcpSettings, Answers};
use super::tools::AcpToolCall;

/// A message that grows past this goes on as another one, so that no more than this is held of it.
const MESSAGE_LIMIT: usize = 1 << 20;

/// A conversation of theirs that is a session of ours.
#[derive(Debug)]
pub(super) struct AcpConversation {
    pub session: SessionId,
    pub cwd: String,
    pub mode: Mode,
    /// Who answers when it asks.
    pub answers: Answers,
    /// What it tells of the conversation was said before: it was loaded, and nothing was said to it since.
    pub replaying: bool,
    /// What the first prompt must tell first.
    pub story: Option<String>,
    pub settings: AcpSettings,
    pub model: Option<String>,
    /// How many requests are on the way that change how it works.
    pub settling: usize,
    /// One of those, which is none: the past is still being told.
    pub past: Option<i64>,
    /// The prompt that waits for them.
    pub held: Option<AcpPrompt>,
    pub turn: Option<AcpTurn>,
    /// What it says or thinks right now.
    pub voice: Option<OpenMessage>,
    /// By their name; those of the last turn, and those of the turn that runs.
    pub tools: HashMap<String, AcpToolCall>,
    /// The item that the plan of this turn is.
    pub plan: Option<ItemId>,
    pub commands: Option<Vec<SlashCommand>>,
    pub title: Option<String>,
    /// A person gave it a title, which is better than the agent's.
    pub renamed: bool,
    /// The words with a no that it did not hear, as people were told last, and in which turn.
    pub unheard: Option<(Option<TurnId>, String)>,
    /// What it has used so far, as it was told last.
    pub usage: Usage,
    /// What it has cost so far.
    pub cost: Option<f64>,
}

/// The turn that runs.
#[derive(Debug)]
pub(super) struct AcpTurn {
    pub id: TurnId,
    /// The number of our request; none while the prompt is held.
    pub call: Option<i64>,
    /// It was stopped, or failed: what is open in it will not be finished.
    pub cut: bool,
    pub usage_before: Usage,
    /// What its answers have used, where that is told answer by answer.
    pub answers: Usage,
    pub cost_before: Option<f64>,
    /// The last message of the turn.
    pub last_message: String,
    /// Whether any tool was called.
    pub worked: bool,
}

/// Something that a person says.
#[derive(Clone, Debug)]
pub(super) struct AcpPrompt {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

/// What the agent says or thinks right now.
#[derive(Debug)]
pub(super) struct OpenMessage {
    pub item: ItemId,
    pub thought: bool,
    pub text: String,
    /// Their name of the message, where they have one.
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

    /// A turn begins. What the last one left is forgotten.
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

    /// It says or thinks something. Pieces have no names: another message begins when the kind changes, when
    /// the agent names another one, and after a tool was called.
    pub(super) fn speak(
        &mut self,
        thought: bool,
        message: Option<&str>,
        text: String,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let goes_on = self.voice.as_ref().is_some_and(|voice| {
            let another = matches!((&voice.message, message), (Some(of), Some(is)) if of != is);
            voice.thought == thought && !another && voice.text.len() < MESSAGE_LIMIT
        });
        if !goes_on {
            self.fall_silent(out);
        }
        let turn = self.turn_id();
        let voice = self.voice.get_or_insert_with(|| OpenMessage {
            item: ItemId::mint(cx),
            thought,
            text: String::new(),
            message: message.map(str::to_owned),
        });
        voice.text.push_str(&text);
        let body = if thought { Body::ReasoningDelta } else { Body::MessageDelta };
        out.say(self.session, Draft::new(body).turn(turn).item(voice.item).text(text));
    }

    /// What it says or thinks ends here.
    pub(super) fn fall_silent(&mut self, out: &mut Output) {
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
        out.say(self.session, draft);
    }
}

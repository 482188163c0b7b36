//! Modes, models and options: what a session can set, and the agent's counterparts of our modes.
//!
//! Agents report their settings in three ways: options, modes and models. If an agent uses several, the
//! newest way counts. If an agent lacks a mode, it works in its asking mode instead, and the driver answers
//! what the mode allows.

use longshore_model::capability::{Mode, ModelInfo};
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::SessionId;
use serde_json::{Value, json};

use super::Acp;
use super::calls::{AcpCall, SettingChange};
use super::conversation::AcpConversation;
use crate::acp::rows::AcpRow;
use crate::acp::wire::{ConfigOption, ConfigValue, Models, Modes, Opened};
use crate::kit::Scribe;

/// The setting for the agent's mode.
const MODE: &str = "mode";
/// The setting for the model.
const MODEL: &str = "model";
/// The setting for the effort of the model.
const EFFORT: &str = "thought_level";

/// Who answers the agent's requests for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// A person.
    Person,
    /// The driver, if the request is about changes of files in the work tree; otherwise a person.
    Edits,
    /// The driver.
    All,
}

/// What can be set, and how.
#[derive(Debug, Default)]
pub(super) struct AcpSettings {
    modes: Option<Modes>,
    models: Option<Models>,
    options: Vec<ConfigOption>,
}

impl AcpSettings {
    /// Reads the settings that the agent reports. Settings that it does not mention stay.
    pub(super) fn read(&mut self, opened: Opened) {
        self.modes = opened.modes.or(self.modes.take());
        self.models = opened.models.or(self.models.take());
        if let Some(options) = opened.config_options {
            self.options = options;
        }
    }

    pub(super) fn set_options(&mut self, options: Vec<ConfigOption>) {
        self.options = options;
    }

    pub(super) fn set_mode(&mut self, mode: String) {
        if let Some(option) = self.options.iter_mut().find(|option| is(option, MODE)) {
            option.current_value = Value::from(mode.clone());
        }
        if let Some(modes) = &mut self.modes {
            modes.current_mode_id = mode;
        }
    }

    fn option(&self, setting: &str) -> Option<&ConfigOption> {
        self.options.iter().find(|option| is(option, setting))
    }

    /// Our name of a model: the agent's id, or the title if people cannot read the id.
    fn shown<'a>(&'a self, id: &'a str) -> &'a str {
        let readable = id.chars().all(|c| c.is_ascii_alphanumeric() || "-._:/@[]+ ".contains(c));
        let names = self.model_names();
        let title = names.iter().find(|(of, _)| *of == id).map(|(_, title)| *title);
        let alone =
            |title: &&str| names.iter().filter(|(of, other)| other == title || of == title).count() == 1;
        title.filter(|title| !readable && !title.is_empty() && alone(title)).unwrap_or(id)
    }

    /// The agent's id of a model with this name.
    fn model_called(&self, shown: &str) -> String {
        let names = self.model_names();
        names.iter().map(|(id, _)| *id).find(|id| self.shown(id) == shown).unwrap_or(shown).to_owned()
    }

    /// The models, with ids and titles.
    fn model_names(&self) -> Vec<(&str, &str)> {
        match (self.option(MODEL), &self.models) {
            (Some(option), _) => {
                flat(&option.options).map(|value| (value.value.as_str(), value.name.as_str())).collect()
            }
            (None, Some(models)) => {
                let all = models.available_models.iter();
                all.map(|model| (model.model_id.as_str(), model.name.as_str())).collect()
            }
            (None, None) => Vec::new(),
        }
    }

    /// The present value of a setting.
    fn value(&self, setting: &str) -> Option<&str> {
        match self.option(setting) {
            Some(option) => option.current_value.as_str(),
            None if setting == MODE => self.modes.as_ref().map(|modes| modes.current_mode_id.as_str()),
            None if setting == MODEL => self.models.as_ref().map(|models| models.current_model_id.as_str()),
            None => None,
        }
    }

    /// The possible values of a setting.
    fn values(&self, setting: &str) -> Vec<&str> {
        match (self.option(setting), &self.modes) {
            (Some(option), _) => flat(&option.options).map(|value| value.value.as_str()).collect(),
            (None, Some(modes)) if setting == MODE => {
                modes.available_modes.iter().map(|mode| mode.id.as_str()).collect()
            }
            (None, _) => Vec::new(),
        }
    }

    /// The present model.
    pub(super) fn model(&self) -> Option<&str> {
        self.value(MODEL).filter(|model| !model.is_empty()).map(|model| self.shown(model))
    }

    /// The available models.
    pub(super) fn models(&self) -> Vec<ModelInfo> {
        let now = self.model();
        let info = |id: &str, name: &str, description: &str| ModelInfo {
            id: self.shown(id).to_owned(),
            title: if name.is_empty() { id.to_owned() } else { name.to_owned() },
            description: description.to_owned(),
            default: now == Some(self.shown(id)),
            // The efforts of another model are unknown until it is chosen.
            efforts: if now == Some(self.shown(id)) { self.efforts() } else { Vec::new() },
        };
        match (self.option(MODEL), &self.models) {
            (Some(option), _) => flat(&option.options)
                .map(|value| info(&value.value, &value.name, &value.description))
                .collect(),
            (None, Some(models)) => models
                .available_models
                .iter()
                .map(|model| info(&model.model_id, &model.name, &model.description))
                .collect(),
            (None, None) => Vec::new(),
        }
    }

    /// The efforts of the present model.
    fn efforts(&self) -> Vec<String> {
        let all = self.values(EFFORT).into_iter();
        all.filter(|effort| *effort != "default").map(str::to_owned).collect()
    }

    /// The settings for a mode; none if the agent does not have the mode.
    fn way(&self, row: &AcpRow, mode: Mode) -> Option<Vec<(String, String)>> {
        if row.modes.is_empty() {
            let known = words(mode);
            let found = self.values(MODE).into_iter().find(|id| known.contains(&plain(id).as_str()))?;
            return Some(vec![(MODE.to_owned(), found.to_owned())]);
        }
        let mut ways = row.modes.iter().filter(|(of, _)| *of == mode).map(|(_, way)| *way);
        let way = ways.find(|way| way.iter().all(|(setting, value)| self.values(setting).contains(value)))?;
        Some(way.iter().map(|(setting, value)| ((*setting).to_owned(), (*value).to_owned())).collect())
    }

    /// The agent's present mode, if it is one of our modes.
    pub(super) fn mode(&self, row: &AcpRow) -> Option<Mode> {
        if row.modes.is_empty() {
            let now = plain(self.value(MODE)?);
            let all = [Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full];
            return all.into_iter().find(|mode| words(*mode).contains(&now.as_str()));
        }
        let is_set = |way: &[(&str, &str)]| {
            way.iter().all(|(setting, value)| self.value(setting).is_none_or(|now| now == *value))
        };
        self.value(MODE)?;
        row.modes.iter().find(|(_, way)| is_set(way)).map(|(mode, _)| *mode)
    }

    /// The settings for a mode, and who answers requests in it.
    pub(super) fn settle(&self, row: &AcpRow, mode: Mode) -> (Vec<(String, String)>, Answers) {
        if let Some(way) = self.way(row, mode) {
            return (way, Answers::Person);
        }
        let answers = match mode {
            Mode::Plan | Mode::Ask => Answers::Person,
            Mode::AutoEdit => Answers::Edits,
            Mode::Full => Answers::All,
        };
        (self.way(row, Mode::Ask).unwrap_or_default(), answers)
    }

    /// Whether the present settings are the settings for this mode, or the best substitute for it.
    fn stand_for(&self, row: &AcpRow, mode: Mode) -> bool {
        let (way, _) = self.settle(row, mode);
        !way.is_empty() && way.iter().all(|(setting, value)| self.value(setting) == Some(value))
    }
}

/// Whether an option is this setting, according to its category or its name.
fn is(option: &ConfigOption, setting: &str) -> bool {
    match setting {
        EFFORT => option.category == EFFORT,
        MODE | MODEL if !option.category.is_empty() => option.category == setting,
        _ => option.id == setting,
    }
}

fn flat(values: &[ConfigValue]) -> impl Iterator<Item = &ConfigValue> {
    values.iter().flat_map(|value| match value.options.as_slice() {
        [] => std::slice::from_ref(value),
        group => group,
    })
}

/// The agents' names for modes like this mode of ours.
fn words(mode: Mode) -> &'static [&'static str] {
    match mode {
        Mode::Plan => &["plan", "planning", "architect", "readonly"],
        Mode::Ask => &["default", "ask", "manual", "build", "agent", "code"],
        Mode::AutoEdit => &["autoedit", "acceptedits", "auto"],
        Mode::Full => &["full", "fullaccess", "yolo", "bypasspermissions", "autopilot", "dontask"],
    }
}

/// The last part of a name that may be a URL, without punctuation.
fn plain(id: &str) -> String {
    let tail = id.rsplit(['#', '/']).next().unwrap_or(id);
    tail.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

impl Acp {
    /// Sets the agent's mode.
    pub(super) fn settle_mode(&mut self, native: &str, mode: Mode, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let (way, answers) = conversation.settings.settle(&self.row, mode);
        conversation.mode = mode;
        conversation.answers = answers;
        if mode == Mode::Plan && conversation.settings.way(&self.row, mode).is_none() {
            let text = format!(
                "{} has no mode in which it only plans; it asks before running commands or editing files.",
                self.row.title
            );
            scribe.notice(conversation.session, conversation.turn_id(), NoticeLevel::Warning, text);
        }
        for (setting, value) in way {
            if self
                .conversations
                .get(native)
                .is_some_and(|conversation| conversation.settings.value(&setting) != Some(&value))
            {
                self.set(native, &setting, value, scribe);
            }
        }
    }

    /// Sets the agent's model. If the agent refuses it later, the driver reports a change back.
    pub(super) fn settle_model(&mut self, native: &str, model: String, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        if conversation.settings.value(MODEL).is_none() {
            let text = format!("{} does not let others choose its model.", self.row.title);
            scribe.notice(conversation.session, conversation.turn_id(), NoticeLevel::Warning, text);
            return;
        }
        conversation.model = Some(model.clone());
        let model = conversation.settings.model_called(&model);
        if conversation.settings.value(MODEL) != Some(&model) {
            self.set(native, MODEL, model, scribe);
        }
    }

    /// Sets the effort of the agent.
    pub(super) fn settle_effort(&mut self, native: &str, effort: String, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        if conversation.settings.option(EFFORT).is_none() {
            let text = format!("{} does not let others choose how hard it thinks.", self.row.title);
            scribe.notice(conversation.session, conversation.turn_id(), NoticeLevel::Warning, text);
            scribe.say(conversation.session, Draft::new(Body::EffortChanged { effort: String::new() }));
        } else if conversation.settings.value(EFFORT) != Some(&effort) {
            self.set(native, EFFORT, effort, scribe);
        }
    }

    fn set(&mut self, native: &str, setting: &str, value: String, scribe: &mut Scribe<'_>) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        let (method, params, what) = match conversation.settings.option(setting) {
            Some(option) => {
                let id = option.id.clone();
                let params = json!({"sessionId": native, "configId": id, "value": value});
                ("session/set_config_option", params, SettingChange::Option { id, value })
            }
            None if setting == MODEL => {
                let params = json!({"sessionId": native, "modelId": value});
                ("session/set_model", params, SettingChange::Model(value))
            }
            None => {
                let params = json!({"sessionId": native, "modeId": value});
                ("session/set_mode", params, SettingChange::Mode(value))
            }
        };
        conversation.settling += 1;
        let call = AcpCall::Set { native: native.to_owned(), session: conversation.session, what };
        self.calls.send(method, params, call, scribe);
    }

    /// Handles the answer to a change of a setting.
    pub(super) fn was_set(
        &mut self,
        native: &str,
        what: SettingChange,
        answer: Result<&str, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(conversation) = self.conversations.get_mut(native) else { return };
        conversation.settling = conversation.settling.saturating_sub(1);
        match answer {
            Ok(answer) => {
                match what {
                    SettingChange::Mode(mode) => conversation.settings.set_mode(mode),
                    SettingChange::Model(model) => {
                        if let Some(models) = &mut conversation.settings.models {
                            models.current_model_id = model;
                        }
                    }
                    SettingChange::Option { id, value } => {
                        let set = conversation.settings.options.iter_mut().find(|option| option.id == id);
                        if let Some(option) = set {
                            option.current_value = Value::from(value);
                        }
                    }
                }
                conversation.settings.read(serde_json::from_str::<Opened>(answer).unwrap_or_default());
            }
            Err(message) => {
                let (name, value) = match &what {
                    SettingChange::Mode(mode) => ("mode", mode),
                    SettingChange::Model(model) => ("model", model),
                    SettingChange::Option { id, value } => (id.as_str(), value),
                };
                let text = format!("{} refused {value} as its {name}: {message}", self.row.title);
                scribe.notice(conversation.session, conversation.turn_id(), NoticeLevel::Warning, text);
            }
        }
        // The agent may have refused the model that the driver reported.
        if conversation.settling == usize::from(conversation.past.is_some()) {
            Self::model_changed(conversation, conversation.session, scribe);
        }
        self.say_held(native, scribe);
    }

    /// The agent changed a setting by itself: emits what a person should know about it.
    pub(super) fn settings_changed(
        row: &AcpRow,
        conversation: &mut AcpConversation,
        scribe: &mut Scribe<'_>,
    ) {
        // While the driver changes a setting, the agent's reports may be outdated.
        if conversation.settling > 0 {
            return;
        }
        let turn = conversation.turn_id();
        if let Some(mode) = conversation.settings.mode(row)
            && mode != conversation.mode
            && !conversation.settings.stand_for(row, conversation.mode)
        {
            conversation.mode = mode;
            conversation.answers = Answers::Person;
            scribe.say(conversation.session, Draft::new(Body::ModeChanged { mode }).turn(turn));
        }
        Self::model_changed(conversation, conversation.session, scribe);
    }

    fn model_changed(conversation: &mut AcpConversation, session: SessionId, scribe: &mut Scribe<'_>) {
        let now = conversation.settings.model().map(str::to_owned);
        if let Some(model) = now.filter(|model| conversation.model.as_ref() != Some(model)) {
            conversation.model = Some(model.clone());
            scribe.say(session, Draft::new(Body::ModelChanged { model }).turn(conversation.turn_id()));
        }
    }
}

/// The mode of ours in which an agent opens a session.
pub(crate) fn mode_told(row: &AcpRow, opened: Opened) -> Option<Mode> {
    let mut settings = AcpSettings::default();
    settings.read(opened);
    settings.mode(row)
}

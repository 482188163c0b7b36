//! The scenarios: what the model does, what the client says to the agent, and what the client waits for.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use longshore_drivers::offline::{LineEdit, ScriptedCalls};
use longshore_model::approval::Decision;
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::lifecycle::TurnOutcome;
use serde::Deserialize;
use serde_json::{Value, json};

use longshore_models::script::{Script, ScriptError};

/// A scenario, which every agent plays.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name: `edit`.
    pub name: String,
    /// What happens in the scenario.
    pub about: String,
    /// The mode of the session. Without it: a mode in which the agent asks, or for an agent that never asks,
    /// a mode in which the agent may do everything.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// The files that are in the work tree at the start, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What the model does: a script of `docs/model-script.md`. The script may contain `{"run": COMMAND}`,
    /// `{"leave": COMMAND}` for a command that wants to leave the sandbox, `{"write": [FILE, LINE]}`,
    /// `{"read": FILE}` and `{"edit": [FILE, OLD, NEW]}`. Each agent has its own tools for these. Without a
    /// script, the scenario needs no model.
    #[serde(default)]
    pub model: Option<Vec<Value>>,
    /// The words to look for in the output of tools and in the ends of turns. Everything else in these texts
    /// differs from agent to agent.
    #[serde(default)]
    pub marks: Vec<String>,
    /// The steps.
    pub steps: Vec<ScenarioStep>,
}

/// A step of a scenario: something to do or to wait for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScenarioStep {
    /// The agent is ready.
    Ready,
    /// The client sends a prompt.
    Prompt(String),
    /// The agent says something in the turn of the last prompt, before that turn ends.
    Speaks,
    /// The agent works on the last prompt: it says something, or, if it reports only complete messages, it
    /// has asked its model.
    AtWork,
    /// A tool call begins in the turn of the last prompt.
    Works,
    /// The agent asks for an approval.
    Asks,
    /// The agent asks to change files. The diff that a person sees before deciding contains these lines.
    Shows(Vec<String>),
    /// The agent asks for an approval, and the client decides so.
    Decide(Decision),
    /// The client allows everything until the turn of the last prompt ends.
    AllowAll,
    /// The client denies everything until the turn of the last prompt ends.
    DenyAll,
    /// The turn of the last prompt ends, and the agent has asked nothing.
    EndsUnasked,
    /// The client stops the turn.
    Interrupt,
    /// The client kills the agent.
    Kill,
    /// The turn of the last prompt ends.
    Ends,
    /// The turn of the last prompt has ended with this outcome.
    Ended(TurnOutcome),
    /// A message of the turn contains these words.
    Said(String),
    /// The agent writes these words into a file of its own. From then on the agent remembers the
    /// conversation.
    Written(String),
    /// The client sends a prompt, and the turn ends. If the agent has forgotten the conversation, it gets
    /// what the log holds, and the client sends the prompt again.
    Remind(String),
    /// The work tree has this file with this line in it.
    File((String, String)),
    /// This file appears.
    Appears(String),
    /// This file does not exist.
    NoFile(String),
    /// No process of the work tree has these words in its command line any longer.
    Gone(String),
    /// A change of a file is done, and its diff has this line.
    Tells(String),
    /// The session's row has the first and the last text, whether the usage is known, and the agent's own id
    /// of the conversation.
    Listed,
    /// No approval and no question waits.
    NothingWaits,
    /// The model's last request contained these words.
    ToldModel(String),
}

/// Whether an agent asks before it acts. An agent without modes cannot be told not to ask.
pub(super) fn asks(can: &Capabilities) -> bool {
    can.modes.is_empty() || can.modes.contains(&Mode::Ask)
}

/// An answer for a request beside the turns, for example for a title or a summary. Such a request must not
/// use up a step of the scenario.
fn aside() -> Value {
    json!({ "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" })
}

impl Scenario {
    /// The script for an agent with these tools and this work tree.
    pub fn script(&self, calls: &ScriptedCalls, work: &str) -> Result<Script, ScriptError> {
        let path = |file: &str| format!("{work}/{file}");
        let called = |action: &Value| match ModelAction::of(action) {
            Some(ModelAction::Run(command)) => Some((calls.run)(command)),
            Some(ModelAction::Leave(command)) => Some((calls.leave)(command)),
            Some(ModelAction::Write(file, line)) => Some((calls.write)(&path(file), line)),
            Some(ModelAction::Read(file)) => (calls.read)(&path(file)),
            Some(ModelAction::Edit(file, old, new)) => {
                let line = self.files.get(file).and_then(|text| text.lines().find(|line| line.contains(old)));
                let line = line.unwrap_or_default();
                Some((calls.edit)(&LineEdit { path: &path(file), old, new, line }))
            }
            None => Some(action.clone()),
        };
        let mut steps = vec![aside()];
        for mut step in self.model.iter().flatten().cloned() {
            if let Some(actions) = step.get_mut("do").and_then(Value::as_array_mut) {
                *actions = actions.iter().filter_map(called).collect();
                // An agent that need not read a file first gets no such action.
                if actions.is_empty() {
                    continue;
                }
            }
            steps.push(step);
        }
        Script::from_value(Value::Array(steps))
    }

    /// Whether an agent with these capabilities has the mode of the scenario.
    pub fn is_offered(&self, can: &Capabilities) -> bool {
        self.mode.is_none_or(|mode| can.modes.contains(&mode))
    }

    /// The mode in which an agent with these capabilities plays the scenario.
    pub fn mode_for(&self, can: &Capabilities) -> Mode {
        self.mode.unwrap_or(if asks(can) { Mode::Ask } else { Mode::Full })
    }

    /// Whether an agent with these capabilities can play the scenario.
    pub fn fits(&self, can: &Capabilities) -> bool {
        self.steps.iter().all(|step| match step {
            ScenarioStep::Asks | ScenarioStep::Shows(_) | ScenarioStep::Decide(_) => asks(can),
            ScenarioStep::Speaks => can.streaming,
            ScenarioStep::Ready
            | ScenarioStep::Prompt(_)
            | ScenarioStep::AllowAll
            | ScenarioStep::DenyAll
            | ScenarioStep::EndsUnasked
            | ScenarioStep::AtWork
            | ScenarioStep::Works
            | ScenarioStep::Ended(_)
            | ScenarioStep::Said(_)
            | ScenarioStep::Interrupt
            | ScenarioStep::Kill
            | ScenarioStep::Ends
            | ScenarioStep::Written(_)
            | ScenarioStep::Remind(_)
            | ScenarioStep::File(_)
            | ScenarioStep::Appears(_)
            | ScenarioStep::NoFile(_)
            | ScenarioStep::Gone(_)
            | ScenarioStep::Tells(_)
            | ScenarioStep::Listed
            | ScenarioStep::NothingWaits
            | ScenarioStep::ToldModel(_) => true,
        })
    }

    /// Whether the scenario only opens a session, and does nothing in it.
    pub fn is_about_opening(&self) -> bool {
        self.model.is_none()
    }

    /// The commands that the agent runs, and the files that it reads or changes. They identify the tool
    /// calls.
    pub fn tasks(&self) -> Vec<&str> {
        let steps = self.model.iter().flatten();
        let actions = steps.filter_map(|step| step["do"].as_array()).flatten();
        let name = |action| match ModelAction::of(action)? {
            ModelAction::Run(command) | ModelAction::Leave(command) => Some(command),
            ModelAction::Write(file, _) | ModelAction::Read(file) | ModelAction::Edit(file, ..) => Some(file),
        };
        actions.filter_map(name).collect()
    }
}

/// An action that the model asks of the agent.
enum ModelAction<'a> {
    Run(&'a str),
    Leave(&'a str),
    Write(&'a str, &'a str),
    Read(&'a str),
    Edit(&'a str, &'a str, &'a str),
}

impl<'a> ModelAction<'a> {
    fn of(action: &'a Value) -> Option<Self> {
        let of = |key: &str, make: fn(&'a str) -> Self| action[key].as_str().map(make);
        let words = |key: &str, at: usize| action[key][at].as_str();
        let one = of("run", ModelAction::Run)
            .or_else(|| of("leave", ModelAction::Leave))
            .or_else(|| of("read", ModelAction::Read));
        let write = || Some(ModelAction::Write(words("write", 0)?, words("write", 1)?));
        let edit = || Some(ModelAction::Edit(words("edit", 0)?, words("edit", 1)?, words("edit", 2)?));
        one.or_else(write).or_else(edit)
    }
}

static SET: LazyLock<Vec<Scenario>> =
    LazyLock::new(|| serde_json::from_str(include_str!("set.json")).unwrap_or_default());

/// All scenarios, in the order of play.
pub fn scenarios() -> &'static [Scenario] {
    &SET
}

/// The scenario with this name.
pub fn scenario(name: &str) -> Option<&'static Scenario> {
    SET.iter().find(|scenario| scenario.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_can_be_read_and_played() {
        let set: Vec<Scenario> = serde_json::from_str(include_str!("set.json")).unwrap();
        let calls = ScriptedCalls {
            run: |command| json!({ "call": "run", "args": command }),
            leave: |command| json!({ "call": "leave", "args": command }),
            write: |_, _| json!({ "say": "x" }),
            read: |_| Some(json!({ "say": "y" })),
            edit: |edit| json!({ "say": edit.patch() }),
        };
        assert!(set.len() > 10);
        for scenario in &set {
            let script = scenario.script(&calls, "/home/dev/project").unwrap();
            assert_eq!(
                script.steps.len(),
                1 + scenario.model.as_ref().map_or(0, Vec::len),
                "{}",
                scenario.name
            );
            assert!(scenario.tasks().iter().all(|task| !task.is_empty()));
            for change in scenario.model.iter().flatten().filter_map(|step| step["do"][0]["edit"].as_array())
            {
                let (file, old) = (change[0].as_str().unwrap(), change[1].as_str().unwrap());
                assert!(
                    scenario.files[file].lines().any(|line| line.contains(old) && line != old),
                    "a part of a line"
                );
            }
            let named: Vec<_> = set.iter().filter(|other| other.name == scenario.name).collect();
            assert_eq!(named.len(), 1, "{}", scenario.name);
        }
        assert_eq!(
            scenario("task").unwrap().tasks(),
            ["expr 770000 + 7 > made.txt; cat made.txt", "heron.txt"]
        );
    }
}

//! The scenarios: what the model does, what is said to the agent, and what is waited for.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use longshore_drivers::offline::{LineEdit, ScriptedCalls};
use longshore_model::approval::Decision;
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::lifecycle::TurnOutcome;
use serde::Deserialize;
use serde_json::{Value, json};

use longshore_models::script::{Script, ScriptError};

/// One thing that every agent is tried with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name: `edit`.
    pub name: String,
    /// What happens in it.
    pub about: String,
    /// The mode that its session is opened in. Without it, one in which the agent asks, or, when it never does, one in
    /// which everything can be done.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// Files that are in the work tree beforehand, by name.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What the model does: a script of `docs/model-script.md`, with `{"run": COMMAND}`, `{"leave": COMMAND}` for one that
    /// wants out of the sandbox, `{"write": [FILE, LINE]}`, `{"read": FILE}` and `{"edit": [FILE, OLD, NEW]}` for what each
    /// agent has tools of its own for. Without it, no model is asked.
    #[serde(default)]
    pub model: Option<Vec<Value>>,
    /// Words that are looked for in what tools print and in how turns end. All else of that differs from agent to agent.
    #[serde(default)]
    pub marks: Vec<String>,
    /// What is done.
    pub steps: Vec<ScenarioStep>,
}

/// One thing that is done or waited for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ScenarioStep {
    /// The agent listens.
    Ready,
    /// Something is said to it.
    Prompt(String),
    /// It says something in the turn that was asked for last, before that ends.
    Speaks,
    /// A tool call begins in the turn that was asked for last.
    Works,
    /// It asks for an approval.
    Asks,
    /// It asks to change files, and these lines are in the diff that a person sees before deciding.
    Shows(Vec<String>),
    /// It asks, and this is the answer.
    Decide(Decision),
    /// Whatever it asks is allowed, until the turn that was asked for last ends.
    AllowAll,
    /// Whatever it asks is denied, until the turn that was asked for last ends.
    DenyAll,
    /// The turn that was asked for last ends, and nobody was asked anything.
    EndsUnasked,
    /// The turn is stopped.
    Interrupt,
    /// The agent is killed.
    Kill,
    /// The turn that was asked for last ends.
    Ends,
    /// The turn that was asked for last ended so.
    Ended(TurnOutcome),
    /// A message of that turn has these words.
    Said(String),
    /// The agent writes these words into a file of its own: from then on it remembers.
    Written(String),
    /// Something is said to it, and the turn ends. When it has forgotten all, it is told what the log holds, and asked again.
    Remind(String),
    /// There is such a file in the work tree, with this line in it.
    File((String, String)),
    /// Such a file comes to be.
    Appears(String),
    /// There is no such file.
    NoFile(String),
    /// No process of the work tree has these words in its command line any more.
    Gone(String),
    /// Nothing waits for an answer.
    NothingWaits,
    /// The model heard these words in its last request.
    ToldModel(String),
}

/// Whether an agent asks before it does something. One that knows no modes is not told to do without.
pub(super) fn asks(can: &Capabilities) -> bool {
    can.modes.is_empty() || can.modes.contains(&Mode::Ask)
}

/// A title or a summary that an agent asks for beside its turns must not take a step of the scenario.
fn aside() -> Value {
    json!({ "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" })
}

impl Scenario {
    /// The script, for an agent with these tools and this work tree.
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
                // An agent that need not look at a file is not made to.
                if actions.is_empty() {
                    continue;
                }
            }
            steps.push(step);
        }
        Script::from_value(Value::Array(steps))
    }

    /// Whether an agent that can do this much has the mode of the scenario.
    pub fn is_offered(&self, can: &Capabilities) -> bool {
        self.mode.is_none_or(|mode| can.modes.contains(&mode))
    }

    /// The mode in which an agent that can do this much plays it.
    pub fn mode_for(&self, can: &Capabilities) -> Mode {
        self.mode.unwrap_or(if asks(can) { Mode::Ask } else { Mode::Full })
    }

    /// Whether an agent that can do this much can play it.
    pub fn fits(&self, can: &Capabilities) -> bool {
        self.steps.iter().all(|step| match step {
            ScenarioStep::Asks | ScenarioStep::Shows(_) | ScenarioStep::Decide(_) => asks(can),
            ScenarioStep::Speaks => can.streaming,
            ScenarioStep::Ready
            | ScenarioStep::Prompt(_)
            | ScenarioStep::AllowAll
            | ScenarioStep::DenyAll
            | ScenarioStep::EndsUnasked
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
            | ScenarioStep::NothingWaits
            | ScenarioStep::ToldModel(_) => true,
        })
    }

    /// The commands that are run and the files that are looked at or changed: what tool calls are known by.
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

/// What the model wants the agent to do.
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

/// All of them, in the order in which they are played.
pub fn scenarios() -> &'static [Scenario] {
    &SET
}

/// One of them.
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

//! The scenarios: what the model does, what is said to the agent, and what is waited for.

use std::sync::LazyLock;

use longshore_drivers::offline::Calls;
use longshore_model::approval::Decision;
use longshore_model::capability::{Capabilities, Mode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::script::{Script, ScriptError};

/// One thing that every agent is tried with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name: `edit`.
    pub name: String,
    /// What happens in it.
    pub about: String,
    /// What the model does: a script of `docs/model-script.md`, with `{"run": COMMAND}` and `{"write": [FILE, LINE]}` for
    /// what each agent has tools of its own for. Without it, no model is asked.
    #[serde(default)]
    pub model: Option<Vec<Value>>,
    /// Words that are looked for in what tools print and in how turns end. All else of that differs from agent to agent.
    #[serde(default)]
    pub marks: Vec<String>,
    /// What is done.
    pub steps: Vec<Step>,
}

/// One thing that is done or waited for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// The agent listens.
    Ready,
    /// Something is said to it.
    Prompt(String),
    /// It says something in the turn that was asked for last, before that ends.
    Speaks,
    /// It asks for an approval.
    Asks,
    /// It asks, and this is the answer.
    Decide(Decision),
    /// Whatever it asks is allowed, until the turn that was asked for last ends.
    AllowAll,
    /// The turn is stopped.
    Interrupt,
    /// The agent is killed.
    Kill,
    /// The turn that was asked for last ends.
    Ends,
    /// The agent writes these words into a file of its own: from then on it remembers.
    Written(String),
    /// Something is said to it, and the turn ends. When it has forgotten all, it is told what the log holds, and asked again.
    Remind(String),
    /// There is such a file in the work tree, with this line in it.
    File((String, String)),
    /// There is no such file.
    NoFile(String),
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
    pub fn script(&self, calls: &Calls, work: &str) -> Result<Script, ScriptError> {
        let mut steps = self.model.clone().unwrap_or_default();
        for action in steps.iter_mut().filter_map(|step| step.get_mut("do")?.as_array_mut()).flatten() {
            match Wanted::of(action) {
                Some(Wanted::Run(command)) => *action = (calls.run)(command),
                Some(Wanted::Write(file, line)) => *action = (calls.write)(&format!("{work}/{file}"), line),
                None => {}
            }
        }
        steps.insert(0, aside());
        Script::from_value(Value::Array(steps))
    }

    /// Whether an agent that can do this much can play it.
    pub fn fits(&self, can: &Capabilities) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Asks | Step::Decide(_) => asks(can),
            Step::Speaks => can.streaming,
            Step::Ready
            | Step::Prompt(_)
            | Step::AllowAll
            | Step::Interrupt
            | Step::Kill
            | Step::Ends
            | Step::Written(_)
            | Step::Remind(_)
            | Step::File(_)
            | Step::NoFile(_)
            | Step::NothingWaits
            | Step::ToldModel(_) => true,
        })
    }

    /// The commands that are run and the files that are written: what tool calls are known by.
    pub fn tasks(&self) -> Vec<&str> {
        let steps = self.model.iter().flatten();
        let actions = steps.filter_map(|step| step["do"].as_array()).flatten();
        let name = |action| match Wanted::of(action)? {
            Wanted::Run(command) => Some(command),
            Wanted::Write(file, _) => Some(file),
        };
        actions.filter_map(name).collect()
    }
}

/// What the model wants the agent to do.
enum Wanted<'a> {
    Run(&'a str),
    Write(&'a str, &'a str),
}

impl<'a> Wanted<'a> {
    fn of(action: &'a Value) -> Option<Self> {
        let run = action["run"].as_str().map(Wanted::Run);
        run.or_else(|| Some(Wanted::Write(action["write"][0].as_str()?, action["write"][1].as_str()?)))
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
        let calls = Calls {
            run: |command| json!({ "call": "run", "args": command }),
            write: |_, _| json!({ "say": "x" }),
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
            let named: Vec<_> = set.iter().filter(|other| other.name == scenario.name).collect();
            assert_eq!(named.len(), 1, "{}", scenario.name);
        }
        assert_eq!(
            scenario("task").unwrap().tasks(),
            ["expr 770000 + 7 > made.txt; cat made.txt", "heron.txt"]
        );
    }
}

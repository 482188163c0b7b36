//! The shape of a session: what its timeline comes to, without what differs from run to run.

use longshore_model::approval::{Decision, Subject};
use longshore_model::event::{Body, Event, NoticeLevel};
use longshore_model::item::{FileChange, FileChangeKind, ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{TurnErrorCode, TurnOutcome};
use longshore_model::timeline::{Content, Item, Timeline};
use serde::{Deserialize, Serialize};

use super::set::Scenario;

/// The work tree of captures.
pub const RECORDED_WORK: &str = "/home/dev/project";

/// What happened in a session, thing by thing.
pub type Shape = Vec<Thing>;

/// One thing of a timeline, as far as it is the same in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Thing {
    /// The agent listens.
    Ready {
        /// It says its version.
        #[serde(default, skip_serializing_if = "is_no")]
        version: bool,
        /// It says its model.
        #[serde(default, skip_serializing_if = "is_no")]
        model: bool,
    },
    /// What was said to it.
    Prompt {
        /// The words.
        text: String,
    },
    /// What it said.
    Message {
        /// The words, when they are whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// It came piece by piece, and the pieces are the whole.
        #[serde(default, skip_serializing_if = "is_no")]
        streamed: bool,
        /// It was cut off.
        #[serde(default, skip_serializing_if = "is_no")]
        partial: bool,
    },
    /// What it thought.
    Thought {
        /// The words.
        text: String,
    },
    /// What it did.
    Tool {
        /// The command or the file; the name of the tool where neither is known.
        what: String,
        /// What sort of thing.
        kind: ToolKind,
        /// How it ended.
        status: ToolStatus,
        /// Which of the words that were to be printed it tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// Its exit code, unless somebody stopped it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i64>,
        /// What it changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<String>,
    },
    /// Files that it changed otherwise than by a tool call.
    Diff {
        /// The first file.
        what: String,
        /// How that ended.
        status: ToolStatus,
        /// File by file.
        changes: Vec<String>,
    },
    /// What it asked for.
    Approval {
        /// The command, the file or the tool.
        what: String,
        /// To do which.
        to: ApprovalTopic,
        /// What it would change, as it was shown before anybody answered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shows: Vec<String>,
        /// What could be answered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<Decision>,
        /// The answer; none when it became void.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
    },
    /// A turn ended.
    Turn {
        /// How.
        outcome: TurnOutcome,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<TurnErrorCode>,
        /// Which of the words that were to be told it tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        says: Option<String>,
        /// What it used is known.
        #[serde(default, skip_serializing_if = "is_no")]
        usage: bool,
        /// What it cost is known.
        #[serde(default, skip_serializing_if = "is_no")]
        cost: bool,
    },
    /// Something went wrong outside of a turn.
    Fault,
    /// Something that no scenario asks for.
    Other {
        /// What.
        what: String,
    },
}

/// What an approval is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ApprovalTopic {
    Run,
    Change,
    CallTool,
    GoAhead,
    BeAllowed,
}

fn is_no(flag: &bool) -> bool {
    !flag
}

/// The shape of a session in which this scenario was played.
pub fn shape_of(events: &[&Event], scenario: &Scenario) -> Shape {
    let ready = |event: &&Event| match &event.body {
        Body::SessionReady(ready) => {
            Some(Thing::Ready { version: ready.version.is_some(), model: ready.model.is_some() })
        }
        _ => None,
    };
    let timeline = Timeline::of(events.iter().copied());
    let reduce = Reduce { events, scenario, work: work_of(events) };
    // How an agent opens is told once, and not in every scenario.
    let opened = if scenario.model.is_none() { events.iter().find_map(ready) } else { None };
    let mut shape: Shape = opened.into_iter().collect();
    shape.extend(timeline.items.iter().filter_map(|item| reduce.thing(item)));
    settle(&mut shape);
    shape
}

/// Where it was played. A capture does not say how its session was opened, but has always the same work tree.
fn work_of<'a>(events: &[&'a Event]) -> &'a str {
    let opened = events.iter().find_map(|event| match &event.body {
        Body::SessionOpened(opened) => Some(opened.cwd.as_str()),
        _ => None,
    });
    opened.filter(|cwd| cwd.len() > 1).unwrap_or(RECORDED_WORK)
}

/// Whether a call or the question about it comes first, and which of two calls at once, differs from run to run.
fn settle(shape: &mut [Thing]) {
    let loose =
        |thing: &Thing| matches!(thing, Thing::Tool { .. } | Thing::Diff { .. } | Thing::Approval { .. });
    for run in shape.chunk_by_mut(|one, other| loose(one) && loose(other)) {
        run.sort_by_key(|thing| match thing {
            Thing::Approval { what, .. } => (what.clone(), 0),
            Thing::Tool { what, .. } | Thing::Diff { what, .. } => (what.clone(), 1),
            _ => (String::new(), 2),
        });
    }
}

/// The exit code of a command that ended by itself. With which code a command ends that was stopped is luck: Codex says -1 or 137.
fn exit_of(outcome: &ToolOutcome) -> Option<i64> {
    match outcome.status {
        ToolStatus::Cancelled => None,
        ToolStatus::Running | ToolStatus::Completed | ToolStatus::Failed | ToolStatus::Declined => {
            outcome.exit_code
        }
    }
}

/// The same without what every agent does in its own way: thoughts, what else could have been answered, exit codes,
/// costs, and whether a change is a tool call or a thing of its own.
pub fn essence(shape: &[Thing]) -> Shape {
    let plain = |thing: &Thing| match thing.clone() {
        Thing::Thought { .. } | Thing::Other { .. } => None,
        Thing::Tool { what, kind: ToolKind::Edit, status, changes, .. } if !changes.is_empty() => {
            Some(Thing::Diff { what, status, changes })
        }
        Thing::Tool { what, kind, status, output, changes, .. } => {
            Some(Thing::Tool { what, kind, status, output, exit: None, changes })
        }
        Thing::Approval { what, to, shows, decision, .. } => {
            Some(Thing::Approval { what, to, shows, options: Vec::new(), decision })
        }
        Thing::Turn { outcome, error, says, usage, .. } => {
            Some(Thing::Turn { outcome, error, says, usage, cost: false })
        }
        thing @ (Thing::Ready { .. }
        | Thing::Prompt { .. }
        | Thing::Message { .. }
        | Thing::Diff { .. }
        | Thing::Fault) => Some(thing),
    };
    shape.iter().filter_map(plain).collect()
}

struct Reduce<'a> {
    events: &'a [&'a Event],
    scenario: &'a Scenario,
    /// The work tree.
    work: &'a str,
}

impl Reduce<'_> {
    fn thing(&self, item: &Item) -> Option<Thing> {
        Some(match &item.content {
            Content::UserMessage { .. } => Thing::Prompt { text: item.text.clone() },
            Content::Message { partial, .. } => {
                let text = item.text.trim();
                let streamed = !partial && self.pieces(item).trim() == text;
                let text = (!partial).then(|| text.replace(self.work, "$WORK"));
                Thing::Message { text, streamed, partial: *partial }
            }
            Content::Reasoning { .. } => Thing::Thought { text: item.text.trim().to_owned() },
            Content::Tool { call, outcome, changes } => Thing::Tool {
                what: self.call(call, changes),
                kind: call.kind,
                status: outcome.as_ref().map_or(ToolStatus::Running, |outcome| outcome.status),
                output: self.mark(&item.text),
                exit: outcome.as_ref().and_then(exit_of),
                changes: changes.iter().map(change).collect(),
            },
            Content::Diff { status, changes } => Thing::Diff {
                what: changes.first().map_or_else(String::new, |change| file_name(&change.path)),
                status: *status,
                changes: changes.iter().map(change).collect(),
            },
            Content::Approval { request, decision, .. } => {
                let (to, what) = self.subject(&request.subject);
                let decision = decision.as_ref().map(|made| made.decision);
                let shows = match &request.subject {
                    Subject::Edit { changes, .. } => changes.iter().map(change).collect(),
                    Subject::Command { .. }
                    | Subject::Tool { .. }
                    | Subject::Plan { .. }
                    | Subject::Permissions { .. } => Vec::new(),
                };
                Thing::Approval { what, to, shows, options: request.options.clone(), decision }
            }
            Content::TurnEnd(end) => {
                let error = end.error.as_ref();
                let told = error.map_or(item.text.as_str(), |error| error.message.as_str());
                Thing::Turn {
                    outcome: end.outcome,
                    error: error.map(|error| error.code),
                    says: self.mark(told).or_else(|| self.mark(&item.text)),
                    usage: end.usage.as_ref().is_some_and(|usage| usage.output.is_some()),
                    cost: end.cost_usd.is_some(),
                }
            }
            Content::Notice { level: NoticeLevel::Error } => Thing::Fault,
            Content::Notice { level: NoticeLevel::Info | NoticeLevel::Warning } => return None,
            Content::Plan { .. } => Thing::Other { what: "plan".to_owned() },
            // It says once more what the diffs of the turn say, and some agents tell it only when they get to it.
            Content::TurnDiff => return None,
            Content::Question { .. } => Thing::Other { what: "question".to_owned() },
            Content::Delegation { .. } => Thing::Other { what: "delegation".to_owned() },
        })
    }

    /// What came of a message while it grew.
    fn pieces(&self, item: &Item) -> String {
        let piece = |event: &&&Event| event.item == item.id && matches!(event.body, Body::MessageDelta);
        self.events.iter().filter(piece).map(|event| event.text()).collect()
    }

    fn mark(&self, text: &str) -> Option<String> {
        self.scenario.marks.iter().find(|mark| text.contains(mark.as_str())).cloned()
    }

    fn task(&self, text: &str) -> Option<String> {
        self.scenario.tasks().into_iter().find(|task| text.contains(task)).map(str::to_owned)
    }

    fn call(&self, call: &ToolCall, changes: &[FileChange]) -> String {
        let known = call.command.as_deref().and_then(|command| self.task(command));
        let known = known.or_else(|| self.task(&as_text(&call.input)));
        let known = known.or_else(|| changes.first().map(|change| file_name(&change.path)));
        known.or_else(|| self.task(&call.name)).unwrap_or_else(|| call.name.clone())
    }

    fn subject(&self, subject: &Subject) -> (ApprovalTopic, String) {
        let known = |text: &str, otherwise: &str| self.task(text).unwrap_or_else(|| otherwise.to_owned());
        match subject {
            Subject::Command { command, .. } => (ApprovalTopic::Run, known(command, command)),
            Subject::Edit { changes, .. } => {
                let files: Vec<String> = changes.iter().map(|change| file_name(&change.path)).collect();
                (ApprovalTopic::Change, files.join(", "))
            }
            Subject::Tool { name, input } => (ApprovalTopic::CallTool, known(&as_text(input), name)),
            Subject::Plan { plan } => (ApprovalTopic::GoAhead, known(plan, "a plan")),
            Subject::Permissions { permissions } => {
                (ApprovalTopic::BeAllowed, known(&as_text(permissions), "more"))
            }
        }
    }
}

/// All texts of a value, as they are and not as JSON writes them.
fn as_text(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(list) => list.iter().map(as_text).collect::<Vec<_>>().join(" "),
        serde_json::Value::Object(map) => map.values().map(as_text).collect::<Vec<_>>().join("\n"),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => String::new(),
    }
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

fn change(change: &FileChange) -> String {
    let lines = change.diff.lines().filter(|line| !line.starts_with("+++") && !line.starts_with("---"));
    let (mut more, mut less) = (0, 0);
    for line in lines {
        more += usize::from(line.starts_with('+'));
        less += usize::from(line.starts_with('-'));
    }
    let kind = match change.kind {
        FileChangeKind::Add => "add",
        FileChangeKind::Update => "update",
        FileChangeKind::Delete => "delete",
    };
    format!("{kind} {} +{more} -{less}", file_name(&change.path))
}

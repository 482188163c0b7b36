//! The shape of a session: its timeline, reduced to what is the same in every run.

use longshore_model::approval::{Decision, Subject};
use longshore_model::event::{Body, Event, NoticeLevel};
use longshore_model::id::Seq;
use longshore_model::item::{FileChange, FileChangeKind, ToolCall, ToolKind, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{FaultCode, TurnErrorCode, TurnOutcome};
use longshore_model::timeline::{Content, Item, Timeline};
use serde::{Deserialize, Serialize};

use super::set::Scenario;

/// The work tree of captures.
pub const RECORDED_WORK: &str = "/home/dev/project";

/// The things that happened in a session, in order.
pub type Shape = Vec<Thing>;

/// A thing of the timeline, reduced to what is the same in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum Thing {
    /// The agent is ready.
    Ready {
        /// Whether the agent reports its version.
        #[serde(default, skip_serializing_if = "is_no")]
        version: bool,
        /// Whether the agent reports its model.
        #[serde(default, skip_serializing_if = "is_no")]
        model: bool,
    },
    /// A prompt.
    Prompt {
        /// The text.
        text: String,
    },
    /// A message of the agent.
    Message {
        /// The text of a complete message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Whether the message came in pieces that add up to the complete text.
        #[serde(default, skip_serializing_if = "is_no")]
        streamed: bool,
        /// Whether the message was cut off.
        #[serde(default, skip_serializing_if = "is_no")]
        partial: bool,
    },
    /// A thought of the agent.
    Thought {
        /// The text.
        text: String,
    },
    /// A tool call.
    Tool {
        /// The command or the file; if neither is known, the name of the tool.
        what: String,
        /// The kind of the tool.
        kind: ToolKind,
        /// How the call ended.
        status: ToolStatus,
        /// Which of the expected words the output contains.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// The exit code, unless somebody stopped the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i64>,
        /// The changes of files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<String>,
    },
    /// A change of files without a tool call.
    Diff {
        /// The first file.
        what: String,
        /// How the change ended.
        status: ToolStatus,
        /// The changes, file by file.
        changes: Vec<String>,
    },
    /// An approval.
    Approval {
        /// The command, the file or the tool.
        what: String,
        /// What the agent asks to do.
        to: ApprovalTopic,
        /// The changes as a person saw them before deciding.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shows: Vec<String>,
        /// The possible answers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        options: Vec<Decision>,
        /// The answer; none if the approval became void.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decision: Option<Decision>,
    },
    /// The end of a turn.
    Turn {
        /// The outcome.
        outcome: TurnOutcome,
        /// Why the turn failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<TurnErrorCode>,
        /// Which of the expected words the end contains.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        says: Option<String>,
        /// Whether the usage is known.
        #[serde(default, skip_serializing_if = "is_no")]
        usage: bool,
        /// Whether the cost is known.
        #[serde(default, skip_serializing_if = "is_no")]
        cost: bool,
    },
    /// An error outside of a turn.
    Fault,
    /// A thing that no scenario expects.
    Other {
        /// The kind of the thing.
        what: String,
    },
}

/// What an agent asks to do.
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

/// The shape of the session after the event `before`, in which the agent played this scenario.
pub fn shape_of(events: &[&Event], before: Seq, scenario: &Scenario) -> Shape {
    let ready = |event: &&Event| match &event.body {
        Body::SessionReady(ready) => {
            Some(Thing::Ready { version: ready.version.is_some(), model: ready.model.is_some() })
        }
        _ => None,
    };
    let timeline = Timeline::of(events.iter().copied());
    let reduce = Reduce { events, scenario, work: work_of(events) };
    // The scenario without a model shows how an agent opens. The other scenarios need not repeat this.
    let opened = if scenario.model.is_none() { events.iter().find_map(ready) } else { None };
    let mut shape: Shape = opened.into_iter().collect();
    shape
        .extend(timeline.items.iter().filter(|item| item.seq > before).filter_map(|item| reduce.thing(item)));
    settle(&mut shape);
    shape
}

/// The work tree of the session. A capture does not say how its session was opened, but every capture has the
/// same work tree.
fn work_of<'a>(events: &[&'a Event]) -> &'a str {
    let opened = events.iter().find_map(|event| match &event.body {
        Body::SessionOpened(opened) => Some(opened.cwd.as_str()),
        _ => None,
    });
    opened.filter(|cwd| cwd.len() > 1).unwrap_or(RECORDED_WORK)
}

/// Puts things into a fixed order. Whether a call or its approval comes first, and which of two simultaneous
/// calls comes first, differs from run to run.
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

/// The exit code of a command that ended by itself. The exit code of a stopped command depends on luck: Codex
/// reports -1 or 137.
fn exit_of(outcome: &ToolOutcome) -> Option<i64> {
    match outcome.status {
        ToolStatus::Cancelled => None,
        ToolStatus::Running | ToolStatus::Completed | ToolStatus::Failed | ToolStatus::Declined => {
            outcome.exit_code
        }
    }
}

/// The shape without what each agent does in its own way: thoughts, the other possible answers, exit codes,
/// costs, and whether a change is a tool call or a diff of its own.
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
            Content::Notice { level: NoticeLevel::Error } if self.forgot(item) => return None,
            Content::Notice { level: NoticeLevel::Error } => Thing::Fault,
            Content::Notice { level: NoticeLevel::Info | NoticeLevel::Warning } => return None,
            Content::Plan { .. } => Thing::Other { what: "plan".to_owned() },
            // This repeats the diffs of the turn, and some agents report it only if they have time.
            Content::TurnDiff => return None,
            Content::Question { .. } => Thing::Other { what: "question".to_owned() },
            Content::Delegation { .. } => Thing::Other { what: "delegation".to_owned() },
        })
    }

    /// Whether the item says that the agent has forgotten the conversation. It depends on luck whether a
    /// killed agent had already stored the conversation. The result is the same.
    fn forgot(&self, item: &Item) -> bool {
        let told = self.events.iter().find(|event| event.seq == item.seq);
        told.is_some_and(
            |event| matches!(&event.body, Body::SessionError(fault) if fault.code == FaultCode::ResumeFailed),
        )
    }

    /// The text that a message's deltas add up to.
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

/// All strings of a JSON value, without JSON's escapes.
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

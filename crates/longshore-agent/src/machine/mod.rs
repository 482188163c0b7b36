//! The loop, pure: an input causes effects. No clock, no task, no socket.
//!
//! ```text
//!   prompt --> ask the model --> answer: text, thoughts, calls
//!                ^                  |
//!                |                  v  each call: judge, ask a person, run
//!                +---- results -----+--> no calls: the turn ends
//! ```
//!
//! The machine first writes everything that it remembers in a line ([`AgentLine::history`]), so folding its lines gives
//! the same machine. [`History::legal`](longshore_models::history::History::legal) makes every request legal, wherever
//! the machine stopped.
//!
//! | module | holds |
//! |---|---|
//! | `turn` | from a prompt to its end: when to ask the model again, and when to stop |
//! | `answer` | the model's answer |
//! | `calls` | tool calls, from their arguments to their results |
//! | `session_tools` | tools that affect only the session: questions, plans, delegation |
//! | `compact` | summaries of a conversation that is too long for the model |
//! | `commands` | the commands of a session to its agent |
//! | `system_prompt` | what the model learns about itself |

mod answer;
mod calls;
mod commands;
mod compact;
mod session_tools;
mod system_prompt;
mod turn;

use longshore_models::tool::ToolDefinition;
use std::sync::Arc;

use longshore_model::anchor::{Launch, Start};
use longshore_model::approval::{Field, QuestionAnswer};
use longshore_model::capability::{Mode, SlashCommand};
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::Context;
use longshore_model::item::{FileDiff, PlanStep, ToolCall};
use longshore_model::lifecycle::{FaultCode, Ready, SessionFault};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;

use longshore_models::api::{Event, NeutralRequest};
use longshore_models::history::{History, HistoryItem};

use super::tools::{CallVerdict, Permit, ToolInvocation, ToolResult};
use crate::AgentLine;
use crate::memory::Memory;
use longshore_drivers::react::settings::ReactSettings;

use turn::MachineTurn;

/// Returns the form in which clients see a call. Pure.
pub type Describe = Arc<dyn Fn(&ToolInvocation) -> ToolCall + Send + Sync>;

/// An input of the machine.
pub enum MachineInput {
    /// The session begins.
    Open(Box<Opening>),
    /// A command of the session.
    Told(AgentCommand),
    /// An event of the model.
    Model {
        /// The number of the request.
        number: u64,
        /// The event.
        event: Event<'static>,
    },
    /// The judge has decided whether a call may run.
    Weighed {
        /// The id of the call.
        call: String,
        /// The decision.
        verdict: CallVerdict,
        /// The change that the call would make.
        preview: Option<FileDiff>,
    },
    /// A running call printed something.
    Printed {
        /// The id of the call.
        call: String,
        /// The printed text.
        text: String,
    },
    /// A running call asks a person a question.
    Elicits {
        /// The id of the call.
        call: String,
        /// The number under which the process waits for the answer.
        asker: u64,
        /// The name of the MCP server that asks.
        source: String,
        /// The question.
        text: String,
        /// The fields of the question.
        fields: Vec<Field>,
    },
    /// A call ended.
    Ran {
        /// The id of the call.
        call: String,
        /// The result.
        result: Box<ToolResult>,
    },
    /// The list of tools changed: an MCP server has more tools now, or fewer.
    Tools(Vec<ToolDefinition>),
    /// A notice for people.
    Notice {
        /// Its level.
        level: NoticeLevel,
        /// Its text.
        text: String,
    },
    /// Time has passed, at least to [`Machine::deadline`].
    Tick,
}

/// The data with which a session begins.
pub struct Opening {
    /// The launch from the hub.
    pub launch: Launch,
    /// The memory from the session's lines.
    pub memory: Memory,
    /// The model. None if nobody named one and the service lists none.
    pub model: Option<String>,
    /// The tools of the toolbox.
    pub tools: Vec<ToolDefinition>,
    /// Returns the form in which clients see a call of these tools.
    pub describe: Describe,
    /// The agents to which this agent may delegate.
    pub agents: Vec<String>,
    /// The instructions in the folders of the work tree.
    pub advice: Option<String>,
    /// Warnings for people.
    pub notices: Vec<String>,
    /// The version of this program.
    pub version: String,
}

/// An action that the process must carry out.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Write a line.
    Say(Box<AgentLine>),
    /// Ask the model.
    Ask {
        /// The request's number. Events of the answer carry it.
        number: u64,
        /// The request.
        request: Box<NeutralRequest>,
    },
    /// Cancel the request to the model.
    Hush {
        /// The request's number.
        number: u64,
    },
    /// Judge whether a call may run. [`MachineInput::Weighed`] has the answer.
    Weigh {
        /// The call.
        call: ToolInvocation,
        /// The session's mode.
        mode: Mode,
    },
    /// Run a call. [`MachineInput::Ran`] has the result.
    Run {
        /// The call.
        call: ToolInvocation,
        /// The permission for the call.
        permit: Permit,
    },
    /// Stop a call. The machine ignores its result.
    Cancel {
        /// The id of the call.
        call: String,
    },
    /// Send the answer to a call's question.
    Reply {
        /// The number from [`MachineInput::Elicits::asker`].
        asker: u64,
        /// The answer.
        answer: QuestionAnswer,
    },
    /// Allow calls by these rules for the whole session: a person decided so.
    Allow(Vec<String>),
    /// End the process, for this reason.
    Finish(String),
}

/// The loop.
pub struct Machine {
    settings: ReactSettings,
    setup: Option<SessionSetup>,
    history: History,
    /// The current plan, which is also the list of things to do.
    plan: Vec<PlanStep>,
    /// The tokens that the session has used.
    usage: Usage,
    cost_usd: f64,
    turn: Option<MachineTurn>,
    /// The number of the last request to the model.
    requests: u64,
    /// The size of the history when the model last reported its usage.
    measured: usize,
}

/// The state that stays the same from turn to turn, unless a person changes it.
struct SessionSetup {
    mode: Mode,
    model: Option<String>,
    /// The model's reasoning effort.
    effort: Option<String>,
    tools: Arc<[ToolDefinition]>,
    describe: Describe,
    cwd: String,
    advice: Option<String>,
    /// The agents to which this agent may delegate. None if the session is too deep to delegate.
    agents: Option<Vec<String>>,
    /// This agent's own name, for sub-agents of the same kind.
    name: String,
}

impl SessionSetup {
    /// The name of the tool that the model means. Models may call a tool by another name, such as `server.tool`. Then
    /// this is the tool that clients see under the same name.
    fn offered(&self, name: String) -> String {
        if session_tools::is_own(&name) || self.tools.iter().any(|tool| tool.name == name) {
            return name;
        }
        let shown = |name: &str| {
            let (id, name, arguments) = (String::new(), name.to_owned(), serde_json::Value::Null);
            (self.describe)(&ToolInvocation { id, name, arguments }).name
        };
        let meant = shown(&name);
        let other =
            self.tools.iter().find(|tool| !session_tools::is_own(&tool.name) && shown(&tool.name) == meant);
        other.map_or(name, |tool| tool.name.clone())
    }

    /// From now on, offers the model these tools and the machine's own tools.
    fn offer(&mut self, mut tools: Vec<ToolDefinition>) {
        tools.extend(session_tools::definitions(self.agents.as_deref()));
        self.tools = tools.into();
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("turn", &self.turn).finish_non_exhaustive()
    }
}

/// The effects of an input, in order.
pub(crate) type Effects = Vec<Effect>;

impl Machine {
    /// A machine without a session.
    pub fn new(settings: ReactSettings) -> Self {
        Self {
            settings,
            setup: None,
            history: History::default(),
            plan: Vec::new(),
            usage: Usage::default(),
            cost_usd: 0.0,
            turn: None,
            requests: 0,
            measured: 0,
        }
    }

    /// Handles an input. Adds the effects to `out`.
    pub fn handle(&mut self, input: MachineInput, cx: &mut Context<'_>, out: &mut Vec<Effect>) {
        match input {
            MachineInput::Open(opening) => self.open(*opening, out),
            MachineInput::Told(command) => self.told(command, cx, out),
            MachineInput::Model { number, event } => self.model_said(number, event, cx, out),
            MachineInput::Weighed { call, verdict, preview } => {
                self.weighed(&call, verdict, preview, cx, out)
            }
            MachineInput::Printed { call, text } => self.printed(&call, text, out),
            MachineInput::Elicits { call, asker, source, text, fields } => {
                self.elicits(&call, asker, source, text, fields, cx, out);
            }
            MachineInput::Ran { call, result } => self.ran(&call, *result, cx, out),
            MachineInput::Tools(tools) => {
                if let Some(setup) = &mut self.setup {
                    setup.offer(tools);
                }
            }
            MachineInput::Notice { level, text } => self.notice(level, text, out),
            MachineInput::Tick => self.tick(cx, out),
        }
    }

    /// The latest time at which the machine needs a [`MachineInput::Tick`].
    pub fn deadline(&self) -> Option<Timestamp> {
        self.turn.as_ref().and_then(MachineTurn::deadline)
    }

    /// The conversation.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Whether a turn runs.
    pub fn is_working(&self) -> bool {
        self.turn.is_some()
    }

    fn open(&mut self, opening: Opening, out: &mut Effects) {
        let Opening { launch, memory, model, tools, describe, agents, advice, notices, version } = opening;
        match launch.start {
            Start::New | Start::Lines { .. } | Start::Told { .. } => {}
            Start::Resume { .. } | Start::Fork { .. } => {
                let fault = SessionFault { code: FaultCode::ResumeFailed };
                let reason = "this agent needs the log to remember, and the hub did not send it".to_owned();
                let draft = Draft::new(Body::SessionError(fault)).text(reason.clone());
                self.say(AgentLine::draft(draft), out);
                return out.push(Effect::Finish(reason));
            }
        }
        let Memory { history, rules, plan, usage, cost_usd } = memory;
        (self.history, self.plan, self.usage, self.cost_usd) = (history, plan, usage, cost_usd);
        if let Start::Told { story } = launch.start {
            self.say(AgentLine::history(HistoryItem::Summary { text: story }), out);
        }
        if !rules.is_empty() {
            out.push(Effect::Allow(rules));
        }
        let ready = Ready {
            native: Some(launch.session.to_string()),
            version: Some(version),
            model: model.clone(),
            transcript: None,
        };
        let mut setup = SessionSetup {
            mode: launch.mode,
            model,
            effort: launch.effort.or_else(|| self.settings.effort.clone()),
            tools: Arc::default(),
            describe,
            cwd: launch.cwd,
            advice,
            agents: (!launch.deepest).then_some(agents),
            name: launch.agent.to_string(),
        };
        setup.offer(tools);
        self.setup = Some(setup);
        self.say(AgentLine::draft(Draft::new(Body::SessionReady(ready))), out);
        let compact = SlashCommand {
            name: compact::COMMAND.to_owned(),
            description: "Sum up the conversation, so that there is room again".to_owned(),
        };
        self.say(AgentLine::draft(Draft::new(Body::CommandsListed { commands: vec![compact] })), out);
        for notice in notices {
            self.notice(NoticeLevel::Warning, notice, out);
        }
    }

    /// Writes a line, and adds the line's history item to the history.
    fn say(&mut self, said: AgentLine, out: &mut Effects) {
        if let Some(item) = &said.history {
            self.history.push(item.clone());
        }
        out.push(Effect::Say(Box::new(said)));
    }

    fn notice(&mut self, level: NoticeLevel, text: String, out: &mut Effects) {
        let turn = self.turn.as_ref().map(|turn| turn.id);
        self.say(AgentLine::draft(Draft::new(Body::Notice { level }).turn(turn).text(text)), out);
    }
}

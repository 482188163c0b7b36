//! The tools that affect only the session: questions, plans, delegation.

use longshore_model::approval::{AnswerAction, Choice, Field, FieldKind, QuestionAnswer, QuestionRequest};
use longshore_model::capability::Mode;
use longshore_model::delegation::{DelegationRequest, Task};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, ItemId, QuestionId};
use longshore_model::item::{PlanStatus, PlanStep, ToolCall, ToolKind};
use longshore_models::tool::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value, json};

use super::calls::{Acting, CallStage};
use super::{Effects, Machine};
use crate::AgentLine;
use crate::tools::{ToolInvocation, ToolResult};

const ASK_USER: &str = "ask_user";
const UPDATE_PLAN: &str = "update_plan";
const CREATE_TODO: &str = "create_todo";
const UPDATE_TODO: &str = "update_todo_status";
/// The prefix of a delegation tool's name; an agent's name follows.
const DELEGATE: &str = "delegate_to_";
/// The name that stands for a sub-agent of this agent's own kind.
const THINK_EXECUTE: &str = "think_execute";

/// How many child sessions of one session may work at a time: the hub's limit is the same.
const AT_ONCE: usize = 4;

/// The definitions of the tools for the model. Without agents, there is no delegation tool.
pub(super) fn definitions(agents: Option<&[String]>) -> Vec<ToolDefinition> {
    let status = json!({ "type": "string", "enum": ["pending", "in_progress", "completed"] });
    let text = |what: &str| json!({ "type": "string", "description": what });
    let tool = |name: &str, description: &str, parameters: Value| ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        side_by_side: true,
    };
    let step =
        object(&[("step", text("What is to be done")), ("status", status.clone())], &["step", "status"]);
    let mut tools = vec![
        tool(
            ASK_USER,
            "Ask the user something that you cannot find out yourself. Waits for the answer.",
            object(
                &[
                    ("question", text("The question")),
                    (
                        "options",
                        json!({ "type": "array", "items": { "type": "string" },
                        "description": "Answers to choose from; the user may say something else" }),
                    ),
                ],
                &["question"],
            ),
        ),
        tool(
            UPDATE_PLAN,
            "Show the user your plan, and keep it up to date. At most one step is in progress.",
            object(
                &[
                    ("explanation", text("Why the plan changed")),
                    ("plan", json!({ "type": "array", "items": step })),
                ],
                &["plan"],
            ),
        ),
        tool(
            CREATE_TODO,
            "Add something to do to your plan.",
            object(&[("text", text("What is to be done"))], &["text"]),
        ),
        tool(
            UPDATE_TODO,
            "Say how far something in your plan is.",
            object(
                &[
                    ("id", json!({ "type": "integer", "description": "Its number, from 1" })),
                    ("status", status),
                ],
                &["id", "status"],
            ),
        ),
    ];
    let Some(agents) = agents else { return tools };
    let others = agents.iter().map(|agent| {
        let what = format!(
            "Hand a task to the agent {agent}, which works in the same folder with tools of its own. It knows nothing \
             of this conversation: say all that it needs. {AT_ONCE} may work side by side, further ones wait for their \
             turn. Returns its last message."
        );
        (agent.clone(), what)
    });
    let own = format!(
        "Hand a task to a helper with the same tools as yours and a fresh mind: for work that would fill this \
         conversation with detail. It knows nothing of this conversation: say all that it needs. {AT_ONCE} may work \
         side by side, further ones wait for their turn. Returns its last message. ({THINK_EXECUTE})"
    );
    for (agent, what) in others.chain([(THINK_EXECUTE.to_owned(), own)]) {
        tools.push(tool(
            &format!("{DELEGATE}{agent}"),
            &what,
            object(
                &[
                    ("task", text("What to do, with all that is needed to know")),
                    ("cwd", text("The folder to work in; the same as yours when left out")),
                    (
                        "mode",
                        json!({ "type": "string", "enum": ["plan", "ask", "auto-edit", "full"],
                        "description": "What it may do without asking; never more than you" }),
                    ),
                    ("model", text("The model that it is to use")),
                ],
                &["task"],
            ),
        ));
    }
    tools
}

fn object(properties: &[(&str, Value)], required: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Whether a tool is the machine's own.
pub(super) fn is_own(name: &str) -> bool {
    [ASK_USER, UPDATE_PLAN, CREATE_TODO, UPDATE_TODO].contains(&name) || is_delegation(name)
}

/// Whether a tool hands a task to another session.
pub(super) fn is_delegation(name: &str) -> bool {
    name.starts_with(DELEGATE)
}

/// The form of a call for the timeline.
pub(super) fn shown(call: &ToolInvocation) -> ToolCall {
    let kind = if is_delegation(&call.name) { ToolKind::Delegate } else { ToolKind::Think };
    ToolCall { name: call.name.clone(), kind, command: None, cwd: None, input: call.arguments.clone() }
}

#[derive(Deserialize)]
struct AskUser {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

#[derive(Deserialize)]
struct UpdatePlan {
    #[serde(default)]
    explanation: Option<String>,
    plan: Vec<PlannedStep>,
}

#[derive(Deserialize)]
struct PlannedStep {
    step: String,
    status: PlanStatus,
}

#[derive(Deserialize)]
struct CreateTodo {
    text: String,
}

#[derive(Deserialize)]
struct UpdateTodo {
    id: usize,
    status: PlanStatus,
}

#[derive(Deserialize)]
struct DelegationArguments {
    task: String,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    mode: Option<Mode>,
    #[serde(default)]
    model: Option<String>,
}

fn read<T: for<'de> Deserialize<'de>>(call: &ToolInvocation) -> Result<T, String> {
    serde_json::from_value(call.arguments.clone())
        .map_err(|error| format!("the arguments of {} do not fit: {error}", call.name))
}

impl Machine {
    /// Does a call of one of the machine's own tools. A question or a delegation gets its result later.
    pub(super) fn own(&mut self, call: &ToolInvocation, cx: &mut Context<'_>, out: &mut Effects) {
        let done = match call.name.as_str() {
            ASK_USER => self.ask_user(call, cx, out),
            UPDATE_PLAN => read::<UpdatePlan>(call).map(|UpdatePlan { explanation, plan }| {
                self.plan = plan
                    .into_iter()
                    .map(|PlannedStep { step: text, status }| PlanStep { text, status })
                    .collect();
                self.show_plan(explanation, cx, out);
                Some("the plan is shown".to_owned())
            }),
            CREATE_TODO => read::<CreateTodo>(call).map(|CreateTodo { text }| {
                self.plan.push(PlanStep { text, status: PlanStatus::Pending });
                self.show_plan(None, cx, out);
                Some(format!("it has the number {}", self.plan.len()))
            }),
            UPDATE_TODO => self.update_todo(call, cx, out),
            delegate => self.delegate(call, delegate.trim_start_matches(DELEGATE), out),
        };
        match done {
            Ok(Some(text)) => self.finish_call(&call.id, ToolResult::done(text), out),
            Ok(None) => {}
            Err(fault) => self.finish_call(&call.id, ToolResult::failed(fault), out),
        }
    }

    fn stage(&mut self, call: &ToolInvocation, stage: CallStage) {
        let acting =
            self.turn.as_mut().and_then(|turn| turn.calls.iter_mut().find(|acting| acting.id == call.id));
        if let Some(acting) = acting {
            acting.stage = stage;
        }
    }

    fn ask_user(
        &mut self,
        call: &ToolInvocation,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) -> Result<Option<String>, String> {
        let AskUser { question: text, options } = read(call)?;
        let question = QuestionId::mint(cx);
        let choices: Vec<Choice> =
            options.into_iter().map(|label| Choice { label, description: String::new() }).collect();
        let field = Field {
            id: "answer".to_owned(),
            label: "Answer".to_owned(),
            text: text.clone(),
            kind: if choices.is_empty() { FieldKind::Text } else { FieldKind::One },
            choices,
            open: true,
            secret: false,
            optional: false,
        };
        self.stage(call, CallStage::Questioned(question));
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let request = QuestionRequest { question, source: None, fields: vec![field] };
        self.say(AgentLine::draft(Draft::new(Body::QuestionAsked(request)).turn(turn).text(text)), out);
        Ok(None)
    }

    fn update_todo(
        &mut self,
        call: &ToolInvocation,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) -> Result<Option<String>, String> {
        let UpdateTodo { id, status } = read(call)?;
        let count = self.plan.len();
        let step = id.checked_sub(1).and_then(|at| self.plan.get_mut(at));
        let step = step.ok_or_else(|| format!("there is no number {id}; there are {count}"))?;
        step.status = status;
        self.show_plan(None, cx, out);
        Ok(Some("noted".to_owned()))
    }

    fn show_plan(&mut self, explanation: Option<String>, cx: &mut Context<'_>, out: &mut Effects) {
        // A turn has one plan item, and each update replaces its content.
        let fresh = ItemId::mint(cx);
        let item = self.turn.as_mut().map_or(fresh, |turn| *turn.plan.get_or_insert(fresh));
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let body = Body::PlanUpdated { steps: self.plan.clone() };
        let mut draft = Draft::new(body).turn(turn).item(item);
        draft.text = explanation;
        self.say(AgentLine::draft(draft), out);
    }

    fn delegate(
        &mut self,
        call: &ToolInvocation,
        agent: &str,
        out: &mut Effects,
    ) -> Result<Option<String>, String> {
        let Some(setup) = &self.setup else { return Ok(None) };
        let Some(agents) = &setup.agents else {
            let why = "delegation goes no deeper than this conversation; do the task yourself";
            return Err(why.to_owned());
        };
        let agent = match agent {
            THINK_EXECUTE => setup.name.clone(),
            known if agents.iter().any(|name| name == known) => known.to_owned(),
            unknown => {
                let known = agents.join(", ");
                return Err(format!("there is no agent called {unknown}; there is {known}, {THINK_EXECUTE}"));
            }
        };
        let DelegationArguments { task, cwd, mode, model } = read(call)?;
        self.stage(call, CallStage::Lined(Task { agent: agent.into(), task, cwd, mode, model }));
        self.begin_lined(out);
        Ok(None)
    }

    /// Begins waiting delegations, as far as there is room.
    pub(super) fn begin_lined(&mut self, out: &mut Effects) {
        let Some(turn) = &mut self.turn else { return };
        let at_work = |call: &&Acting| matches!(call.stage, CallStage::Delegated { .. });
        let room = AT_ONCE.saturating_sub(turn.calls.iter().filter(at_work).count());
        let mut tasks = Vec::new();
        for call in turn.calls.iter_mut().filter(|call| matches!(call.stage, CallStage::Lined(_))).take(room)
        {
            if let CallStage::Lined(task) = std::mem::replace(&mut call.stage, CallStage::Weighing) {
                call.stage = CallStage::Delegated { child: None, task: task.task.clone() };
                tasks.push((call.id.clone(), task));
            }
        }
        for (call, task) in tasks {
            self.show(&call, out);
            self.say(AgentLine::delegate(&call, DelegationRequest::Begin(task)), out);
        }
    }
}

/// The result that the model gets for a person's answer.
pub(super) fn answer(answer: &QuestionAnswer) -> ToolResult {
    match answer.action {
        AnswerAction::Accept => {
            let said = answer.answers.get("answer");
            ToolResult::done(match said {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => json!(answer.answers).to_string(),
            })
        }
        AnswerAction::Decline => ToolResult::failed("the user did not want to answer"),
        AnswerAction::Cancel => ToolResult::failed("the user waved the question away"),
    }
}

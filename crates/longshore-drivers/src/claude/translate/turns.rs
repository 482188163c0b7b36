//! How turns begin, are steered, fail and end.
//!
//! One of our turns is usually one of Claude's turns, from `init` to `result`. Claude takes a prompt that
//! steers a turn at the turn's next tool boundary. If there is no further boundary, Claude answers the prompt
//! in another turn right afterwards. Claude repeats our prompts when it takes them. So if a turn ends before
//! it took a prompt, our turn continues until Claude has answered that prompt, too. So the session never
//! sends the next prompt while an earlier prompt still waits inside the agent.
//!
//! A background task that ends begins a turn by itself. Claude reports this only when that turn is over. If a
//! client sent a prompt at the same moment, such a `result` is not the end of the prompt's turn.

use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, PromptId, TurnId};
use longshore_model::item::{ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{FaultCode, TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;
use serde_json::{Value, json};

use super::conversation::MAIN;
use super::usage::sum;
use super::{Claude, WireError};
use crate::claude::wire;
use crate::kit::Scribe;

/// How long Claude may take to begin its answer to a steering prompt after the turn is over.
const ANSWERED_WITHIN_MS: i64 = 30_000;
/// Claude's text if there is nothing to resume: the conversation is gone, or belongs to another work tree.
const NOT_FOUND: &str = "No conversation found";

/// The running turn.
#[derive(Debug)]
pub(super) struct ClaudeTurn {
    pub id: TurnId,
    /// The prompt that began the turn; none if Claude began the turn by itself.
    pub prompt: Option<PromptId>,
    /// Whether Claude has repeated this prompt, and so has taken it.
    pub taken: bool,
    /// Steering prompts that Claude has not taken yet.
    pub steers: Vec<Steer>,
    /// Whether a client requested a stop.
    pub stopping: bool,
    /// Whether a cancelled approval stopped the turn, and the turn has not ended since. Older versions end
    /// such a turn as if it had succeeded.
    pub cancelled: bool,
    /// Until when the turn waits for the answer to steering prompts.
    pub held_until: Option<Timestamp>,
    /// Whether Claude has taken a prompt since the last `result`.
    took: bool,
    usage: Option<Usage>,
    cost: Option<f64>,
    duration_ms: Option<u64>,
    /// The kind of the error, in Claude's word.
    pub trouble: Option<String>,
    /// The item of the notice that counts the attempts of a request to the model.
    pub retrying: Option<ItemId>,
}

/// A steering prompt.
#[derive(Debug)]
pub(super) struct Steer {
    pub prompt: PromptId,
    pub text: String,
}

impl ClaudeTurn {
    pub(super) fn new(id: TurnId, prompt: Option<PromptId>) -> Self {
        Self {
            id,
            prompt,
            taken: false,
            steers: Vec::new(),
            stopping: false,
            cancelled: false,
            held_until: None,
            took: false,
            usage: None,
            cost: None,
            duration_ms: None,
            trouble: None,
            retrying: None,
        }
    }
}

impl Claude {
    /// One of Claude's turns begins: as a part of the running turn, or by itself.
    pub(super) fn turn_began(&mut self, scribe: &mut Scribe<'_>) {
        if let Some(running) = &mut self.running {
            running.held_until = None;
            return;
        }
        let id = TurnId::mint(&mut scribe.cx);
        self.run(ClaudeTurn::new(id, None));
        let Some(conversation) = self.conversations.get(MAIN) else { return };
        let draft = Draft::new(Body::TurnStarted { prompt: None }).turn(id);
        scribe.quote_once(conversation.session, draft);
    }

    pub(super) fn run(&mut self, running: ClaudeTurn) {
        if let Some(conversation) = self.conversations.get_mut(MAIN) {
            conversation.turn = Some(running.id);
        }
        self.running = Some(running);
    }

    /// Claude has taken one of our prompts.
    pub(super) fn taken(&mut self, prompt: &str) {
        let Some(running) = &mut self.running else { return };
        let is = |id: PromptId| id.to_string() == prompt;
        if running.prompt.is_some_and(is) {
            running.taken = true;
        } else if let Some(at) = running.steers.iter().position(|steer| is(steer.prompt)) {
            running.steers.remove(at);
        } else {
            return;
        }
        running.took = true;
        self.echoes = true;
    }

    /// One of Claude's turns is over.
    pub(super) fn result(&mut self, line: &str, scribe: &mut Scribe<'_>) -> Result<(), WireError> {
        let result: wire::Result = serde_json::from_str(line)?;
        if self.is_opening() && result.is_error {
            let text = error_text(&result);
            let code = match text.contains(NOT_FOUND) {
                true => FaultCode::ResumeFailed,
                false => FaultCode::StartFailed,
            };
            self.refuse(code, text, scribe);
            return Ok(());
        }
        let model = self.home.as_ref().and_then(|home| home.model.as_deref());
        let (usage, cost) = self.ledger.turn_ended(&result, model);
        self.leave_behind(MAIN, scribe);
        let Some(running) = &mut self.running else { return Ok(()) };
        running.usage = match (running.usage, usage) {
            (Some(before), Some(usage)) => Some(sum(before, usage)),
            (before, usage) => usage.or(before),
        };
        running.cost = match (running.cost, cost) {
            (Some(before), Some(cost)) => Some(before + cost),
            (before, cost) => cost.or(before),
        };
        running.duration_ms = match (running.duration_ms, result.duration_ms) {
            (Some(before), Some(duration)) => Some(before.saturating_add(duration)),
            (before, duration) => duration.or(before),
        };
        let took = std::mem::take(&mut running.took);
        let by_itself = result.origin.as_ref().is_some_and(|origin| origin.kind == "task-notification");
        if by_itself && running.prompt.is_some() && !running.taken {
            return Ok(());
        }
        if running.held_until.is_none() && !took && running.taken && !by_itself && !running.steers.is_empty()
        {
            // Claude answers slash commands without repeating them. So this answer belongs to the oldest
            // prompt.
            running.steers.remove(0);
        }
        let waits = self.echoes && !running.steers.is_empty() && !running.stopping;
        if waits {
            running.held_until = Some(scribe.cx.now.plus_millis(ANSWERED_WITHIN_MS));
            running.cancelled = false;
            return Ok(());
        }
        self.finish_turn(Some(&result), scribe);
        Ok(())
    }

    /// Ends the running turn.
    pub(super) fn finish_turn(&mut self, result: Option<&wire::Result>, scribe: &mut Scribe<'_>) {
        let Some(running) = self.running.take() else { return };
        let Some(conversation) = self.conversations.get_mut(MAIN) else { return };
        let session = conversation.session;
        let (outcome, error) = match result {
            Some(result) => outcome_of(result, &running),
            None if running.stopping => (TurnOutcome::Interrupted, None),
            None => (TurnOutcome::Completed, None),
        };
        self.drop_tools(running.id, scribe);
        self.stop_children(running.id, outcome, scribe);
        self.requests.forget(session, running.id);
        if let Some(usage) = self.ledger.news() {
            scribe.say(session, Draft::new(Body::UsageUpdated(usage)).turn(running.id));
        }
        let mut draft = Draft::new(Body::TurnFinished(TurnEnd {
            outcome,
            error: error.clone(),
            usage: running.usage,
            cost_usd: running.cost,
            duration_ms: running.duration_ms,
        }));
        draft.text = error.map(|error| error.message);
        scribe.quote(session, draft.turn(running.id));
        if let Some(conversation) = self.conversations.get_mut(MAIN) {
            conversation.turn = None;
        }
    }

    /// Ends the calls of a turn that is over, because their results will not come.
    fn drop_tools(&mut self, turn: TurnId, scribe: &mut Scribe<'_>) {
        // Announced calls that have not begun will not begin.
        self.lined.retain(|lined| lined.conversation != MAIN);
        let over: Vec<String> = self
            .tools
            .iter()
            .filter(|(_, tool)| tool.conversation == MAIN && tool.turn == Some(turn))
            .map(|(name, _)| name.clone())
            .collect();
        let mut left: Vec<_> = over.iter().filter_map(|name| self.tools.remove(name)).collect();
        left.sort_unstable_by_key(|tool| tool.item);
        let Some(conversation) = self.conversations.get(MAIN) else { return };
        for tool in left {
            let body = Body::ToolFinished(ToolOutcome::of(ToolStatus::Cancelled));
            scribe.say(conversation.session, Draft::new(body).turn(tool.turn).item(tool.item));
        }
    }
}

/// The end of a failed turn, with our own text.
pub(super) fn failed(code: TurnErrorCode, text: &str) -> Draft {
    let error = TurnError { code, message: text.to_owned(), details: Value::Null };
    let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
    Draft::new(Body::TurnFinished(end)).text(text)
}

/// The outcome of a turn. `success` only means that the program worked; `is_error` decides.
fn outcome_of(result: &wire::Result, running: &ClaudeTurn) -> (TurnOutcome, Option<TurnError>) {
    let reason = result.terminal_reason.as_deref().unwrap_or_default();
    let cut_off = running.stopping && result.subtype == "error_during_execution";
    let cancelled = running.cancelled && !result.is_error;
    if reason.starts_with("aborted") || cut_off || cancelled {
        return (TurnOutcome::Interrupted, None);
    }
    if !result.is_error {
        return (TurnOutcome::Completed, None);
    }
    let message = error_text(result);
    let details =
        json!({"status": result.api_error_status, "error": running.trouble, "subtype": result.subtype});
    let code = code_of(result, running.trouble.as_deref().unwrap_or_default(), &message);
    (TurnOutcome::Failed, Some(TurnError { code, message, details }))
}

fn error_text(result: &wire::Result) -> String {
    if let Some(text) = result.result.as_str().filter(|text| !text.is_empty()) {
        return text.to_owned();
    }
    let errors: Vec<String> = result
        .errors
        .iter()
        .map(|error| error.as_str().map_or_else(|| error.to_string(), str::to_owned))
        .collect();
    match (errors.is_empty(), result.subtype.as_str()) {
        (false, _) => errors.join("\n"),
        (true, "") => "Claude Code did not say why.".to_owned(),
        (true, subtype) => subtype.replace('_', " "),
    }
}

/// The error code of a failed turn, which is the same for every agent. It comes from the HTTP status, from
/// Claude's own word, or from the text for people, in this order.
fn code_of(result: &wire::Result, trouble: &str, message: &str) -> TurnErrorCode {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    let too_long = result.terminal_reason.as_deref() == Some("prompt_too_long");
    match (result.api_error_status, trouble) {
        _ if too_long || says(&["Prompt is too long"]) => TurnErrorCode::ContextWindow,
        (_, "billing_error") => TurnErrorCode::UsageLimit,
        _ if says(&["usage limit", "limit reached", "Credit balance is too low"]) => {
            TurnErrorCode::UsageLimit
        }
        (Some(401 | 403), _) | (_, "authentication_failed") => TurnErrorCode::Unauthorized,
        (Some(429), _) | (_, "rate_limit") => TurnErrorCode::RateLimited,
        (Some(503 | 529), _) => TurnErrorCode::Overloaded,
        (Some(_), _) => TurnErrorCode::Other,
        (None, _) if says(&["Overloaded"]) => TurnErrorCode::Overloaded,
        (None, _) if says(&["Please run /login"]) => TurnErrorCode::Unauthorized,
        (None, _) if says(&["Unable to connect", "Connection to the API was lost", "Connection error"]) => {
            TurnErrorCode::Network
        }
        (None, _) if says(&["Request timed out"]) => TurnErrorCode::Timeout,
        (None, _) => TurnErrorCode::Other,
    }
}

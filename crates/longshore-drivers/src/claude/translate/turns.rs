//! Turns begin, are steered, fail and end.
//!
//! A turn of ours is mostly one of theirs, from `init` to `result`. What is said into a turn is taken in at its next
//! tool boundary; when there is none left it is answered in a turn of its own right after. Since our prompts are repeated
//! when they are taken, a turn that ends before it took one in goes on to be the same turn to us, until that one is
//! answered too. So the session never begins the next prompt while an earlier one still waits inside the agent.
//!
//! A task that ends in the background begins a turn by itself, and says so only when that turn is over. When a prompt
//! was sent in the same moment, such a `result` is not the end of the prompt's turn.

use longshore_model::driver::Output;
use longshore_model::event::{Body, Draft, Raw};
use longshore_model::id::{Context, ItemId, PromptId, TurnId};
use longshore_model::item::{ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{FaultCode, TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;
use serde_json::{Value, json};

use super::conversation::MAIN;
use super::usage::sum;
use super::{Claude, WireError};
use crate::claude::wire;

/// How long an answer to what was said into a turn may take to begin once the turn is over.
const ANSWERED_WITHIN_MS: i64 = 30_000;
/// How it says that there is nothing to resume: the conversation is gone, or is of another work tree.
const NOT_FOUND: &str = "No conversation found";

/// The turn that runs.
#[derive(Debug)]
pub(super) struct ClaudeTurn {
    pub id: TurnId,
    /// The prompt that began it; none when the agent began by itself.
    pub prompt: Option<PromptId>,
    /// That prompt was repeated, and so was taken.
    pub taken: bool,
    /// What was said into it and was not taken yet.
    pub steers: Vec<Steer>,
    /// It was asked to stop.
    pub stopping: bool,
    /// It was told to stop instead of getting a yes, and has not ended since. Older versions end as if all were well.
    pub cancelled: bool,
    /// Until when it waits for the answer to what was said into it.
    pub held_until: Option<Timestamp>,
    /// Whether something was taken since the last `result`.
    took: bool,
    usage: Option<Usage>,
    cost: Option<f64>,
    duration_ms: Option<u64>,
    /// What went wrong, in their word.
    pub trouble: Option<String>,
    /// The line that tells how often the model's service was tried.
    pub retrying: Option<ItemId>,
}

/// Something that was said into a turn.
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
    /// A turn of theirs begins: of the turn that runs, or by itself.
    pub(super) fn turn_began(&mut self, raw: &Raw, cx: &mut Context<'_>, out: &mut Output) {
        if let Some(running) = &mut self.running {
            running.held_until = None;
            return;
        }
        let id = TurnId::mint(cx);
        self.run(ClaudeTurn::new(id, None));
        let Some(conversation) = self.conversations.get(MAIN) else { return };
        let told = out.said.iter().any(|(_, draft)| draft.raw.as_ref().is_some_and(|said| said == raw));
        let draft = Draft::new(Body::TurnStarted { prompt: None }).turn(id);
        out.say(conversation.session, draft.raw((!told).then(|| raw.clone())));
    }

    pub(super) fn run(&mut self, running: ClaudeTurn) {
        if let Some(conversation) = self.conversations.get_mut(MAIN) {
            conversation.turn = Some(running.id);
        }
        self.running = Some(running);
    }

    /// One of our prompts was taken.
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

    /// A turn of theirs is over.
    pub(super) fn result(
        &mut self,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) -> Result<(), WireError> {
        let result: wire::Result = serde_json::from_str(raw)?;
        if self.is_opening() && result.is_error {
            let text = error_text(&result);
            let code = match text.contains(NOT_FOUND) {
                true => FaultCode::ResumeFailed,
                false => FaultCode::StartFailed,
            };
            self.refuse(code, text, Some(raw), out);
            return Ok(());
        }
        let model = self.home.as_ref().and_then(|home| home.model.as_deref());
        let (usage, cost) = self.ledger.turn_ended(&result, model);
        self.leave_behind(MAIN, out);
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
            // Slash commands are answered and not repeated: this was the answer to the oldest.
            running.steers.remove(0);
        }
        let waits = self.echoes && !running.steers.is_empty() && !running.stopping;
        if waits {
            running.held_until = Some(cx.now.plus_millis(ANSWERED_WITHIN_MS));
            running.cancelled = false;
            return Ok(());
        }
        self.finish_turn(Some(&result), Some(raw), out);
        Ok(())
    }

    /// The turn that runs is over.
    pub(super) fn finish_turn(&mut self, result: Option<&wire::Result>, raw: Option<&Raw>, out: &mut Output) {
        let Some(running) = self.running.take() else { return };
        let Some(conversation) = self.conversations.get_mut(MAIN) else { return };
        let session = conversation.session;
        let (outcome, error) = match result {
            Some(result) => outcome_of(result, &running),
            None if running.stopping => (TurnOutcome::Interrupted, None),
            None => (TurnOutcome::Completed, None),
        };
        self.drop_tools(running.id, out);
        self.stop_children(running.id, outcome, out);
        self.requests.forget(session, running.id);
        if let Some(usage) = self.ledger.news() {
            out.say(session, Draft::new(Body::UsageUpdated(usage)).turn(running.id));
        }
        let mut draft = Draft::new(Body::TurnFinished(TurnEnd {
            outcome,
            error: error.clone(),
            usage: running.usage,
            cost_usd: running.cost,
            duration_ms: running.duration_ms,
        }));
        draft.text = error.map(|error| error.message);
        out.say(session, draft.turn(running.id).raw(raw.cloned()));
        if let Some(conversation) = self.conversations.get_mut(MAIN) {
            conversation.turn = None;
        }
    }

    /// Calls of a turn that is over: their results will not come any more.
    fn drop_tools(&mut self, turn: TurnId, out: &mut Output) {
        // What has not begun does not begin any more.
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
            out.say(conversation.session, Draft::new(body).turn(tool.turn).item(tool.item));
        }
    }
}

/// A turn that failed, in our own words.
pub(super) fn failed(code: TurnErrorCode, text: &str) -> Draft {
    let error = TurnError { code, message: text.to_owned(), details: Value::Null };
    let end = TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) };
    Draft::new(Body::TurnFinished(end)).text(text)
}

/// How a turn ended. `success` only means that the program worked: what counts is `is_error`.
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

/// Why a turn failed, in a word that is the same for every agent: from the status, else from its own word, else from
/// what people are told.
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

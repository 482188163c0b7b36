//! A turn, from a prompt to its end, with as many answers of the model as it needs.

use longshore_model::event::{Body, Draft, NoticeLevel};
use longshore_model::id::{Context, ItemId, QuestionId, TurnId};
use longshore_model::item::{ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{TurnEnd, TurnError, TurnErrorCode, TurnOutcome};
use longshore_model::time::Timestamp;
use longshore_model::usage::Usage;

use super::answer::ModelAnswer;
use super::calls::{Acting, CallStage};
use super::commands::UserPrompt;
use super::{Effect, Effects, Machine, system_prompt};
use crate::AgentLine;
use crate::tools::ToolResult;
use longshore_models::api::{Failure, NeutralRequest};

/// The longest wait between two tries if the service names none.
const LONGEST_WAIT_MS: u64 = 60_000;
/// The longest wait that the service may request. If it requests more, the turn fails.
const LONGEST_ASKED_MS: u64 = 600_000;

/// A turn that runs.
#[derive(Debug)]
pub(super) struct MachineTurn {
    pub(super) id: TurnId,
    started: Timestamp,
    pub(super) state: TurnPhase,
    /// The calls of the last answer, in order.
    pub(super) calls: Vec<Acting>,
    /// Prompts that people sent during the turn, and that the model has not got yet.
    pub(super) steered: Vec<UserPrompt>,
    /// Open questions of running calls, each with the number under which the process waits for the answer.
    pub(super) wondering: Vec<(QuestionId, u64)>,
    /// How many requests the model got in this turn.
    pub(super) iterations: u32,
    /// How many requests failed since the last success.
    pub(super) retries: u32,
    /// How many answers in a row were cut off at the maximal length.
    pub(super) cuts: u32,
    /// How many answers in a row had no content.
    pub(super) silences: u32,
    /// Whether the model reported that its window is full.
    pub(super) is_full: bool,
    /// The item of the notice about the retry.
    retrying: Option<ItemId>,
    /// The plan item of this turn.
    pub(super) plan: Option<ItemId>,
    /// The value of `iterations` at the last compaction.
    pub(super) compacted_at: Option<u32>,
    /// Whether the turn only compacts the conversation.
    pub(super) only_compacts: bool,
    /// Whether the model must get another request: its last answer had calls or was cut off, or there is a new prompt.
    pub(super) owes: bool,
    used: Usage,
    cost_usd: Option<f64>,
}

/// The phase of a turn.
#[derive(Debug)]
pub(super) enum TurnPhase {
    /// The model answers.
    Asking(ModelAnswer),
    /// The model summarizes the conversation.
    Compacting(ModelAnswer),
    /// The agent waits before it asks the model again.
    Waiting { until: Timestamp, compacts: bool },
    /// Calls run, or nothing is left to do.
    Acting,
}

impl MachineTurn {
    pub(super) fn new(id: TurnId, now: Timestamp) -> Self {
        Self {
            id,
            started: now,
            state: TurnPhase::Acting,
            calls: Vec::new(),
            steered: Vec::new(),
            wondering: Vec::new(),
            iterations: 0,
            retries: 0,
            cuts: 0,
            silences: 0,
            is_full: false,
            retrying: None,
            plan: None,
            compacted_at: None,
            only_compacts: false,
            owes: true,
            used: Usage::default(),
            cost_usd: None,
        }
    }

    /// Whether the agent has just compacted the conversation. Another compaction would not make it shorter.
    pub(super) fn has_just_compacted(&self) -> bool {
        self.compacted_at.is_some_and(|at| self.iterations <= at + 1)
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match self.state {
            TurnPhase::Waiting { until, .. } => Some(until),
            TurnPhase::Asking(_) | TurnPhase::Compacting(_) | TurnPhase::Acting => None,
        }
    }
}

impl Machine {
    /// Continues the turn when all calls are done and the model has finished. Asks the model again, or ends the turn.
    pub(super) fn go_on(&mut self, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(turn) = &mut self.turn else { return };
        let steered = std::mem::take(&mut turn.steered);
        turn.calls.clear();
        turn.wondering.clear();
        if !std::mem::take(&mut turn.owes) && steered.is_empty() {
            return self.finish(TurnEnd::of(TurnOutcome::Completed), cx, out);
        }
        for words in steered {
            self.hear(words, out);
        }
        if let Some(reason) = self.exhausted() {
            return self.fail(TurnErrorCode::UsageLimit, reason, cx, out);
        }
        let turn = self.turn.as_mut();
        let has_said_so = turn.is_some_and(|turn| std::mem::take(&mut turn.is_full));
        if has_said_so && self.turn.as_ref().is_some_and(MachineTurn::has_just_compacted) {
            let reason = "the conversation still fills the model's window after a summary";
            return self.fail(TurnErrorCode::ContextWindow, reason.to_owned(), cx, out);
        }
        if has_said_so || self.is_nearly_full() {
            return self.compact(cx, out);
        }
        self.ask(cx, out);
    }

    /// Says which limit the turn has reached, if any.
    fn exhausted(&self) -> Option<String> {
        let Some(turn) = &self.turn else { return None };
        let limits = &self.settings;
        let used = self.usage.input.unwrap_or(0) + self.usage.output.unwrap_or(0);
        if turn.iterations >= limits.max_iterations {
            return Some(format!(
                "the limit of {} requests to the model in a turn is reached (max_iterations); prompt again to go on",
                limits.max_iterations
            ));
        }
        if limits.max_tokens > 0 && used >= limits.max_tokens {
            return Some(format!(
                "the session has used {used} tokens, and may use {} (max_tokens)",
                limits.max_tokens
            ));
        }
        if limits.max_cost_usd > 0.0 && self.cost_usd >= limits.max_cost_usd {
            return Some(format!(
                "the session has cost ${:.2}, and may cost ${:.2} (max_cost_usd)",
                self.cost_usd, limits.max_cost_usd
            ));
        }
        None
    }

    /// Asks the model.
    pub(super) fn ask(&mut self, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(setup) = &self.setup else { return };
        let Some(model) = setup.model.clone() else {
            let reason = format!(
                "no model is set, and the service lists none; set `model` under [agents.{}]",
                setup.name
            );
            return self.fail(TurnErrorCode::Other, reason, cx, out);
        };
        let mut history = self.history.legal();
        history.retain(|item| !item.is_foreign_to(self.settings.place()));
        let request = NeutralRequest {
            model,
            instructions: system_prompt::instructions(setup, &self.settings).into(),
            history,
            tools: setup.tools.clone(),
            max_output: self.settings.max_output,
            effort: setup.effort.clone(),
        };
        let step = self.history.next_step();
        self.requests += 1;
        let number = self.requests;
        if let Some(turn) = &mut self.turn {
            turn.iterations += 1;
            turn.state = TurnPhase::Asking(ModelAnswer::new(number, step));
        }
        out.push(Effect::Ask { number, request: Box::new(request) });
    }

    /// Handles a failed request. Tries again later if this may help.
    pub(super) fn failed(
        &mut self,
        failure: Failure,
        compacts: bool,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        let Some(turn) = &mut self.turn else { return };
        let wait = match failure.retry_after {
            Some(asked) => u64::try_from(asked.as_millis()).unwrap_or(u64::MAX),
            None => {
                let doubled = self.settings.retry_ms.saturating_mul(1 << turn.retries.min(16));
                doubled.min(LONGEST_WAIT_MS)
            }
        };
        let tries = self.settings.max_retries;
        if !failure.kind.may_pass() || turn.retries >= tries || wait > LONGEST_ASKED_MS {
            return self.fail(failure.kind.code(), failure.message, cx, out);
        }
        turn.retries += 1;
        let count = turn.retries;
        let until = cx.now.plus_millis(i64::try_from(wait).unwrap_or(i64::MAX));
        turn.state = TurnPhase::Waiting { until, compacts };
        let seconds = wait as f64 / 1_000.0;
        let text = format!(
            "{}; trying again in {seconds} s ({count} of {tries})",
            failure.message.trim_end_matches('.')
        );
        // All tries of one request share one notice: the newest text replaces the text before.
        let item = turn.retrying.filter(|_| count > 1).unwrap_or_else(|| ItemId::mint(cx));
        turn.retrying = Some(item);
        let draft =
            Draft::new(Body::Notice { level: NoticeLevel::Warning }).turn(turn.id).item(item).text(text);
        self.say(AgentLine::draft(draft), out);
    }

    pub(super) fn tick(&mut self, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(turn) = &self.turn else { return };
        if let TurnPhase::Waiting { until, compacts } = turn.state
            && until <= cx.now
        {
            match compacts {
                true => self.compact(cx, out),
                false => self.ask(cx, out),
            }
        }
    }

    /// Adds the usage of an answer to the totals of the turn and the session.
    pub(super) fn use_up(&mut self, used: Usage, out: &mut Effects) {
        let add = |all: &mut Option<u64>, more: Option<u64>| {
            if let Some(more) = more {
                *all = Some(all.unwrap_or(0) + more);
            }
        };
        let prices = &self.settings;
        let million = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let has_prices = prices.price_input > 0.0 || prices.price_output > 0.0;
        let cost = has_prices.then(|| {
            let cached = used.cached_input.unwrap_or(0);
            let fresh = used.input.unwrap_or(0).saturating_sub(cached);
            million(fresh, prices.price_input)
                + million(cached, prices.price_cached.unwrap_or(prices.price_input))
                + million(used.output.unwrap_or(0), prices.price_output)
        });
        self.cost_usd += cost.unwrap_or(0.0);
        let (window, context) = (Some(self.settings.context_window), used.input.zip(used.output));
        let turn = self.turn.as_mut().map(|turn| {
            turn.cost_usd = cost.map(|cost| turn.cost_usd.unwrap_or(0.0) + cost).or(turn.cost_usd);
            &mut turn.used
        });
        for total in [Some(&mut self.usage), turn].into_iter().flatten() {
            add(&mut total.input, used.input);
            add(&mut total.cached_input, used.cached_input);
            add(&mut total.output, used.output);
            add(&mut total.reasoning, used.reasoning);
            total.context_window = window;
            total.context_used = context.map(|(input, output)| input + output).or(total.context_used);
        }
        self.measured = self.history.size();
        let turn = self.turn.as_ref().map(|turn| turn.id);
        let draft = Draft::new(Body::UsageUpdated(self.usage)).turn(turn);
        self.say(crate::AgentLine::draft(draft), out);
    }

    /// Stops everything, and leaves a history from which the model can continue.
    pub(super) fn interrupt(&mut self, cx: &mut Context<'_>, out: &mut Effects) {
        self.hush(true, out);
        self.stop_calls("interrupted by the user", out);
        let steered = self.turn.as_mut().map(|turn| std::mem::take(&mut turn.steered)).unwrap_or_default();
        for words in steered {
            self.hear(words, out);
        }
        self.finish(TurnEnd::of(TurnOutcome::Interrupted), cx, out);
    }

    /// Ends the turn with an error.
    pub(super) fn fail(
        &mut self,
        code: TurnErrorCode,
        message: String,
        cx: &mut Context<'_>,
        out: &mut Effects,
    ) {
        self.hush(true, out);
        self.stop_calls("the turn failed before it finished", out);
        let steered = self.turn.as_mut().map(|turn| std::mem::take(&mut turn.steered)).unwrap_or_default();
        for words in steered {
            self.hear(words, out);
        }
        let error = TurnError { code, message, details: serde_json::Value::Null };
        self.finish(TurnEnd { error: Some(error), ..TurnEnd::of(TurnOutcome::Failed) }, cx, out);
    }

    /// Stops all calls that are not done.
    fn stop_calls(&mut self, why: &str, out: &mut Effects) {
        let Some(turn) = &self.turn else { return };
        let open: Vec<String> =
            turn.calls.iter().filter(|call| !call.is_done()).map(|call| call.id.clone()).collect();
        for id in open {
            self.stop_call(&id, out);
            let mut result = ToolResult::failed(why);
            result.outcome = ToolOutcome::of(ToolStatus::Cancelled);
            self.finish_call(&id, result, out);
        }
    }

    fn stop_call(&mut self, id: &str, out: &mut Effects) {
        let Some(turn) = &self.turn else { return };
        let Some(call) = turn.calls.iter().find(|call| call.id == id) else { return };
        match call.stage {
            CallStage::Running => out.push(Effect::Cancel { call: id.to_owned() }),
            CallStage::Delegated { .. } => {
                let recall = longshore_model::delegation::DelegationRequest::Recall;
                self.say(crate::AgentLine::delegate(id, recall), out);
            }
            CallStage::Weighing
            | CallStage::Asked { .. }
            | CallStage::Questioned(_)
            | CallStage::Ready(_)
            | CallStage::Lined(_)
            | CallStage::Done => {}
        }
    }

    pub(super) fn finish(&mut self, end: TurnEnd, cx: &mut Context<'_>, out: &mut Effects) {
        let Some(turn) = self.turn.take() else { return };
        let text = end.error.as_ref().map(|error| error.message.clone());
        let used = turn.used != Usage::default();
        let end = TurnEnd {
            usage: used.then_some(turn.used),
            cost_usd: turn.cost_usd,
            duration_ms: Some(cx.now.millis_since(turn.started)),
            ..end
        };
        let mut draft = Draft::new(Body::TurnFinished(end)).turn(turn.id);
        draft.text = text;
        self.say(crate::AgentLine::draft(draft), out);
    }
}

//! Commands that an interrupted turn left running, and their end.
//!
//! `turn/interrupt` ends a turn but none of its commands: Codex keeps the commands as background terminals. A
//! person who stops a turn also wants its commands to stop. So the driver lists the turn's commands,
//! terminates them and waits for their ends. Only then it emits the end of the turn. Commands of earlier
//! turns continue, because the stop does not concern them.

use longshore_model::event::Draft;
use longshore_model::id::SessionId;
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use serde_json::json;

use super::Codex;
use super::calls::CodexCall;
use super::conversation::ItemKind;
use crate::codex::wire;
use crate::kit::Scribe;

/// How long the end of an interrupted turn waits for the ends of its commands.
const COMMANDS_END_WITHIN_MS: i64 = 3_000;

/// The end of an interrupted turn, which the driver emits when the turn's commands have ended.
#[derive(Debug)]
pub(super) struct Farewell {
    pub draft: Draft,
    /// The result of the turn's delegation.
    pub result: String,
    /// The number of requests about its commands without an answer.
    pub waiting: usize,
    /// When the driver emits the end in any case.
    pub due: Timestamp,
}

impl Codex {
    /// A turn was interrupted: ends its commands first.
    pub(super) fn end_commands(
        &mut self,
        native: &str,
        name: &str,
        draft: Draft,
        result: String,
        scribe: &mut Scribe<'_>,
    ) {
        let Some(turn) = self.threads.get_mut(native).and_then(|thread| thread.turns.get_mut(name)) else {
            return;
        };
        let runs = turn.items.values().any(|item| item.open);
        let due = scribe.cx.now.plus_millis(COMMANDS_END_WITHIN_MS);
        // The line is kept when it arrives, not when the driver emits the end.
        let draft = if runs { Draft { raw: None, ..draft } } else { draft };
        turn.farewell = Some(Farewell { draft, result, waiting: 1, due });
        if !runs {
            // The list below also finds a command that is only just starting.
            self.bid_farewell(native, name, scribe);
        }
        self.list_terminals(native, name, None, scribe);
    }

    fn list_terminals(&mut self, native: &str, turn: &str, cursor: Option<String>, scribe: &mut Scribe<'_>) {
        let call = CodexCall::Terminals { thread: native.to_owned(), turn: turn.to_owned() };
        let params = json!({"threadId": native, "cursor": cursor});
        self.calls.send("thread/backgroundTerminals/list", params, call, scribe);
    }

    /// The answer to `thread/backgroundTerminals/list`. An older Codex does not know the request.
    pub(super) fn terminals_listed(
        &mut self,
        native: &str,
        name: &str,
        answer: Result<&str, String>,
        scribe: &mut Scribe<'_>,
    ) {
        let listed =
            answer.ok().and_then(|list| serde_json::from_str::<wire::BackgroundTerminals>(list).ok());
        let wire::BackgroundTerminals { data, next_cursor } = listed.unwrap_or_default();
        let Some(thread) = self.threads.get_mut(native) else { return };
        let of_others = |item: &str| {
            thread.turns.iter().any(|(other, turn)| other != name && turn.items.contains_key(item))
        };
        let left: Vec<String> =
            data.into_iter().filter(|one| !of_others(&one.item_id)).map(|one| one.process_id).collect();
        let more = usize::from(next_cursor.is_some());
        if let Some(farewell) = thread.turns.get_mut(name).and_then(|turn| turn.farewell.as_mut()) {
            farewell.waiting = (farewell.waiting + left.len() + more).saturating_sub(1);
        }
        for process in left {
            let call = CodexCall::Terminate { thread: native.to_owned(), turn: name.to_owned() };
            let params = json!({"threadId": native, "processId": process});
            self.calls.send("thread/backgroundTerminals/terminate", params, call, scribe);
        }
        if next_cursor.is_some() {
            self.list_terminals(native, name, next_cursor, scribe);
        } else {
            self.farewell_if_alone(native, name, true, scribe);
        }
    }

    /// The answer to `thread/backgroundTerminals/terminate`. Codex reports the command's end after it.
    pub(super) fn terminal_ended(&mut self, native: &str, name: &str, scribe: &mut Scribe<'_>) {
        let turn = self.threads.get_mut(native).and_then(|thread| thread.turns.get_mut(name));
        if let Some(farewell) = turn.and_then(|turn| turn.farewell.as_mut()) {
            farewell.waiting = farewell.waiting.saturating_sub(1);
        }
        self.farewell_if_alone(native, name, false, scribe);
    }

    /// Emits the end of an interrupted turn if nothing of the turn runs any longer. `listed` says that the
    /// list of terminals is known: an open item that is not a terminal will never end.
    pub(super) fn farewell_if_alone(
        &mut self,
        native: &str,
        name: &str,
        listed: bool,
        scribe: &mut Scribe<'_>,
    ) {
        let turn = self.threads.get(native).and_then(|thread| thread.turns.get(name));
        let Some((turn, farewell)) = turn.and_then(|turn| Some((turn, turn.farewell.as_ref()?))) else {
            return;
        };
        let runs = turn.items.values().any(|item| item.open && matches!(item.what, ItemKind::Tool(_)));
        if farewell.waiting == 0 && (listed || !runs) {
            self.bid_farewell(native, name, scribe);
        }
    }

    /// Emits the end of an interrupted turn and of all its open items.
    fn bid_farewell(&mut self, native: &str, name: &str, scribe: &mut Scribe<'_>) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        let session = thread.session;
        let Some(turn) = thread.turns.get_mut(name) else { return };
        let Some(Farewell { draft, result, .. }) = turn.farewell.take() else { return };
        turn.items.values_mut().for_each(|item| item.open = false);
        scribe.say(session, draft);
        self.delegated_turn_ended(native, TurnOutcome::Interrupted, result, scribe);
    }

    /// Stops waiting for the commands of turns whose deadline has passed.
    pub(super) fn stop_waiting_for_commands(&mut self, scribe: &mut Scribe<'_>) {
        let mut late: Vec<(String, String)> = Vec::new();
        for (native, thread) in &self.threads {
            for (name, turn) in &thread.turns {
                if turn.farewell.as_ref().is_some_and(|farewell| farewell.due <= scribe.cx.now) {
                    late.push((native.clone(), name.clone()));
                }
            }
        }
        late.sort_unstable();
        for (native, name) in late {
            self.bid_farewell(&native, &name, scribe);
        }
    }

    /// Interrupts the child sessions of a session, and their children.
    pub(super) fn interrupt_children(&mut self, of: SessionId, scribe: &mut Scribe<'_>) {
        let mut parents = vec![of];
        let mut working: Vec<(String, String)> = Vec::new();
        while let Some(parent) = parents.pop() {
            for (native, thread) in &self.threads {
                if thread.parent.as_ref().is_some_and(|of| of.session == parent && of.working) {
                    parents.push(thread.session);
                    working.extend(thread.active.clone().map(|turn| (native.clone(), turn)));
                }
            }
        }
        working.sort_unstable();
        for (native, turn) in working {
            self.interrupt(native, turn, scribe);
        }
    }

    /// Codex had no turn to interrupt: it is over, or Codex has taken the prompt and not begun yet.
    pub(super) fn not_interrupted(&mut self, native: &str, name: &str, scribe: &mut Scribe<'_>) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        let Some(turn) = thread.turns.get_mut(name).filter(|turn| !turn.over) else { return };
        if !turn.begun {
            turn.stops_when_begun = true;
            return;
        }
        let Some(id) = turn.id else { return };
        thread.end(name);
        let end = super::turns::interrupted().turn(id).raw(scribe.raw.cloned());
        self.end_commands(native, name, end, String::new(), scribe);
    }
}

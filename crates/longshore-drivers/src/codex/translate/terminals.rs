//! Commands that an interrupted turn left running, and their end.
//!
//! `turn/interrupt` ends a turn and none of its commands: codex keeps those as background terminals. Whoever says stop
//! means them too. So an interrupted turn is told to be over when its commands are: they are listed, terminated, and
//! heard to end. What earlier turns left running runs on; nobody spoke of that.

use longshore_model::driver::Output;
use longshore_model::event::{Draft, Raw};
use longshore_model::id::{Context, SessionId};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::time::Timestamp;
use serde_json::json;

use super::Codex;
use super::calls::CodexCall;
use super::conversation::ItemKind;
use crate::codex::wire;

/// How long the end of an interrupted turn waits for the ends of its commands.
const COMMANDS_END_WITHIN_MS: i64 = 3_000;

/// The end of an interrupted turn, which is told when its commands are gone.
#[derive(Debug)]
pub(super) struct Farewell {
    pub draft: Draft,
    /// What a delegation comes to with it.
    pub result: String,
    /// Requests about its commands that have no answer yet.
    pub waiting: usize,
    /// When it is told in any case.
    pub due: Timestamp,
}

impl Codex {
    /// A turn was interrupted: whatever commands it began end before it is told.
    pub(super) fn end_commands(
        &mut self,
        native: &str,
        name: &str,
        draft: Draft,
        result: String,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(turn) = self.threads.get_mut(native).and_then(|thread| thread.turns.get_mut(name)) else {
            return;
        };
        let runs = turn.items.values().any(|item| item.open);
        let due = cx.now.plus_millis(COMMANDS_END_WITHIN_MS);
        // The line is kept when it comes, not when it is told.
        let draft = if runs { Draft { raw: None, ..draft } } else { draft };
        turn.farewell = Some(Farewell { draft, result, waiting: 1, due });
        if !runs {
            // One that is only just being started is ended all the same.
            self.bid_farewell(native, name, out);
        }
        self.list_terminals(native, name, None, cx, out);
    }

    fn list_terminals(
        &mut self,
        native: &str,
        turn: &str,
        cursor: Option<String>,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let call = CodexCall::Terminals { thread: native.to_owned(), turn: turn.to_owned() };
        let params = json!({"threadId": native, "cursor": cursor});
        self.calls.send("thread/backgroundTerminals/list", params, call, cx, out);
    }

    /// The answer to `thread/backgroundTerminals/list`. An older codex knows none.
    pub(super) fn terminals_listed(
        &mut self,
        native: &str,
        name: &str,
        answer: Result<&str, String>,
        cx: &mut Context<'_>,
        out: &mut Output,
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
            self.calls.send("thread/backgroundTerminals/terminate", params, call, cx, out);
        }
        if next_cursor.is_some() {
            self.list_terminals(native, name, next_cursor, cx, out);
        } else {
            self.farewell_if_alone(native, name, true, out);
        }
    }

    /// The answer to `thread/backgroundTerminals/terminate`; the end of the command is told after it.
    pub(super) fn terminal_ended(&mut self, native: &str, name: &str, out: &mut Output) {
        let turn = self.threads.get_mut(native).and_then(|thread| thread.turns.get_mut(name));
        if let Some(farewell) = turn.and_then(|turn| turn.farewell.as_mut()) {
            farewell.waiting = farewell.waiting.saturating_sub(1);
        }
        self.farewell_if_alone(native, name, false, out);
    }

    /// Tells that an interrupted turn is over when nothing of it runs. `listed` says that what is not waited for is not
    /// there: an open item that is no terminal is none that will be heard of again.
    pub(super) fn farewell_if_alone(&mut self, native: &str, name: &str, listed: bool, out: &mut Output) {
        let turn = self.threads.get(native).and_then(|thread| thread.turns.get(name));
        let Some((turn, farewell)) = turn.and_then(|turn| Some((turn, turn.farewell.as_ref()?))) else {
            return;
        };
        let runs = turn.items.values().any(|item| item.open && matches!(item.what, ItemKind::Tool(_)));
        if farewell.waiting == 0 && (listed || !runs) {
            self.bid_farewell(native, name, out);
        }
    }

    /// Tells that an interrupted turn is over, and with it whatever of it was open.
    fn bid_farewell(&mut self, native: &str, name: &str, out: &mut Output) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        let session = thread.session;
        let Some(turn) = thread.turns.get_mut(name) else { return };
        let Some(Farewell { draft, result, .. }) = turn.farewell.take() else { return };
        turn.items.values_mut().for_each(|item| item.open = false);
        out.say(session, draft);
        self.delegated_turn_ended(native, TurnOutcome::Interrupted, result, out);
    }

    /// The commands of these turns have had their time.
    pub(super) fn stop_waiting_for_commands(&mut self, now: Timestamp, out: &mut Output) {
        let mut late: Vec<(String, String)> = Vec::new();
        for (native, thread) in &self.threads {
            for (name, turn) in &thread.turns {
                if turn.farewell.as_ref().is_some_and(|farewell| farewell.due <= now) {
                    late.push((native.clone(), name.clone()));
                }
            }
        }
        late.sort_unstable();
        for (native, name) in late {
            self.bid_farewell(&native, &name, out);
        }
    }

    /// Those who work for a session stop with it, and those who work for them.
    pub(super) fn interrupt_children(&mut self, of: SessionId, cx: &mut Context<'_>, out: &mut Output) {
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
            self.interrupt(native, turn, cx, out);
        }
    }

    /// There was nothing to interrupt.
    pub(super) fn not_interrupted(
        &mut self,
        native: &str,
        name: &str,
        raw: &Raw,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let Some(thread) = self.threads.get_mut(native) else { return };
        let Some(id) = thread.turns.get(name).filter(|turn| !turn.over).and_then(|turn| turn.id) else {
            return;
        };
        thread.end(name);
        let end = super::turns::interrupted().turn(id).raw(raw.clone());
        self.end_commands(native, name, end, String::new(), cx, out);
    }
}

//! Finds turns of a record that happened elsewhere while the session is one of ours: the size of the record,
//! and the part that our own driver did not report.

use std::collections::HashSet;
use std::sync::Arc;

use longshore_model::anchor::ToldHere;
use longshore_model::event::{Body, Raw};
use longshore_model::id::{PromptId, TurnId};
use longshore_model::lifecycle::NativeId;
use longshore_model::time::Timestamp;
use tokio::sync::oneshot;

use super::index::Key;
use super::served_index::millis;
use super::watch::{RecordSource, RecordStore, Watcher, WatcherShared, lock};
use super::{Reading, RecordReader};

/// Selects the drafts of turns that our own driver did not report. Once there is such a turn, drafts without
/// a turn pass too.
#[derive(Default)]
pub(super) struct OutsideTurns {
    /// What our own driver reported. None lets all drafts through.
    told: Option<ToldHere>,
    /// Whether the record contained a prompt of ours under our id. Then a prompt with another id was sent
    /// elsewhere.
    pub(super) names_prompts: bool,
    outside: HashSet<TurnId>,
}

impl OutsideTurns {
    pub(super) fn but(told: Option<ToldHere>) -> Self {
        Self { told, ..Self::default() }
    }

    /// Notes the prompt with which the last line began a turn. Returns whether it is a prompt of ours.
    pub(super) fn note_prompt(&mut self, prompt: Option<PromptId>) -> bool {
        let prompts = self.told.as_ref().map_or(&[][..], |here| &here.prompts);
        let is_ours = prompt.is_some_and(|prompt| prompts.contains(&prompt));
        self.names_prompts |= is_ours;
        is_ours
    }

    /// Removes the drafts that our own driver reported, from this position on.
    pub(super) fn sift(&mut self, reading: &mut Reading, from: usize) {
        let (prompt, by_program) = (reading.prompt.take(), std::mem::take(&mut reading.by_program));
        let is_ours = self.note_prompt(prompt);
        let Some(here) = &self.told else { return };
        for (at, draft) in reading.drafts.split_off(from.min(reading.drafts.len())) {
            if let (Body::TurnStarted { .. }, Some(turn)) = (&draft.body, draft.turn) {
                let at_the_same_time = self.names_prompts && prompt.is_some() && at > here.since;
                if !is_ours && !by_program && (at > here.until || at_the_same_time) {
                    self.outside.insert(turn);
                }
            }
            let lets_through = match draft.turn {
                Some(turn) => self.outside.contains(&turn),
                None => !self.outside.is_empty(),
            };
            if lets_through {
                reading.drafts.push((at, draft));
            }
        }
    }

    /// Whether our own driver reported everything in these lines.
    pub(super) fn lets_nothing_of(
        &mut self,
        lines: &[Raw],
        reader: &mut dyn RecordReader,
        at: Timestamp,
    ) -> bool {
        let mut reading = Reading { at, ..Reading::default() };
        for line in lines {
            reader.line(line, None, &mut reading);
            self.sift(&mut reading, 0);
        }
        reading.drafts.is_empty()
    }
}

impl Watcher {
    /// The current size of a record. If the agent serves its records, the anchor asks the agent.
    pub(crate) async fn size(&self, agent: &str, native: NativeId) -> Option<u64> {
        let place = self.inner.place_of(agent)?;
        let key = Key { agent: place, native };
        match self.inner.watched.get(place)?.kept {
            RecordStore::Files(_) => {
                let size = |key: Key| {
                    Arc::clone(&self.inner).on_a_thread(move |inner: &WatcherShared| inner.size_now(&key))
                };
                if let Some(size) = size(key.clone()).await.flatten() {
                    return Some(size);
                }
                // The record may be newer than the last look. Only the index is updated, because reporting
                // all found records to the hub may take long.
                Arc::clone(&self.inner).on_a_thread(WatcherShared::changed).await?;
                size(key).await.flatten()
            }
            RecordStore::Served(_) => {
                let asking = self.asking.get(self.inner.served_before(place))?;
                let (caller, done) = oneshot::channel();
                asking.send(caller).await.ok()?;
                // The sender is dropped when the look is done.
                let _ = done.await;
                lock(&self.inner.served_index).times(&key).map(|(_, updated_at)| millis(updated_at))
            }
        }
    }
}

impl WatcherShared {
    /// The position of the source with an agent's records.
    pub(super) fn place_of(&self, agent: &str) -> Option<usize> {
        let keeps = |watched: &RecordSource| {
            watched.agent.name() == agent || watched.sharers.iter().any(|name| name == agent)
        };
        self.watched.iter().position(keeps)
    }

    fn size_now(&self, key: &Key) -> Option<u64> {
        let records = self.watched.get(key.agent)?.records()?;
        lock(&self.index).size_now(key, records)
    }

    /// How many sources before this one are asked.
    fn served_before(&self, agent: usize) -> usize {
        let before = self.watched.iter().take(agent);
        before.filter(|watched| matches!(watched.kept, RecordStore::Served(_))).count()
    }
}

#[cfg(test)]
mod tests {
    use longshore_model::event::Draft;
    use serde_json::json;

    use super::*;
    use crate::claude::import::Transcript;

    const OURS: PromptId = PromptId(uuid(1));
    const THEIRS: PromptId = PromptId(uuid(2));

    const fn uuid(number: u128) -> uuid::Uuid {
        uuid::Uuid::from_u128(number)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    /// The drafts that pass, for lines of turns. A line begins a turn, or adds text to it.
    fn let_through(lines: &[(i64, u128, Option<PromptId>)]) -> Vec<(i64, u128)> {
        let here = ToldHere { until: at(100), since: at(10), prompts: vec![OURS] };
        let mut outside = OutsideTurns::but(Some(here));
        let (mut reading, mut known) = (Reading::default(), HashSet::new());
        for (second, turn, prompt) in lines {
            let from = reading.drafts.len();
            (reading.at, reading.prompt) = (at(*second), *prompt);
            let turn = TurnId(uuid(*turn));
            let body = match known.insert(turn) {
                true => Body::TurnStarted { prompt: None },
                false => Body::MessageDelta,
            };
            reading.say(Draft::new(body).turn(turn));
            outside.sift(&mut reading, from);
        }
        let tell = |(at, draft): &(Timestamp, Draft)| {
            (at.micros() / 1_000_000, draft.turn.map_or(0, |turn| turn.0.as_u128()))
        };
        reading.drafts.iter().map(tell).collect()
    }

    #[test]
    fn a_turn_that_began_while_ours_ran_is_let_through_without_ours() {
        let both = [(20, 1, Some(OURS)), (30, 2, Some(THEIRS)), (40, 1, None), (50, 2, None), (60, 1, None)];
        assert_eq!(let_through(&both), [(30, 2), (50, 2)]);
    }

    #[test]
    fn without_our_own_names_in_the_record_only_the_time_tells() {
        assert_eq!(let_through(&[(20, 1, Some(THEIRS)), (30, 1, None), (101, 2, None)]), [(101, 2)]);
        assert_eq!(let_through(&[(20, 1, None), (30, 1, None)]), []);
    }

    #[test]
    fn what_was_taken_in_before_and_what_our_agent_began_by_itself_is_left_out() {
        let lines = [(5, 1, Some(THEIRS)), (20, 2, Some(OURS)), (30, 3, None), (9, 4, Some(THEIRS))];
        assert_eq!(let_through(&lines), []);
    }

    /// The drafts that pass, for lines of Claude Code. A text that begins with `ours` has the id of our
    /// prompt.
    fn let_through_of_claude(lines: &[(&str, &str)]) -> Vec<String> {
        let here = ToldHere { until: at(100), since: at(10), prompts: vec![OURS] };
        let (mut outside, mut reading) = (OutsideTurns::but(Some(here)), Reading::default());
        let mut reader = Transcript::new("one");
        for (second, (kind, words)) in (20..).zip(lines) {
            let uuid = if words.starts_with("ours") { OURS.0 } else { uuid(second) };
            let timestamp = at(i64::try_from(second).unwrap()).to_string();
            let message = json!({ "content": words, "stop_reason": "end_turn" });
            let line = json!({ "type": kind, "uuid": uuid, "timestamp": timestamp, "message": message });
            let from = reading.drafts.len();
            reader.line(&line.to_string().into(), None, &mut reading);
            outside.sift(&mut reading, from);
        }
        reading.drafts.into_iter().filter_map(|(_, draft)| draft.text).collect()
    }

    #[test]
    fn what_claude_writes_down_for_its_own_commands_is_no_turn_that_somebody_held_elsewhere() {
        let model = [
            ("user", "<local-command-caveat>The command below was run directly.</local-command-caveat>"),
            ("user", "<command-name>/model</command-name>\n<command-args>sonnet</command-args>"),
            ("user", "<local-command-stdout>Set model to sonnet</local-command-stdout>"),
        ];
        let here = [("user", "ours"), ("assistant", "Answer here.")];
        let lines = |more: &[(&'static str, &'static str)]| [&here, &model[..], more].concat();
        assert_eq!(let_through_of_claude(&lines(&[])), [""; 0]);
        let typed = [("user", "typed there"), ("assistant", "Answer there.")];
        assert_eq!(let_through_of_claude(&lines(&typed)), ["typed there", "Answer there."]);
        // The model answers this command.
        let hello = "<command-message>hello</command-message>\n<command-name>/hello</command-name>";
        let command = [("user", hello), ("assistant", "Hello.")];
        assert_eq!(let_through_of_claude(&lines(&command)), ["/hello", "Hello."]);
    }

    #[test]
    fn what_our_agent_wrote_down_and_nobody_heard_is_ours_all_the_same() {
        assert_eq!(let_through(&[(101, 1, Some(OURS)), (102, 1, None)]), []);
    }
}

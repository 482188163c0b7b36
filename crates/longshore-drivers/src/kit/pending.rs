//! A driver's requests that have no answer yet: their numbers, their purposes and their deadlines.

use std::collections::BTreeMap;

use longshore_model::driver::Output;
use longshore_model::id::{QueryId, SessionId};
use longshore_model::time::Timestamp;

/// The purpose of a request, which gives its answer a meaning. Every driver has its own enum.
pub(crate) trait Call {
    /// How long the answer may take. None if it has no deadline.
    fn within_ms(&self) -> Option<i64>;

    /// The hub's question for which the driver sends this request.
    fn query(&self) -> Option<QueryId> {
        None
    }

    /// The session that the request opens.
    fn opens(&self) -> Option<SessionId> {
        None
    }
}

/// A request that has no answer yet.
#[derive(Debug)]
pub(crate) struct PendingCall<C> {
    /// The number of the request.
    pub(crate) number: u64,
    /// The agent's name for this kind of request.
    pub(crate) method: &'static str,
    pub(crate) call: C,
    /// The deadline of the answer.
    pub(crate) due: Option<Timestamp>,
}

/// All requests that have no answer yet.
#[derive(Debug)]
pub(crate) struct Pending<C> {
    last: u64,
    calls: BTreeMap<u64, PendingCall<C>>,
}

impl<C> Default for Pending<C> {
    fn default() -> Self {
        Self { last: 0, calls: BTreeMap::new() }
    }
}

impl<C: Call> Pending<C> {
    /// Adds a request, and returns its number.
    pub(crate) fn add(&mut self, method: &'static str, call: C, now: Timestamp) -> u64 {
        self.last += 1;
        let number = self.last;
        let due = call.within_ms().map(|within| now.plus_millis(within));
        self.calls.insert(number, PendingCall { number, method, call, due });
        number
    }

    /// Removes a request, because its answer is here or nobody waits for it any longer.
    pub(crate) fn take(&mut self, number: u64) -> Option<PendingCall<C>> {
        self.calls.remove(&number)
    }

    /// Removes a request whose deadline has passed.
    pub(crate) fn overdue(&mut self, now: Timestamp) -> Option<PendingCall<C>> {
        let late = *self.calls.iter().find(|(_, pending)| pending.due.is_some_and(|due| due <= now))?.0;
        self.calls.remove(&late)
    }

    /// The next deadline.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.calls.values().filter_map(|pending| pending.due).min()
    }

    /// Sets an earlier deadline for an answer.
    pub(crate) fn hurry(&mut self, number: u64, due: Timestamp) {
        if let Some(pending) = self.calls.get_mut(&number) {
            pending.due.get_or_insert(due);
        }
    }

    /// Whether no request waits for an answer.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// All requests, in the order in which they were sent.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &C> {
        self.calls.values().map(|pending| &pending.call)
    }

    /// All requests with their deadlines, in the order in which they were sent.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut PendingCall<C>> {
        self.calls.values_mut()
    }

    /// Forgets the requests whose answers nobody needs.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&C) -> bool) {
        self.calls.retain(|_, pending| keeps(&pending.call));
    }

    /// The sessions that are being opened.
    pub(crate) fn openings(&self) -> impl Iterator<Item = SessionId> {
        self.calls().filter_map(Call::opens)
    }

    /// Answers the hub's questions with a failure, because no answer will come.
    pub(crate) fn fail_queries(&mut self, reason: &str, out: &mut Output) {
        let queries = self.calls().filter_map(Call::query);
        out.answers.extend(queries.map(|query| (query, Err(reason.to_owned()))));
        self.retain(|call| call.query().is_none());
    }
}

#[cfg(test)]
mod tests {
    use longshore_model::id::{Context, Ids};

    use super::*;

    enum TestCall {
        Hurried,
        Patient,
        Query(QueryId),
    }

    impl Call for TestCall {
        fn within_ms(&self) -> Option<i64> {
            match self {
                TestCall::Hurried => Some(10),
                TestCall::Query(_) => Some(20),
                TestCall::Patient => None,
            }
        }

        fn query(&self) -> Option<QueryId> {
            match self {
                TestCall::Query(query) => Some(*query),
                TestCall::Hurried | TestCall::Patient => None,
            }
        }
    }

    fn after(millis: i64) -> Timestamp {
        Timestamp::from_micros(millis * 1_000)
    }

    #[test]
    fn an_answer_is_overdue_once_and_one_that_may_take_for_ever_never_is() {
        let mut pending = Pending::default();
        let patient = pending.add("wait", TestCall::Patient, after(0));
        pending.add("hurry", TestCall::Hurried, after(0));
        assert_eq!(pending.due(), Some(after(10)));
        assert!(pending.overdue(after(9)).is_none());
        let late = pending.overdue(after(10)).map(|late| late.method);
        assert_eq!((late, pending.due()), (Some("hurry"), None));
        pending.hurry(patient, after(30));
        pending.hurry(patient, after(40));
        assert_eq!(pending.due(), Some(after(30)));
        assert!(pending.take(patient).is_some() && pending.take(patient).is_none());
        assert!(pending.is_empty());
    }

    #[test]
    fn questions_fail_and_other_requests_go_on() {
        let mut pending = Pending::default();
        let query = QueryId::mint(&mut Context { now: after(0), ids: &mut Ids::seeded(1) });
        pending.add("ask", TestCall::Query(query), after(0));
        pending.add("wait", TestCall::Patient, after(0));
        let mut out = Output::default();
        pending.fail_queries("it is gone", &mut out);
        assert_eq!(out.answers, [(query, Err("it is gone".to_owned()))]);
        assert_eq!(pending.calls().count(), 1);
    }
}

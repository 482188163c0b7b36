//! Delegation: an agent gives work to another session, the child, and gets news of it.
//!
//! The child is an ordinary session with its own log and cost. Its approvals and questions are in the same
//! inbox. One task watches the child as long as the call lasts. If the parent's agent stops, the hub stops
//! the child.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use longshore_log::WithRaw;
use longshore_model::anchor::ToAnchor;
use longshore_model::capability::Mode;
use longshore_model::command::{AgentCommand, Command, Prompt, Reply};
use longshore_model::delegation::{ChildNews, DelegationRequest, Task};
use longshore_model::event::{BY_DELEGATION, Body, Event};
use longshore_model::id::{ItemId, Seq, SessionId, TurnId};
use longshore_model::lifecycle::TurnOutcome;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout_at};

use crate::error::HubError;
use crate::hub::{Hub, HubInner};
use crate::opening::OpenRequest;
use crate::subscription::Subscription;

/// How deep delegation may go: a child of the third level delegates no further.
const DEPTH: usize = 3;
/// How many children of one session may work at once.
const AT_ONCE: usize = 4;
/// The most children that may wait for a place.
const WAITING: usize = 32;
/// How often a parent gets its child's output. More often, many children would flood a parent.
const TELL_EVERY: Duration = Duration::from_millis(200);
/// How long a stopped child may take to come to rest.
const REST_WITHIN: Duration = Duration::from_secs(10);

/// The running calls, by parent and by the parent's id of the call.
#[derive(Default)]
pub(crate) struct Delegations {
    /// The places for children that work at once, per parent.
    places: Mutex<HashMap<SessionId, Weak<Semaphore>>>,
    running: Mutex<HashMap<(SessionId, String), oneshot::Sender<RecallReason>>>,
}

/// Why the hub stops a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecallReason {
    /// The parent's agent no longer wants the result.
    ByAgent,
    /// The parent's agent is gone, so nobody waits for the result.
    Orphaned,
}

/// How a child ended.
struct ChildResult {
    outcome: TurnOutcome,
    text: String,
}

impl ChildResult {
    fn failed(text: impl ToString) -> Self {
        Self { outcome: TurnOutcome::Failed, text: text.to_string() }
    }
}

impl Delegations {
    fn lock(&self) -> MutexGuard<'_, HashMap<(SessionId, String), oneshot::Sender<RecallReason>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The places of a session's children. They are dropped when no child works or waits.
    fn places(&self, parent: SessionId) -> Arc<Semaphore> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|_, held| held.strong_count() > 0);
        places.get(&parent).and_then(Weak::upgrade).unwrap_or_else(|| {
            let fresh = Arc::new(Semaphore::new(AT_ONCE));
            places.insert(parent, Arc::downgrade(&fresh));
            fresh
        })
    }

    fn begin(&self, parent: SessionId, call: &str) -> Result<oneshot::Receiver<RecallReason>, ChildResult> {
        let mut running = self.lock();
        if running.keys().filter(|(of, _)| *of == parent).count() >= AT_ONCE + WAITING {
            return Err(ChildResult::failed(format!(
                "{AT_ONCE} delegations are running and {WAITING} are waiting already; wait for one of them to end"
            )));
        }
        if running.contains_key(&(parent, call.to_owned())) {
            return Err(ChildResult::failed(format!("the call {call} is running already")));
        }
        let (recall, recalled) = oneshot::channel();
        running.insert((parent, call.to_owned()), recall);
        Ok(recalled)
    }
}

impl Hub {
    /// Handles what an agent wants from another session.
    pub(crate) fn delegate(&self, parent: SessionId, call: String, request: DelegationRequest) {
        match request {
            DelegationRequest::Begin(task) => {
                let hub = self.clone();
                // On a task of its own: what the agent says next shall not wait for it.
                tokio::spawn(async move { hub.watch_over(parent, call, task).await });
            }
            DelegationRequest::Recall => {
                if let Some(recall) = self.inner.delegations.lock().remove(&(parent, call)) {
                    // It may have ended just now.
                    let _ = recall.send(RecallReason::ByAgent);
                }
            }
        }
    }

    /// Stops the children of a session whose agent is gone.
    pub(crate) fn orphan_children(&self, parent: SessionId) {
        let mut running = self.inner.delegations.lock();
        for (_, recall) in running.extract_if(|(of, _), _| *of == parent) {
            let _ = recall.send(RecallReason::Orphaned);
        }
    }

    async fn watch_over(&self, parent: SessionId, call: String, task: Task) {
        let (ended, told) = match self.inner.delegations.begin(parent, &call) {
            Ok(recalled) => {
                let mut child = Child { hub: self, parent, call: &call, recalled, why: None };
                let ended = child.work_in_turn(task).await;
                let told = child.why != Some(RecallReason::Orphaned);
                self.inner.delegations.lock().remove(&(parent, call.clone()));
                (ended, told)
            }
            Err(ended) => (ended, true),
        };
        if told {
            let ChildResult { outcome, text } = ended;
            self.tell_parent(parent, &call, ChildNews::Ended { outcome, text }).await;
        }
    }

    async fn tell_parent(&self, parent: SessionId, call: &str, news: ChildNews) {
        let command = AgentCommand::Child { call: call.to_owned(), news };
        self.inner.to_anchor(ToAnchor::Tell { session: parent, command }).await;
    }
}

impl HubInner {
    /// Whether a session with this parent is at the deepest level of delegation. If that cannot be
    /// determined, the session learns it when it delegates.
    pub(crate) async fn is_deepest(&self, parent: Option<SessionId>) -> bool {
        self.depth_under(parent).await.is_ok_and(|depth| depth >= DEPTH)
    }

    /// How many sessions are above a session with this parent, up to the limit.
    async fn depth_under(&self, parent: Option<SessionId>) -> Result<usize, HubError> {
        let (mut above, mut depth) = (parent, 0);
        while let Some(session) = above.filter(|_| depth < DEPTH) {
            depth += 1;
            above = self.catalog.session(session).await?.and_then(|info| info.parent);
        }
        Ok(depth)
    }
}

/// One running call.
struct Child<'a> {
    hub: &'a Hub,
    parent: SessionId,
    call: &'a str,
    recalled: oneshot::Receiver<RecallReason>,
    /// Why the hub recalled the call, if it did.
    why: Option<RecallReason>,
}

impl Child<'_> {
    /// Works as soon as there is a place, unless the call is recalled first.
    async fn work_in_turn(&mut self, task: Task) -> ChildResult {
        let places = self.hub.inner.delegations.places(self.parent);
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            why = &mut self.recalled => {
                self.why = Some(why.unwrap_or(RecallReason::Orphaned));
                let text = "it was stopped before its turn came".to_owned();
                return ChildResult { outcome: TurnOutcome::Interrupted, text };
            }
        };
        let ended = self.work(task).await.unwrap_or_else(ChildResult::failed);
        drop(place);
        ended
    }

    async fn work(&mut self, task: Task) -> Result<ChildResult, HubError> {
        let parent = self.hub.session(self.parent).await?;
        if self.hub.inner.depth_under(parent.parent).await? >= DEPTH {
            return Ok(ChildResult::failed(format!("delegation goes {DEPTH} sessions deep and no further")));
        }
        let Task { agent, task, cwd, mode, model } = task;
        let request = OpenRequest {
            agent: agent.to_string(),
            cwd: cwd.unwrap_or(parent.cwd),
            title: None,
            model,
            effort: None,
            mode: Some(at_most(mode.unwrap_or(parent.mode), parent.mode)),
            mcp_servers: parent.mcp_servers,
            key: None,
            session: None,
        };
        let child = self.hub.open_child(request, Some(self.parent)).await?.session_id;
        self.hub.tell_parent(self.parent, self.call, ChildNews::Opened { child, agent }).await;
        let mut heard = self.hub.subscribe(child, Seq::ZERO, WithRaw::No).await?;
        let prompt = Command::Prompt(Prompt { text: task, ..Prompt::default() });
        let reply = self.hub.command(child, prompt, BY_DELEGATION.to_owned()).await?;
        let Reply::Prompted { turn, .. } = reply else {
            return Ok(ChildResult::failed("the child did not take its task"));
        };
        let ended = self.listen(child, turn, &mut heard).await;
        // Its agent has done what it was there for. Whoever wants to go on with it wakes it.
        let info = self.hub.session(child).await?;
        if info.turn.is_none() && info.queue.is_empty() {
            self.hub.inner.to_anchor(ToAnchor::Stop { session: child }).await;
        }
        ended
    }

    /// Listens until the child's turn has ended.
    async fn listen(
        &mut self,
        child: SessionId,
        turn: TurnId,
        heard: &mut Subscription,
    ) -> Result<ChildResult, HubError> {
        let mut speech = Speech::default();
        let mut pace = interval(TELL_EVERY);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut rest_by: Option<Instant> = None;
        loop {
            let patience = rest_by.unwrap_or_else(|| Instant::now() + Duration::from_secs(86_400));
            tokio::select! {
                why = &mut self.recalled, if self.why.is_none() => {
                    self.why = Some(why.unwrap_or(RecallReason::Orphaned));
                    rest_by = Some(Instant::now() + REST_WITHIN);
                    // It may have ended just now.
                    let _ = self.hub.command(child, Command::Recall, BY_DELEGATION.to_owned()).await;
                }
                frames = timeout_at(patience, heard.next()) => {
                    let Ok(frames) = frames else {
                        if rest_by.is_some() {
                            let text = "it was stopped, and did not come to rest in time".to_owned();
                            return Ok(ChildResult { outcome: TurnOutcome::Interrupted, text });
                        }
                        continue;
                    };
                    let mut ended = None;
                    for frame in frames?.iter() {
                        let seq = frame.seq();
                        let event = frame.event().map_err(|source| HubError::Unreadable { seq, source })?;
                        ended = ended.or(speech.hear(event, turn));
                    }
                    if let Some(ended) = ended {
                        self.tell(&mut speech).await;
                        return Ok(ended);
                    }
                }
                _ = pace.tick(), if !speech.unsaid.is_empty() => self.tell(&mut speech).await,
            }
        }
    }

    async fn tell(&self, speech: &mut Speech) {
        let text = std::mem::take(&mut speech.unsaid);
        if !text.is_empty() && self.why.is_none() {
            self.hub.tell_parent(self.parent, self.call, ChildNews::Said { text }).await;
        }
    }
}

/// The output of a child.
#[derive(Default)]
struct Speech {
    /// The part that the parent has not received yet.
    unsaid: String,
    /// The message that grows.
    speaking: Option<ItemId>,
    spoke: bool,
    last: String,
}

impl Speech {
    fn hear(&mut self, event: &Event, turn: TurnId) -> Option<ChildResult> {
        match &event.body {
            Body::MessageDelta => {
                self.begin(event.item);
                self.unsaid.push_str(event.text());
            }
            Body::MessageDone { .. } => {
                if self.speaking != event.item || event.item.is_none() {
                    self.begin(event.item);
                    self.unsaid.push_str(event.text());
                }
                event.text().clone_into(&mut self.last);
            }
            Body::TurnFinished(end) if event.turn == Some(turn) => {
                let said = std::mem::take(&mut self.last);
                let fault = event.text.clone().or_else(|| end.error.as_ref().map(|e| e.message.clone()));
                let text = match (end.outcome, fault) {
                    (TurnOutcome::Completed, _) | (TurnOutcome::Interrupted, None) => said,
                    (TurnOutcome::Failed | TurnOutcome::Interrupted, Some(fault)) => fault,
                    (TurnOutcome::Failed, None) => "it failed and did not say why".to_owned(),
                };
                return Some(ChildResult { outcome: end.outcome, text });
            }
            Body::SessionClosed => {
                let text = "the session was closed".to_owned();
                return Some(ChildResult { outcome: TurnOutcome::Interrupted, text });
            }
            _ => {}
        }
        None
    }

    /// Separates a new message from the previous one.
    fn begin(&mut self, item: Option<ItemId>) {
        if self.speaking != item || item.is_none() {
            if self.spoke {
                self.unsaid.push_str("\n\n");
            }
            self.speaking = item;
            self.spoke = true;
        }
    }
}

/// The stricter of two modes.
fn at_most(wanted: Mode, allowed: Mode) -> Mode {
    let rank = |mode| match mode {
        Mode::Plan => 0,
        Mode::Ask => 1,
        Mode::AutoEdit => 2,
        Mode::Full => 3,
    };
    if rank(wanted) <= rank(allowed) { wanted } else { allowed }
}

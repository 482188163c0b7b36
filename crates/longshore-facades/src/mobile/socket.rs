//! A connection of the app: which sessions it shows and follows, and how much of each it has received.
//!
//! A session is followed from the moment when the app asks for its history, because messages before the history would
//! make the app drop the history. What is sent is followed by a ping with a number; its pong shows what has arrived. A
//! phone that comes back gets the rest, however its last connection ended.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use longshore_model::frame::Frame;
use longshore_model::id::{Seq, SessionId};
use longshore_model::info::SessionInfo;
use longshore_model::time::Timestamp;
use longshore_session::{HubError, Subscription};
use tokio::time::Instant;

use super::client::{Beginning, MobileClient};
use super::dialect::{frames_of, open_permissions, withdraws};
use super::requests;
use super::wire::{ClientFrame, ServerFrame};
use crate::gate::Gate;
use crate::intake::limit_of;
use crate::kernel::{Attached, ClientMessage, Follower, LinkState, Protocol, RowChange, Step, Steps};

/// How long the app may be silent. It pings every 45 s.
const IDLE: Duration = Duration::from_secs(30 * 60);
/// How long the app may take to ask for histories, before the hub follows its sessions without.
const HISTORIES_WITHIN: Duration = Duration::from_secs(5);
/// The most pings without a pong; beyond that, what has arrived is known later.
const PINGS: usize = 256;
/// How often the app hears that a tool still works.
const PROGRESS_EVERY_MS: u64 = 1_000;

/// Close codes of the protocol.
const IDLE_TOO_LONG: (u16, &str) = (4009, "Idle timeout");
const SUPERSEDED: (u16, &str) = (4010, "Superseded by new connection");
const TOO_LARGE: (u16, &str) = (1009, "the message is too large");

/// How a device signed in.
pub(super) struct Welcome {
    /// Its own name for itself.
    pub(super) device_id: String,
    /// Whether it was paired just now.
    pub(super) is_new: bool,
    /// The hub's signature of what it signed in with.
    pub(super) signature: Option<String>,
}

pub(super) struct MobileSocket {
    client: Arc<MobileClient>,
    views: HashMap<SessionId, SessionView>,
    /// The pings without a pong: which session had been sent up to where.
    pings: VecDeque<(u64, SessionId, Seq)>,
    last_ping: u64,
}

/// A session that the connection follows.
struct SessionView {
    info: SessionInfo,
    follower: Follower,
    /// Until here, the app only missed what happened.
    missed_until: Seq,
    /// When the app last heard that a tool still works.
    progress_at: Option<Timestamp>,
}

impl MobileSocket {
    pub(super) fn begin(gate: Gate, welcome: Welcome) -> (Self, Steps) {
        let Welcome { device_id, is_new, signature } = welcome;
        let client = Arc::new(MobileClient::new(gate, is_new));
        let mut steps = Steps::default();
        steps.push(Step::Watch(true));
        steps.call(Arc::clone(&client).connect(device_id, signature));
        if let Some(device) = client.gate.caller().device() {
            let superseded = client.door().supersede(device);
            steps.call(async move {
                match superseded.await {
                    Ok(()) => Steps::from_iter([Step::Close(SUPERSEDED.0, SUPERSEDED.1)]),
                    // A connection that never comes.
                    Err(_) => std::future::pending().await,
                }
            });
        }
        let idle = Arc::clone(&client);
        steps.call(async move {
            loop {
                let until = idle.heard_at() + IDLE;
                if until <= Instant::now() {
                    return Steps::from_iter([Step::Close(IDLE_TOO_LONG.0, IDLE_TOO_LONG.1)]);
                }
                tokio::time::sleep_until(until).await;
            }
        });
        let late = Arc::clone(&client);
        steps.call(async move {
            tokio::time::sleep(HISTORIES_WITHIN).await;
            late.follow_the_rest()
        });
        (Self { client, views: HashMap::new(), pings: VecDeque::new(), last_ping: 0 }, steps)
    }

    /// Lets the app confirm what it has received of a session.
    fn confirm(&mut self, session: SessionId, seq: Seq, steps: &mut Steps) {
        if self.pings.len() < PINGS {
            self.last_ping += 1;
            self.pings.push_back((self.last_ping, session, seq));
            steps.push(Step::Ping(self.last_ping.to_be_bytes().to_vec()));
        }
    }

    fn send(&self, frame: &ServerFrame, steps: &mut Steps) {
        steps.send(self.client.text(frame));
    }
}

impl Protocol for MobileSocket {
    const DISMISSED: (u16, &'static str) = (4401, "this phone was revoked, or the owner's token changed");

    fn received(&mut self, message: ClientMessage<'_>, _: &LinkState, steps: &mut Steps) {
        self.client.is_heard();
        let text = match message {
            ClientMessage::Text(text) => text,
            ClientMessage::Binary(bytes) => {
                let error = format!("this socket accepts only text, not {} bytes", bytes.len());
                return self.send(&ServerFrame::error(error), steps);
            }
        };
        if text.len() > limit_of(self.client.gate.caller()) {
            return steps.push(Step::Close(TOO_LARGE.0, TOO_LARGE.1));
        }
        let frame = match serde_json::from_str::<ClientFrame>(text) {
            Ok(frame) => frame,
            Err(error) => {
                return self
                    .send(&ServerFrame::error(format!("the message is not understood: {error}")), steps);
            }
        };
        match frame {
            ClientFrame::Ping => self.send(&ServerFrame::Pong, steps),
            ClientFrame::ListAgents => {
                self.send(&ServerFrame::AgentList { agents: self.client.shown().all() }, steps);
            }
            ClientFrame::Other => {}
            ClientFrame::GetHistory { agent_id } => {
                let Ok(session) = agent_id.parse::<SessionId>() else {
                    return self.send(&ServerFrame::unknown_agent(), steps);
                };
                let client = Arc::clone(&self.client);
                match self.client.begins(session) {
                    true => steps.call_in_order(session, client.attach(session, Beginning::History)),
                    false => match self.client.slot() {
                        Some(slot) => steps.call_in_order(session, async move {
                            let steps = client.history_again(session).await;
                            drop(slot);
                            steps
                        }),
                        None => self.send(&ServerFrame::too_many(), steps),
                    },
                }
            }
            request @ (ClientFrame::CreateAgent { .. }
            | ClientFrame::DestroyAgent { .. }
            | ClientFrame::SendMessage { .. }
            | ClientFrame::InterruptAgent { .. }
            | ClientFrame::RespondPermission { .. }
            | ClientFrame::SetAutoApprove { .. }
            | ClientFrame::ListModels { .. }
            | ClientFrame::ListProjects
            | ClientFrame::UnregisterProject { .. }
            | ClientFrame::CreateWorktree { .. }
            | ClientFrame::RemoveWorktree { .. }
            | ClientFrame::GetGitStatus { .. }
            | ClientFrame::GetGitDiff { .. }
            | ClientFrame::GetWorktreeStatus { .. }
            | ClientFrame::GetWorktreeDiff { .. }
            | ClientFrame::GetGitLog { .. }
            | ClientFrame::ListSkills
            | ClientFrame::GetSkill
            | ClientFrame::UpdateSkill
            | ClientFrame::SearchSkills
            | ClientFrame::InstallSkill { .. }) => {
                let Some(slot) = self.client.slot() else {
                    return self.send(&ServerFrame::too_many(), steps);
                };
                let (client, lane) = (Arc::clone(&self.client), request.lane());
                let work = async move {
                    let frames = requests::answer(&client, request).await;
                    let mut steps = Steps::default();
                    for frame in &frames {
                        steps.push(client.send_held(frame).await);
                    }
                    drop(slot);
                    steps
                };
                match lane {
                    Some(session) => steps.call_in_order(session, work),
                    None => steps.call(work),
                }
            }
        }
    }

    fn attached(&mut self, attached: &mut Attached, steps: &mut Steps) {
        let session = attached.info.session_id;
        let view = SessionView {
            info: attached.info.clone(),
            follower: std::mem::take(&mut attached.follower),
            missed_until: self.client.told_until(session),
            progress_at: None,
        };
        let sent = attached.subscription.cursor();
        self.client.is_sent(session, sent);
        self.views.insert(session, view);
        self.confirm(session, sent, steps);
    }

    fn frames(&mut self, subscription: &Subscription, frames: &[Frame], steps: &mut Steps) {
        let session = subscription.session();
        let Some(view) = self.views.get_mut(&session) else { return };
        let (mut told, mut sent) = (Vec::new(), None);
        for event in frames.iter().filter_map(|frame| frame.event().ok()) {
            let is_missed = event.seq <= view.missed_until;
            let is_withdrawn = withdraws(event) && !is_missed;
            let change = view.follower.apply(event);
            told.extend(frames_of(&view.info, event, change, is_missed));
            if is_withdrawn {
                let pending_permissions = open_permissions(view.follower.timeline(), &view.info.provider);
                let agent_id = session.to_string();
                told.push(ServerFrame::AgentHistory { agent_id, messages: Vec::new(), pending_permissions });
            }
            sent = Some((event.seq, event.at));
        }
        let Some((sent, now)) = sent else { return };
        let is_due = |at: Timestamp| now.millis_since(at) >= PROGRESS_EVERY_MS;
        told.retain(|frame| match frame {
            ServerFrame::ToolProgress { .. } => {
                let keep = view.progress_at.is_none_or(is_due);
                view.progress_at = if keep { Some(now) } else { view.progress_at };
                keep
            }
            _ => true,
        });
        self.client.is_sent(session, sent);
        // A piece of a bubble is confirmed with the whole message.
        let whole = told.iter().any(|frame| !matches!(frame, ServerFrame::StreamChunk { .. }));
        told.iter().for_each(|frame| self.send(frame, steps));
        if whole {
            self.confirm(session, sent, steps);
        }
    }

    fn pong(&mut self, payload: &[u8]) {
        let Ok(number) = <[u8; 8]>::try_from(payload).map(u64::from_be_bytes) else { return };
        let arrived = self.pings.iter().take_while(|(ping, ..)| *ping <= number).count();
        for (_, session, seq) in self.pings.drain(..arrived) {
            self.client.has_received(session, seq);
        }
    }

    fn lost(&mut self, session: SessionId, after: Seq, error: HubError, steps: &mut Steps) {
        self.views.remove(&session);
        match error {
            HubError::UnknownSession => self.client.ends(session),
            _ => steps
                .call_in_order(session, Arc::clone(&self.client).attach(session, Beginning::After(after))),
        }
    }

    fn row(&mut self, change: RowChange, steps: &mut Steps) {
        if !self.client.is_open() {
            return;
        }
        match change {
            RowChange::Row(info) => {
                if let Some(view) = self.views.get_mut(&info.session_id) {
                    view.info.clone_from(&info);
                }
                self.client.take_row(&info).into_iter().for_each(|step| steps.push(step));
                if !self.client.shown().has(info.session_id) {
                    self.views.remove(&info.session_id);
                }
            }
            RowChange::Erased(session) => {
                self.views.remove(&session);
                self.client.ends(session);
                let gone = self.client.shown().forget(session);
                gone.iter().for_each(|frame| self.send(frame, steps));
            }
            RowChange::Lagged => steps.call(Arc::clone(&self.client).list_again()),
        }
    }
}

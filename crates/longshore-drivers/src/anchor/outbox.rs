//! Messages of one agent process to the hub that the hub has not taken yet.
//!
//! While a message waits here, the anchor does not read the agent's output: the pipe fills and the agent
//! waits. The driver may still add drafts for a command or a tick; they line up behind, so the order per
//! session holds.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use longshore_model::anchor::FromAnchor;
use longshore_model::event::Draft;
use longshore_model::id::SessionId;

use super::{Deliver, pictures};

pub(crate) struct Outbox {
    deliver: Deliver,
    waiting: VecDeque<FromAnchor>,
    delivery: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Outbox {
    pub(crate) fn new(deliver: Deliver) -> Self {
        Self { deliver, waiting: VecDeque::new(), delivery: None }
    }

    /// Adds a draft for a session. The draft joins the last message of that session, unless a later message
    /// says that the session's agent is gone.
    pub(crate) fn say(&mut self, session: SessionId, draft: Draft) {
        for message in self.waiting.iter_mut().rev() {
            match message {
                FromAnchor::Said { session: other, drafts } if *other == session => {
                    return drafts.push(draft);
                }
                FromAnchor::Gone { session: other, .. } if *other == session => break,
                FromAnchor::Said { .. }
                | FromAnchor::Gone { .. }
                | FromAnchor::Delegate { .. }
                | FromAnchor::FoundPast { .. }
                | FromAnchor::ReadPast { .. }
                | FromAnchor::Answer { .. } => {}
            }
        }
        self.waiting.push_back(FromAnchor::Said { session, drafts: vec![draft] });
    }

    /// Adds any other message.
    pub(crate) fn send(&mut self, message: FromAnchor) {
        self.waiting.push_back(message);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.delivery.is_none()
    }

    /// Delivers one message. The future may be dropped, and the function called again. It never returns if
    /// there is nothing to deliver.
    pub(crate) async fn deliver_next(&mut self) {
        if self.delivery.is_none() {
            let Some(mut message) = self.waiting.pop_front() else { return std::future::pending().await };
            self.delivery = Some(match pictures::has_any(&mut message) {
                false => (self.deliver)(message),
                true => {
                    let deliver = Arc::clone(&self.deliver);
                    Box::pin(async move {
                        pictures::look_at(&mut message).await;
                        deliver(message).await;
                    })
                }
            });
        }
        if let Some(delivery) = &mut self.delivery {
            delivery.await;
        }
        self.delivery = None;
    }

    /// Delivers all.
    pub(crate) async fn deliver_all(&mut self) {
        while !self.is_empty() {
            self.deliver_next().await;
        }
    }
}

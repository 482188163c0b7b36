//! Answers and events on their way to clients: how many bytes the hub holds, and for whom.
//!
//! The hub makes nothing large before there is room for it, and it keeps nothing large while it waits for room: it makes
//! the same again. So a client that asks for much and reads nothing makes only its own device wait.
//!
//! | bound | what happens there |
//! |---|---|
//! | [`PAGES`] | a connection waits until what it was sent before has left the hub |
//! | [`HELD_OF_ONE`], [`HELD_OF_DEVICES`](crate::ledger::HELD_OF_DEVICES), [`HELD`](crate::ledger::HELD) | a device waits until its connections, or those of others, have read more |
//!
//! What is no longer than [`UNCOUNTED`] never waits.

use std::sync::Arc;

use longshore_model::frame::Frame;
use longshore_model::id::DeviceId;
use longshore_session::{Frames, HubError, PAGE_BYTES, Subscription};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::ledger::{ByteLedger, HELD_OF_ONE};

/// How many large answers or pages of events one connection may have on their way.
pub const PAGES: usize = 2;
/// What counts for nothing.
pub const UNCOUNTED: usize = 64 << 10;

/// The bytes of all clients.
#[derive(Debug, Default)]
pub(crate) struct Outgo {
    ledger: ByteLedger,
    freed: Notify,
}

/// The bytes of one connection.
#[derive(Clone, Debug)]
pub(crate) struct OutgoAccount {
    outgo: Arc<Outgo>,
    of: Option<DeviceId>,
    pages: Arc<Semaphore>,
}

/// Room for some bytes. Dropping it gives the room back.
#[derive(Debug)]
pub(crate) struct OutgoShare {
    account: OutgoAccount,
    counted: usize,
    page: Option<OwnedSemaphorePermit>,
}

impl Outgo {
    /// Opens the account of a connection.
    pub(crate) fn account(self: &Arc<Self>, of: Option<DeviceId>) -> OutgoAccount {
        OutgoAccount { outgo: Arc::clone(self), of, pages: Arc::new(Semaphore::new(PAGES)) }
    }

    /// How many bytes are on their way.
    pub(crate) fn bytes(&self) -> usize {
        self.ledger.sum()
    }
}

impl OutgoAccount {
    /// Waits for room.
    pub(crate) async fn room(&self, bytes: usize) -> OutgoShare {
        let mut share = OutgoShare { account: self.clone(), counted: 0, page: None };
        if counted(bytes) == 0 {
            return share;
        }
        // The semaphore is never closed.
        share.page = Arc::clone(&self.pages).acquire_owned().await.ok();
        loop {
            let freed = self.outgo.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if share.resize(bytes) {
                return share;
            }
            freed.await;
        }
    }
}

impl OutgoShare {
    /// Makes the room larger or smaller; returns false if there is no room for so much.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        let (before, now) = (self.counted, counted(bytes));
        let OutgoAccount { outgo, of, pages } = &self.account;
        if now > before {
            if self.page.is_none() {
                self.page = Arc::clone(pages).try_acquire_owned().ok();
            }
            if self.page.is_none() || !outgo.ledger.take(*of, now - before) {
                return false;
            }
        } else if now < before {
            outgo.ledger.give_back(*of, before - now);
            outgo.freed.notify_waiters();
        }
        self.counted = now;
        if now == 0 {
            self.page = None;
        }
        true
    }
}

impl Drop for OutgoShare {
    fn drop(&mut self) {
        self.resize(0);
    }
}

/// Something that is larger than a device's whole room takes all of the room.
fn counted(bytes: usize) -> usize {
    if bytes > UNCOUNTED { bytes.min(HELD_OF_ONE) } else { 0 }
}

/// A text on its way, with the room that it takes.
pub(crate) struct OutgoText {
    text: String,
    _share: OutgoShare,
}

impl OutgoText {
    pub(crate) fn new(text: String, share: OutgoShare) -> Self {
        Self { text, _share: share }
    }
}

impl AsRef<[u8]> for OutgoText {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// A subscription that reads the log only when there is room for what it reads.
pub(crate) struct OutgoSubscription {
    subscription: Subscription,
    account: OutgoAccount,
}

impl OutgoSubscription {
    pub(crate) fn new(subscription: Subscription, account: OutgoAccount) -> Self {
        Self { subscription, account }
    }

    /// The subscription itself.
    pub(crate) fn of(&self) -> &Subscription {
        &self.subscription
    }

    /// Returns the next frames with their room. Cancelling it loses nothing.
    pub(crate) async fn next(&mut self) -> Result<(Frames, OutgoShare), HubError> {
        let mut known = 0;
        loop {
            self.subscription.ready().await?;
            // All followers share the frames in memory. A page of the log is read for this subscription alone.
            let least = if self.subscription.is_in_memory() { 0 } else { PAGE_BYTES };
            let mut share = self.account.room(least.max(known)).await;
            let frames = self.subscription.peek().await?;
            let bytes = bytes_of(&frames);
            if share.resize(bytes) {
                self.subscription.advance(&frames);
                return Ok((frames, share));
            }
            known = bytes;
        }
    }
}

/// The bytes of frames as a client gets them.
pub(crate) fn bytes_of(frames: &[Frame]) -> usize {
    frames.iter().map(|frame| frame.json().len() + frame.raw().map_or(0, |raw| raw.len())).sum()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const PAGE: usize = 8 << 20;

    fn device(name: &str) -> Option<DeviceId> {
        Some(DeviceId::of_words(&[name]))
    }

    #[test]
    fn a_device_waits_for_its_own_clients_and_nobody_waits_for_them() {
        let outgo = Arc::new(Outgo::default());
        let room = |of: Option<DeviceId>| outgo.account(of).room(PAGE).now_or_never();
        let mut phones: Vec<_> = (0..HELD_OF_ONE / PAGE).map(|_| room(device("phone")).unwrap()).collect();
        assert!(room(device("phone")).is_none(), "that is the room of one device");
        assert!(
            outgo.account(device("phone")).room(UNCOUNTED).now_or_never().is_some(),
            "short answers go on"
        );
        assert!(room(device("tablet")).is_some() && room(None).is_some());

        let account = outgo.account(device("phone"));
        let mut next = Box::pin(account.room(PAGE));
        assert!((&mut next).now_or_never().is_none());
        phones.pop();
        assert!((&mut next).now_or_never().is_some(), "it goes on when a client has read");
        drop((next, phones));
        assert_eq!(outgo.bytes(), 0);
    }

    #[test]
    fn a_connection_has_few_pages_on_their_way() {
        let account = Arc::new(Outgo::default()).account(None);
        let mut pages: Vec<_> = (0..PAGES).map(|_| account.room(PAGE).now_or_never().unwrap()).collect();
        assert!(account.room(PAGE).now_or_never().is_none());
        assert!(account.room(0).now_or_never().is_some_and(|mut share| !share.resize(PAGE)));
        assert!(pages[0].resize(UNCOUNTED), "it was smaller than expected");
        assert!(account.room(PAGE).now_or_never().is_some());
    }

    #[test]
    fn what_is_larger_than_all_room_goes_alone() {
        let outgo = Arc::new(Outgo::default());
        let huge = outgo.account(device("phone")).room(10 * HELD_OF_ONE).now_or_never();
        assert!(huge.is_some());
        assert!(outgo.account(device("phone")).room(PAGE).now_or_never().is_none());
        drop(huge);
        assert!(outgo.account(device("phone")).room(PAGE).now_or_never().is_some());
    }
}

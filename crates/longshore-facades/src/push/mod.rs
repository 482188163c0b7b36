//! Web Push: reaches the devices of a person also when none of our pages is open.
//!
//! | module | holds |
//! |---|---|
//! | `watch` | which changes of sessions are worth a push |
//! | `message` | the content of a push |
//! | `seal` | the encryption, for one browser only (RFC 8291) |
//! | `vapid` | the hub's identity for push services (RFC 8292) |
//! | `post` | the delivery to a push service |
//!
//! At most [`QUEUE`] pushes wait; the hub drops a further one, with a warning. [`AT_ONCE`] pushes are under way at once,
//! and each is tried up to [`TRIES`] times.

mod message;
mod post;
mod seal;
mod vapid;
mod watch;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use longshore_model::device::{PushSubscription, StoredPush};
use longshore_model::id::DeviceId;
use longshore_session::{Hub, HubError};
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use tracing::{debug, info, warn};

pub use message::{PushAction, PushKind, PushMessage};

pub(crate) use message::request_text;
pub use post::Outlet;
pub use vapid::Vapid;

use crate::again;
use crate::auth::{Access, Keys};
use crate::presence::Presence;
use crate::problem::Problem;
use post::{Parcel, Post, PushReply};
use seal::Receiver;

/// The most pushes that may wait.
pub const QUEUE: usize = 256;
/// The most pushes under way at once.
pub const AT_ONCE: usize = 8;
/// The most tries of one push.
pub const TRIES: u32 = 3;
/// The first pause between tries; each further pause is four times as long.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest pause that a push service may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The most browsers of one device; the hub refuses more.
const BROWSERS: usize = 16;

/// Why the hub could not send a push.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The hub cannot read its push keys.
    #[error("{path} contains no key for pushes; remove it, and subscribe again on every device")]
    BadKeys {
        /// The file of the keys.
        path: PathBuf,
    },
    /// The system has no randomness.
    #[error("the system gives no random bytes")]
    NoRandomness,
    /// The browser's subscription makes no sense.
    #[error("this is not a push subscription: {0}")]
    BadSubscription(&'static str),
    /// The message is too long.
    #[error("the push is too long")]
    TooLong,
    /// The hub cannot reach the push service.
    #[error("cannot reach the push service: {0}")]
    Unreachable(String),
    /// The hub cannot read or write its push keys.
    #[error("the key for pushes at {path}: {source}")]
    File {
        /// The file of the keys.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// Sends pushes to devices.
pub(crate) struct Push {
    hub: Hub,
    keys: Arc<Keys>,
    presence: Arc<Presence>,
    vapid: Vapid,
    outlet: Outlet,
    post: Post,
    queue: mpsc::Sender<(StoredPush, PushMessage)>,
    /// The tasks that watch sessions and send pushes.
    tasks: OnceLock<[AbortHandle; 2]>,
    /// Endpoints that are forgotten but still in the log.
    forgotten: Mutex<HashSet<String>>,
    /// Locked while a subscription is written, so that none is deleted that was just renewed.
    writing: tokio::sync::Mutex<()>,
}

impl Push {
    /// Starts to watch sessions and to send pushes.
    pub(crate) fn start(
        hub: Hub,
        keys: Arc<Keys>,
        presence: Arc<Presence>,
        vapid: Vapid,
        outlet: Outlet,
    ) -> Result<Arc<Self>, PushError> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let changes = hub.changes();
        let (post, tasks) = (Post::new(outlet)?, OnceLock::new());
        let (forgotten, writing) = Default::default();
        let push =
            Arc::new(Self { hub, keys, presence, vapid, outlet, post, queue, tasks, forgotten, writing });
        let watching = tokio::spawn(watch::Watch::new(Arc::clone(&push)).run(changes));
        let sending = tokio::spawn(Arc::clone(&push).send_all(waiting));
        push.tasks.get_or_init(|| [watching.abort_handle(), sending.abort_handle()]);
        Ok(push)
    }

    /// Stops watching, because the hub and its log end.
    pub(crate) fn stop(&self) {
        for task in self.tasks.get().into_iter().flatten() {
            task.abort();
        }
    }

    /// The key with which browsers subscribe.
    pub(crate) fn public_key(&self) -> String {
        self.vapid.public_key()
    }

    /// Stores the subscription of a device's browser.
    pub(crate) async fn subscribe(
        &self,
        device: Option<DeviceId>,
        subscription: PushSubscription,
    ) -> Result<(), Problem> {
        let invalid = |error: PushError| Problem::invalid(error.to_string());
        post::address(&subscription.endpoint, self.outlet).map_err(invalid)?;
        Receiver::read(&subscription.keys).map_err(invalid)?;
        let _turn = self.writing.lock().await;
        let known = self.known().await?;
        let is_taken =
            |push: &StoredPush| push.device != device && push.subscription.endpoint == subscription.endpoint;
        // A browser that was paired anew brings the keys that it had. Whoever only knows where it is woken does not.
        if known.iter().any(|push| is_taken(push) && !same_keys(&push.subscription, &subscription)) {
            return Err(Problem::push_taken());
        }
        let others =
            |push: &&StoredPush| push.device == device && push.subscription.endpoint != subscription.endpoint;
        if known.iter().filter(others).count() >= BROWSERS {
            return Err(Problem::invalid(format!(
                "this device already has {BROWSERS} push subscriptions; unsubscribe one"
            )));
        }
        let endpoint = subscription.endpoint.clone();
        self.hub.put_push(StoredPush { device, subscription }).await?;
        self.forgotten().remove(&endpoint);
        Ok(())
    }

    /// Deletes the subscriptions of one browser of a device, or of all. They get no pushes from now on; if
    /// the log cannot record that, the hub tries again.
    pub(crate) async fn unsubscribe(
        self: &Arc<Self>,
        device: Option<DeviceId>,
        endpoint: Option<&str>,
    ) -> Result<(), HubError> {
        let mut gone = self.of(device).await?;
        gone.retain(|push| endpoint.is_none_or(|endpoint| endpoint == push.subscription.endpoint));
        self.forget(gone.into_iter().map(|push| push.subscription.endpoint).collect()).await
    }

    async fn forget(self: &Arc<Self>, endpoints: Vec<String>) -> Result<(), HubError> {
        let was_empty = {
            let mut forgotten = self.forgotten();
            let was_empty = forgotten.is_empty();
            forgotten.extend(endpoints);
            was_empty
        };
        let dropped = self.drop_forgotten().await;
        if was_empty && dropped.is_err() {
            again::until_done(
                Arc::downgrade(self),
                |push| async move { push.drop_forgotten().await.is_ok() },
            );
        }
        dropped
    }

    /// Deletes the forgotten subscriptions from the log.
    async fn drop_forgotten(&self) -> Result<(), HubError> {
        let _turn = self.writing.lock().await;
        let forgotten: Vec<String> = self.forgotten().iter().cloned().collect();
        for endpoint in forgotten {
            self.hub.drop_push(endpoint.clone()).await?;
            self.forgotten().remove(&endpoint);
        }
        Ok(())
    }

    fn forgotten(&self) -> MutexGuard<'_, HashSet<String>> {
        self.forgotten.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All subscriptions.
    async fn known(&self) -> Result<Vec<StoredPush>, HubError> {
        let mut known = self.hub.pushes().await?;
        let forgotten = self.forgotten();
        known.retain(|push| !forgotten.contains(&push.subscription.endpoint));
        Ok(known)
    }

    /// Deletes all subscriptions of a revoked device.
    pub(crate) async fn forget_device(self: &Arc<Self>, device: DeviceId) -> Result<(), HubError> {
        self.unsubscribe(Some(device), None).await
    }

    /// Sends a test push to all browsers of a device, and returns their number.
    pub(crate) async fn test(&self, device: Option<DeviceId>) -> Result<usize, Problem> {
        let own = self.of(device).await?;
        if own.is_empty() {
            return Err(Problem::no_push());
        }
        let sent = own.len();
        for push in own {
            self.enqueue(push, PushMessage::test());
        }
        Ok(sent)
    }

    async fn of(&self, device: Option<DeviceId>) -> Result<Vec<StoredPush>, HubError> {
        let mut all = self.known().await?;
        all.retain(|push| push.device == device);
        Ok(all)
    }

    /// Sends a push to every device whose screen does not show the session.
    async fn tell(&self, message: &PushMessage) -> Result<(), HubError> {
        for push in self.known().await? {
            let sees = message.session.is_some_and(|session| self.presence.sees(push.device, session));
            // A device that was revoked in the very moment in which it subscribed is told nothing.
            if sees || !self.keys.may(push.device, Access::Read) {
                continue;
            }
            let message = match self.keys.may(push.device, Access::Decide) {
                true => message.clone(),
                false => message.without_actions(),
            };
            self.enqueue(push, message);
        }
        Ok(())
    }

    fn enqueue(&self, push: StoredPush, message: PushMessage) {
        if self.queue.try_send((push, message)).is_err() {
            warn!(waiting = QUEUE, "too many pushes wait: one is dropped");
        }
    }

    async fn send_all(self: Arc<Self>, mut waiting: mpsc::Receiver<(StoredPush, PushMessage)>) {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        while let Some((push, message)) = waiting.recv().await {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
            let sender = Arc::clone(&self);
            tokio::spawn(async move {
                sender.deliver(&push, &message).await;
                drop(place);
            });
        }
    }

    /// Tries until the push service accepts or refuses the push, or until there were enough tries.
    async fn deliver(self: &Arc<Self>, push: &StoredPush, message: &PushMessage) {
        let mut pause = PAUSE;
        for left in (0..TRIES).rev() {
            let wait = match self.try_once(push, message).await {
                Ok(PushReply::Taken) => return debug!(kind = ?message.kind, "a push was taken"),
                Ok(PushReply::Gone) => {
                    info!("a browser wants no more pushes");
                    if let Err(error) = self.forget(vec![push.subscription.endpoint.clone()]).await {
                        warn!(%error, "a push subscription cannot be forgotten");
                    }
                    return;
                }
                Ok(PushReply::Refused(status)) => return warn!(status, "a push service refused a push"),
                Ok(PushReply::Later(wait)) => wait.unwrap_or(pause),
                Err(error) => {
                    debug!(%error, left, "a push was not sent");
                    pause
                }
            };
            if left > 0 {
                tokio::time::sleep(wait.min(LONGEST_PAUSE)).await;
                pause *= 4;
            }
        }
        warn!(tries = TRIES, "a push was given up");
    }

    async fn try_once(&self, push: &StoredPush, message: &PushMessage) -> Result<PushReply, PushError> {
        let to = post::address(&push.subscription.endpoint, self.outlet)?;
        let json = serde_json::to_vec(&message.with_aliases()).map_err(|_| PushError::TooLong)?;
        if json.len() > seal::LONGEST {
            return Err(PushError::TooLong);
        }
        let body = Receiver::read(&push.subscription.keys)?.seal(&json)?;
        let now_s = self.hub.now().micros() / 1_000_000;
        let authorization = self.vapid.authorization(&post::audience(&to), now_s)?;
        self.post.send(Parcel { to, authorization, urgent: message.kind.is_urgent(), body }).await
    }
}

/// Whether both have the keys of the same browser, one of which only the browser and the hub know.
fn same_keys(known: &PushSubscription, offered: &PushSubscription) -> bool {
    let same = |known: &str, offered: &str| bool::from(known.as_bytes().ct_eq(offered.as_bytes()));
    same(&known.keys.auth, &offered.keys.auth) && same(&known.keys.p256dh, &offered.keys.p256dh)
}

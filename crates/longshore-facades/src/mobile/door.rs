//! What the hub remembers of phones between their connections: pairing tokens, used nonces, failures, which connection
//! of a device is the newest, and how much of each session a device has received.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use longshore_model::device::DeviceMode;
use longshore_model::id::{DeviceId, Seq, SessionId};
use longshore_model::time::Timestamp;
use ring::digest;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::server_key::ServerKey;
use crate::auth::{Maker, Throttle};
use crate::problem::Problem;

/// How long a pairing token works.
const TOKEN_VALID: Duration = Duration::from_secs(5 * 60);
/// The most pairing tokens per minute, so at most thirty work at any time.
const TOKENS_PER_MINUTE: u32 = 6;
/// The most failures of one address per minute that get an answer.
pub(super) const FAILURES: u32 = 5;
/// How far the clock of a phone may differ.
pub(super) const SKEW_MS: u64 = 30_000;
/// How long a nonce is remembered: as long as its message could be sent again.
const NONCE_VALID: Duration = Duration::from_secs(60);
/// The most nonces. Only paired devices can add one.
const NONCES: usize = 4_096;
/// The most sessions of which a device's progress is remembered.
const PROGRESS: usize = 1_000;

/// What a pairing token offers.
#[derive(Clone, Debug)]
pub(super) struct MobileOffer {
    pub(super) mode: DeviceMode,
    pub(super) label: Option<String>,
    pub(super) by: Maker,
    until: Instant,
}

/// How much of each session a device has received.
type Progress = HashMap<SessionId, Seq>;

/// The door for phones.
pub(crate) struct MobileDoor {
    pub(super) key: ServerKey,
    /// When the hub started. A message that was signed earlier may have been used already.
    pub(super) since: Timestamp,
    made: Throttle,
    failures: Throttle,
    /// By the SHA-256 of the token.
    offers: Mutex<HashMap<[u8; 32], MobileOffer>>,
    nonces: Mutex<HashMap<(DeviceId, String), Instant>>,
    newest: Mutex<HashMap<DeviceId, oneshot::Sender<()>>>,
    progress: Mutex<HashMap<DeviceId, Progress>>,
}

impl MobileDoor {
    pub(crate) fn new(key: ServerKey, since: Timestamp) -> Self {
        Self {
            key,
            since,
            made: Throttle::new(TOKENS_PER_MINUTE, TOKENS_PER_MINUTE),
            failures: Throttle::new(FAILURES, u32::MAX),
            offers: Mutex::default(),
            nonces: Mutex::default(),
            newest: Mutex::default(),
            progress: Mutex::default(),
        }
    }

    /// A new pairing token, and how long it works.
    pub(super) fn new_token(
        &self,
        mode: DeviceMode,
        label: Option<String>,
        by: Maker,
    ) -> Result<(String, Duration), Problem> {
        if let Some(wait) = self.made.must_wait(None) {
            return Err(Problem::too_many_codes(wait));
        }
        self.made.count(None);
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|_| Problem::our_fault())?;
        let token = BASE64URL_NOPAD.encode(&bytes);
        let offer = MobileOffer { mode, label, by, until: Instant::now() + TOKEN_VALID };
        self.offers().insert(hash_of(&token), offer);
        Ok((token, TOKEN_VALID))
    }

    /// Uses a pairing token.
    pub(super) fn take(&self, token: &str) -> Option<MobileOffer> {
        self.offers().remove(&hash_of(token))
    }

    /// Puts back a token that led to nothing.
    pub(super) fn put_back(&self, token: &str, offer: MobileOffer) {
        self.offers().insert(hash_of(token), offer);
    }

    /// Counts a failure. Returns whether the caller gets an answer; a caller with too many must wait.
    pub(super) fn answers_failure(&self, from: Option<IpAddr>) -> bool {
        let answers = self.failures.must_wait(from).is_none();
        self.failures.count(from);
        answers
    }

    /// Uses a nonce. Returns false if the device used it before, or if too many are remembered.
    pub(super) fn is_new(&self, device: DeviceId, nonce: &str) -> bool {
        let mut nonces = held(&self.nonces);
        let now = Instant::now();
        nonces.retain(|_, until| *until > now);
        let room = nonces.len() < NONCES;
        room && nonces.insert((device, nonce.to_owned()), now + NONCE_VALID).is_none()
    }

    /// Makes a connection the newest of its device. The earlier one learns of it.
    pub(super) fn supersede(&self, device: DeviceId) -> oneshot::Receiver<()> {
        let (leave, left) = oneshot::channel();
        if let Some(earlier) = held(&self.newest).insert(device, leave) {
            // It may be gone.
            let _ = earlier.send(());
        }
        left
    }

    /// How much of a session a device has received.
    pub(super) fn received(&self, device: DeviceId, session: SessionId) -> Option<Seq> {
        held(&self.progress).get(&device)?.get(&session).copied()
    }

    /// A device has received a session up to here.
    pub(super) fn has_received(&self, device: DeviceId, session: SessionId, seq: Seq) {
        let mut progress = held(&self.progress);
        let progress = progress.entry(device).or_default();
        if progress.len() < PROGRESS || progress.contains_key(&session) {
            let known = progress.entry(session).or_default();
            *known = seq.max(*known);
        }
    }

    fn offers(&self) -> MutexGuard<'_, HashMap<[u8; 32], MobileOffer>> {
        let mut offers = held(&self.offers);
        let now = Instant::now();
        offers.retain(|_, offer| offer.until > now);
        offers
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn hash_of(token: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door() -> MobileDoor {
        MobileDoor::new(ServerKey::fleeting().unwrap(), Timestamp::from_micros(0))
    }

    #[tokio::test(start_paused = true)]
    async fn a_pairing_token_is_used_once_and_grows_old() {
        let door = door();
        let (token, valid) = door.new_token(DeviceMode::Approve, None, Maker::of(None)).unwrap();
        assert_eq!(token.len(), 43, "32 bytes");
        assert!(!door.offers().contains_key(token.as_bytes()), "only its hash is kept");
        assert_eq!(door.take(&token).map(|offer| offer.mode), Some(DeviceMode::Approve));
        assert!(door.take(&token).is_none());
        let (old, _) = door.new_token(DeviceMode::Full, None, Maker::of(None)).unwrap();
        tokio::time::advance(valid).await;
        assert!(door.take(&old).is_none());
        for _ in 0..TOKENS_PER_MINUTE {
            door.new_token(DeviceMode::Full, None, Maker::of(None)).unwrap();
        }
        let more = door.new_token(DeviceMode::Full, None, Maker::of(None));
        assert_eq!(more.unwrap_err().code, "too_many_attempts");
    }

    #[tokio::test(start_paused = true)]
    async fn a_nonce_is_good_once_and_few_failures_get_an_answer() {
        let (door, phone) = (door(), DeviceId::of_words(&["phone"]));
        assert!(door.is_new(phone, "a") && !door.is_new(phone, "a") && door.is_new(phone, "b"));
        for at in 2..NONCES {
            assert!(door.is_new(phone, &at.to_string()));
        }
        assert!(!door.is_new(phone, "one more"), "there is a bound");
        tokio::time::advance(NONCE_VALID).await;
        assert!(door.is_new(phone, "one more"));
        let from = Some(IpAddr::from([10, 0, 0, 1]));
        let answered = (0..20).filter(|_| door.answers_failure(from)).count();
        assert_eq!(answered, FAILURES as usize);
        assert!(door.answers_failure(Some(IpAddr::from([10, 0, 0, 2]))));
    }

    #[tokio::test]
    async fn the_newest_connection_of_a_device_stays_and_progress_only_grows() {
        let (door, phone) = (door(), DeviceId::of_words(&["phone"]));
        let mut first = door.supersede(phone);
        let mut other = door.supersede(DeviceId::of_words(&["other"]));
        let mut second = door.supersede(phone);
        assert!(first.try_recv().is_ok() && second.try_recv().is_err() && other.try_recv().is_err());
        let session = SessionId::of_words(&["s"]);
        assert_eq!(door.received(phone, session), None);
        door.has_received(phone, session, Seq(7));
        door.has_received(phone, session, Seq(5));
        assert_eq!(door.received(phone, session), Some(Seq(7)));
    }
}

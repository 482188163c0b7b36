//! Which screens show which session: a device whose screen shows a session needs no push about it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longshore_model::id::{DeviceId, SessionId};
use tokio::time::Instant;

/// How long a report over HTTP counts. A report over a socket counts as long as the socket.
pub(crate) const BELIEVED: Duration = Duration::from_secs(120);
/// The most screens to remember; the hub forgets the oldest one.
const SCREENS: usize = 1_024;

/// The visible sessions of all screens.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    screens: Mutex<HashMap<Screen, ScreenState>>,
    connections: AtomicU64,
}

/// A screen: its device (none is the owner), and its connection.
type Screen = (Option<DeviceId>, Option<u64>);

#[derive(Clone, Copy, Debug)]
struct ScreenState {
    session: SessionId,
    since: Instant,
}

impl Presence {
    /// Notes what a screen shows: a session, or nothing.
    pub(crate) fn shows(
        &self,
        device: Option<DeviceId>,
        connection: Option<&ConnectionPresence>,
        session: Option<SessionId>,
    ) {
        let screen = (device, connection.map(|connection| connection.number));
        let mut screens = self.screens();
        let Some(session) = session else {
            screens.remove(&screen);
            return;
        };
        if screens.len() >= SCREENS && !screens.contains_key(&screen) {
            let oldest = screens.iter().min_by_key(|(_, shown)| shown.since).map(|(screen, _)| *screen);
            oldest.map(|oldest| screens.remove(&oldest));
        }
        screens.insert(screen, ScreenState { session, since: Instant::now() });
    }

    /// Whether a screen of this device shows this session.
    pub(crate) fn sees(&self, device: Option<DeviceId>, session: SessionId) -> bool {
        let is_believed = |connection: &Option<u64>, shown: &ScreenState| {
            connection.is_some() || shown.since.elapsed() < BELIEVED
        };
        self.screens().iter().any(|((of, connection), shown)| {
            *of == device && shown.session == session && is_believed(connection, shown)
        })
    }

    fn screens(&self) -> MutexGuard<'_, HashMap<Screen, ScreenState>> {
        self.screens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lasting connection. When it ends, the hub forgets what its screen shows.
#[derive(Debug)]
pub(crate) struct ConnectionPresence {
    number: u64,
    device: Option<DeviceId>,
    presence: Arc<Presence>,
}

impl ConnectionPresence {
    pub(crate) fn new(presence: Arc<Presence>, device: Option<DeviceId>) -> Self {
        Self { number: presence.connections.fetch_add(1, Ordering::Relaxed), device, presence }
    }
}

impl Drop for ConnectionPresence {
    fn drop(&mut self) {
        self.presence.screens().remove(&(self.device, Some(self.number)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_screen_is_believed_while_its_socket_is_there_or_for_a_while() {
        let presence = Arc::new(Presence::default());
        let (phone, session) = (Some(DeviceId::of_words(&["phone"])), SessionId::of_words(&["s"]));
        let connection = ConnectionPresence::new(Arc::clone(&presence), phone);
        presence.shows(phone, Some(&connection), Some(session));
        assert!(presence.sees(phone, session) && !presence.sees(None, session));
        tokio::time::advance(BELIEVED).await;
        assert!(presence.sees(phone, session));
        drop(connection);
        assert!(!presence.sees(phone, session));

        presence.shows(phone, None, Some(session));
        assert!(presence.sees(phone, session));
        tokio::time::advance(BELIEVED).await;
        assert!(!presence.sees(phone, session), "nobody has said so for a while");
        presence.shows(phone, None, Some(session));
        presence.shows(phone, None, None);
        assert!(!presence.sees(phone, session));
    }
}

//! The programs that should call back: by session, each with its own token.
//!
//! The anchor registers each program here. The server of the address passes connections on to this registry,
//! and only the registry knows the process. So the two sides need not know each other. A program's token
//! opens only the program's own connection. An agent never gets the owner's token.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use longshore_model::callback::{FromProgram, ToProgram};
use longshore_model::id::SessionId;
use subtle::ConstantTimeEq;
use tokio::sync::{Notify, mpsc, watch};

/// How many messages may be between the server of a connection and the holder of the process. Further
/// messages wait at either end, where they are counted in bytes.
const BETWEEN: usize = 1;

/// The registry. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct CallbackRegistry(Arc<CallbackTable>);

#[derive(Debug, Default)]
struct CallbackTable {
    /// The address for programs, without the session: `ws://127.0.0.1:8790/ws/cli`.
    address: Option<String>,
    expected: Mutex<HashMap<SessionId, Expected>>,
}

struct Expected {
    token: String,
    door: Arc<Door>,
    longest: usize,
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expected(…)")
    }
}

/// A program's connection, for the server of the address.
#[derive(Debug)]
pub struct CallbackLine {
    /// Messages from the program. The channel closes when nobody reads them any more.
    pub said: mpsc::Sender<FromProgram>,
    /// Messages to the program. The channel ends when another connection replaces this one, or when the
    /// process ends.
    pub told: mpsc::Receiver<ToProgram>,
    /// The number of the last message that is known to have arrived. The sender is dropped when the
    /// connection breaks.
    pub arrived: watch::Sender<u64>,
    /// How many bytes a message of the program may have.
    pub longest: usize,
}

/// The other end of a [`CallbackLine`].
#[derive(Debug)]
pub(super) struct CallbackEnd {
    pub(super) said: mpsc::Receiver<FromProgram>,
    pub(super) told: mpsc::Sender<ToProgram>,
    pub(super) arrived: watch::Receiver<u64>,
}

/// Takes the connections of one program. The latest connection counts.
#[derive(Debug, Default)]
pub(super) struct Door {
    call: Mutex<Option<CallbackEnd>>,
    knocked: Notify,
}

impl Door {
    /// Takes the waiting connection, or waits for the next one. The future may be dropped, and the function
    /// called again.
    pub(super) async fn call(&self) -> CallbackEnd {
        loop {
            if let Some(call) = self.waiting() {
                return call;
            }
            self.knocked.notified().await;
        }
    }

    /// Takes the waiting connection.
    pub(super) fn waiting(&self) -> Option<CallbackEnd> {
        lock(&self.call).take()
    }
}

/// A registration. The program may connect while it is held.
#[derive(Debug)]
pub(super) struct Awaited {
    reception: CallbackRegistry,
    session: SessionId,
    pub(super) door: Arc<Door>,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let mut expected = lock(&self.reception.0.expected);
        // Another process of the same session may be registered by now.
        if expected.get(&self.session).is_some_and(|known| Arc::ptr_eq(&known.door, &self.door)) {
            expected.remove(&self.session);
        }
    }
}

impl CallbackRegistry {
    /// Programs call this address, with a slash and the session added.
    pub fn at(address: impl Into<String>) -> Self {
        Self(Arc::new(CallbackTable { address: Some(address.into()), expected: Mutex::default() }))
    }

    /// The address for the program of this session. None if the hub serves no address.
    pub(crate) fn address(&self, session: SessionId) -> Option<String> {
        self.0.address.as_ref().map(|address| format!("{address}/{session}"))
    }

    pub(super) fn expect(&self, session: SessionId, token: String, longest: usize) -> Awaited {
        let door = Arc::new(Door::default());
        let expected = Expected { token, door: Arc::clone(&door), longest };
        lock(&self.0.expected).insert(session, expected);
        Awaited { reception: self.clone(), session, door }
    }

    /// Whether a registered program has this token.
    pub fn knows(&self, token: &str) -> bool {
        // All tokens are compared, so that the duration reveals nothing.
        lock(&self.0.expected).values().fold(false, |known, one| known | same(&one.token, token))
    }

    /// The connection to the process of this session, if the token is right. It replaces an earlier
    /// connection.
    pub fn answer(&self, session: SessionId, token: &str) -> Option<CallbackLine> {
        let expected = lock(&self.0.expected);
        let one = expected.get(&session).filter(|one| same(&one.token, token))?;
        let (said, hear) = mpsc::channel(BETWEEN);
        let (tell, told) = mpsc::channel(BETWEEN);
        let (arrived, know) = watch::channel(0);
        *lock(&one.door.call) = Some(CallbackEnd { said: hear, told: tell, arrived: know });
        one.door.knocked.notify_one();
        Some(CallbackLine { said, told, arrived, longest: one.longest })
    }
}

fn same(token: &str, offered: &str) -> bool {
    token.as_bytes().ct_eq(offered.as_bytes()).into()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

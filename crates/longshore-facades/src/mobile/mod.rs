//! mobile-agent: the app of that name, over one WebSocket at `/ws/mobile`.
//!
//! ```text
//! app   {"type":"pair", pairingToken, devicePublicKey, ...}     or {"type":"authenticate", payload, signature}
//! hub   {"type":"connected", agents: [...]}                     or {"type":"authError"}: the app forgets its keys
//! app   {"type":"getHistory", agentId}, {"type":"sendMessage", ...}, {"type":"respondPermission", ...}, ...
//! hub   {"type":"agentHistory"}, then streamChunk, assistantMessage, permissionRequest, agentResult, ...
//! ```
//!
//! An agent of the app is a session of ours, under the same id. A phone that pairs becomes an ordinary device that signs
//! instead of sending a token.
//!
//! | module | holds |
//! |---|---|
//! | `server_key` | the hub's key, which the QR code names |
//! | `door` | pairing tokens, nonces and failures; the connection and the progress of each device |
//! | `sign_in` | the first message |
//! | `wire` | the messages |
//! | `dialect` | what sessions, histories and changes are in these messages |
//! | `socket`, `client` | a connection, and which sessions it follows |
//! | `requests`, `repositories` | what the app asks for |

mod client;
mod dialect;
mod door;
mod repositories;
mod requests;
mod server_key;
mod sign_in;
mod socket;
mod wire;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use longshore_model::device::DeviceMode;

use crate::facade::Facade;
use crate::gate::Gate;
use crate::native::answers::MobilePairing;
use crate::problem::Problem;
use crate::router::App;

pub(crate) use door::MobileDoor;
pub use server_key::{ServerKey, ServerKeyError};

/// The facade. Its callers sign in over the socket, so no route needs a token.
pub(crate) const FACADE: Facade = Facade { name: "mobile", private: Router::new, open: routes, problem };

fn routes() -> Router<App> {
    Router::new().route("/ws/mobile", get(sign_in::upgrade))
}

fn problem(problem: &Problem) -> Response {
    problem.clone().into_response()
}

/// A code with which one phone pairs.
pub(crate) fn new_code(
    gate: &Gate,
    mode: DeviceMode,
    label: Option<String>,
) -> Result<MobilePairing, Problem> {
    let app = gate.app();
    let (pairing_token, valid) = app.mobile.new_token(mode, label, app.keys.maker(gate.caller().device()))?;
    Ok(MobilePairing {
        url: gate.base().to_owned(),
        pairing_token,
        server_public_key: app.mobile.key.public(),
        expires_at: app.hub.now().plus_millis(valid.as_millis() as i64),
        mode,
    })
}

//! The first message: it pairs a phone, or shows that it is a paired one.
//!
//! The app deletes its keys when it gets an `authError`, so only what is final gets one. Whatever passes closes the
//! connection with 1013, and the app tries again: a clock that differs, a nonce that was used, too many failures, a log
//! that cannot be written. A right signature is accepted after any number of wrong ones, so nobody can lock a phone out.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use data_encoding::HEXLOWER_PERMISSIVE;
use longshore_model::device::DeviceSigner;
use ring::signature::{ED25519, UnparsedPublicKey};
use tokio::time::timeout;

use super::door::SKEW_MS;
use super::socket::{MobileSocket, Welcome};
use super::wire::{FirstFrame, ServerFrame, SignedPayload};
use crate::auth::{self, Caller, TokenLookup};
use crate::berth::Berth;
use crate::gate::Gate;
use crate::intake::LARGE;
use crate::kernel::link;
use crate::pair::label;
use crate::problem::Problem;
use crate::router::App;

/// How much the socket reads at once.
const READ_BUFFER: usize = 8 << 10;
/// How long a caller may take to say who it is.
const SIGN_IN_WITHIN: Duration = Duration::from_secs(10);
/// How long a caller that was refused may take to leave.
const FAREWELL: Duration = Duration::from_secs(5);
/// The longest name and the longest nonce of a phone.
const NAME: usize = 128;

/// Close codes of the protocol.
const TIMED_OUT: (u16, &str) = (4008, "Authentication timeout");
const REFUSED: (u16, &str) = (4001, "not authenticated");
const NOT_UNDERSTOOD: (u16, &str) = (1008, "the first message must be `pair` or `authenticate`");
const TRY_AGAIN: u16 = 1013;

/// What comes of the first message.
enum SignIn {
    /// The caller is a paired device.
    In(Box<Caller>, Welcome),
    /// It never will be: the app may forget its keys.
    Never(String),
    /// Not now.
    NotNow(&'static str),
    /// It is no message of the protocol.
    Odd,
}

/// `GET /ws/mobile`.
pub(super) async fn upgrade(
    State(app): State<App>,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
    request: Request,
) -> Result<Response, Problem> {
    let berth = request.extensions().get::<Arc<Berth>>().cloned();
    let (from, headers) = (auth::address(&request), request.headers().clone());
    let socket = socket?.read_buffer_size(READ_BUFFER).max_message_size(LARGE).max_frame_size(LARGE);
    Ok(socket.on_upgrade(move |socket| serve(app, socket, berth, from, headers)))
}

async fn serve(
    app: App,
    mut socket: WebSocket,
    berth: Option<Arc<Berth>>,
    from: Option<IpAddr>,
    headers: HeaderMap,
) {
    if let Some(berth) = &berth {
        berth.frames.begin_strange();
    }
    let signed = async {
        match first(&mut socket).await? {
            Message::Text(text) => Some(sign_in(&app, &text, from).await),
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Close(_) => Some(SignIn::Odd),
        }
    };
    let (code, reason) = match timeout(SIGN_IN_WITHIN, signed).await {
        Ok(None) => return,
        Ok(Some(SignIn::In(caller, welcome))) => {
            berth.iter().for_each(|berth| berth.belongs_to(caller.party()));
            let gate = Gate::new(app, *caller, &headers);
            return link::serve(socket, gate, berth, |gate| MobileSocket::begin(gate, welcome)).await;
        }
        Ok(Some(SignIn::Never(error))) => {
            let refused = ServerFrame::AuthError { error }.to_text(app.hub.now());
            if socket.send(Message::text(refused)).await.is_err() {
                return;
            }
            // The app leaves by itself.
            let _ = timeout(FAREWELL, async { while let Some(Ok(_)) = socket.recv().await {} }).await;
            REFUSED
        }
        Ok(Some(SignIn::NotNow(reason))) => (TRY_AGAIN, reason),
        Ok(Some(SignIn::Odd)) => NOT_UNDERSTOOD,
        Err(_) => TIMED_OUT,
    };
    let _ = socket.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
    let _ = timeout(FAREWELL, async { while let Some(Ok(_)) = socket.recv().await {} }).await;
}

/// The first message that is none of the socket itself.
async fn first(socket: &mut WebSocket) -> Option<Message> {
    loop {
        match socket.recv().await?.ok()? {
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => return None,
            message @ (Message::Text(_) | Message::Binary(_)) => return Some(message),
        }
    }
}

async fn sign_in(app: &App, text: &str, from: Option<IpAddr>) -> SignIn {
    match serde_json::from_str(text) {
        Ok(FirstFrame::Pair { pairing_token, device_public_key, device_id, device_name }) => {
            pair(app, &pairing_token, &device_public_key, device_id, device_name.as_deref(), from).await
        }
        Ok(FirstFrame::Authenticate { payload, signature }) => authenticate(app, payload, &signature, from),
        Ok(FirstFrame::Other) | Err(_) => SignIn::Odd,
    }
}

async fn pair(
    app: &App,
    token: &str,
    key: &str,
    name: String,
    label: Option<&str>,
    from: Option<IpAddr>,
) -> SignIn {
    let Some(key) = bytes_of::<32>(key).filter(|_| !name.is_empty() && name.len() <= NAME) else {
        return failed(app, from, "the phone's key or id is not of the expected form");
    };
    const VOID: &str = "this pairing code is unknown, used or expired; show a new one";
    let Some(offer) = app.mobile.take(token) else { return failed(app, from, VOID) };
    if !app.keys.vouches(offer.by) {
        return failed(app, from, VOID);
    }
    let label = label::named(offer.label.as_deref().or(label));
    let signer = DeviceSigner { name: name.clone(), key };
    let device = match app.keys.add_signer(label, offer.mode, signer).await {
        Ok(device) => device,
        Err(_) => {
            app.mobile.put_back(token, offer);
            return SignIn::NotNow("the hub cannot save the phone now");
        }
    };
    if !app.keys.vouches(offer.by) {
        // Whoever made the code was put out in the very moment.
        let _ = app.keys.revoke(device.id).await;
        return failed(app, from, VOID);
    }
    match app.keys.recognise_signer(&name, |known| *known == key) {
        TokenLookup::Caller(caller) => {
            SignIn::In(Box::new(caller), Welcome { device_id: name, is_new: true, signature: None })
        }
        TokenLookup::Revoked | TokenLookup::Unknown => failed(app, from, "this phone was revoked"),
    }
}

fn authenticate(app: &App, payload: String, signature: &str, from: Option<IpAddr>) -> SignIn {
    let (Ok(signed), Some(signature)) =
        (serde_json::from_str::<SignedPayload>(&payload), bytes_of::<64>(signature))
    else {
        return SignIn::Odd;
    };
    let SignedPayload { timestamp, nonce, device_id } = signed;
    let is_right =
        |key: &[u8; 32]| UnparsedPublicKey::new(&ED25519, key).verify(payload.as_bytes(), &signature).is_ok();
    let caller = match app.keys.recognise_signer(&device_id, is_right) {
        TokenLookup::Caller(caller) => caller,
        TokenLookup::Revoked => return failed(app, from, "this phone was revoked"),
        TokenLookup::Unknown => return failed(app, from, "this hub does not know the phone; pair it again"),
    };
    let now = app.hub.now();
    let at = |time: longshore_model::time::Timestamp| time.micros() / 1_000;
    if timestamp.abs_diff(at(now)) > SKEW_MS {
        return SignIn::NotNow("the clocks of phone and hub differ");
    }
    // What was signed before the hub started may have been used then.
    if timestamp < at(app.mobile.since) {
        return SignIn::NotNow("the hub has just started");
    }
    let is_new = caller
        .device()
        .is_some_and(|device| !nonce.is_empty() && nonce.len() <= NAME && app.mobile.is_new(device, &nonce));
    if !is_new {
        return SignIn::NotNow("this message was used before");
    }
    let signature = Some(app.mobile.key.sign(&payload));
    SignIn::In(Box::new(caller), Welcome { device_id, is_new: false, signature })
}

/// A failure that is final, unless there were too many.
fn failed(app: &App, from: Option<IpAddr>, error: &str) -> SignIn {
    match app.mobile.answers_failure(from) {
        true => SignIn::Never(error.to_owned()),
        false => SignIn::NotNow("too many failures; try again in a minute"),
    }
}

fn bytes_of<const N: usize>(hex: &str) -> Option<[u8; N]> {
    (hex.len() == 2 * N).then(|| HEXLOWER_PERMISSIVE.decode(hex.as_bytes()).ok()).flatten()?.try_into().ok()
}

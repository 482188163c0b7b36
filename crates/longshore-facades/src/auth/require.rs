//! What every private request passes: it brings a token that we know, a page that uses a cookie is our own, and what it
//! asks for is allowed to its caller, before any of its body is read.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::body::{Body, HttpBody};
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde::Deserialize;

use super::keys::TokenLookup;
use super::token::Token;
use super::{Access, Caller, cookie};
use crate::berth::Berth;
use crate::guard;
use crate::intake::{Cut, PacedBody, limit_of};
use crate::problem::Problem;
use crate::router::App;

/// How long an answer may be that is given whole to who has to leave meanwhile.
const SHORT: u64 = 64 << 10;

/// A token, and how it came.
struct Offered {
    token: Token,
    /// The browser sent it by itself, whichever page asked it to.
    by_cookie: bool,
}

/// The token that a request brings. What somebody wrote counts more than what a browser sends by itself.
fn offered(request: &Request) -> Option<Offered> {
    match written(request) {
        Some(token) => Some(Offered { token, by_cookie: false }),
        None => cookie::sent(request.headers()).map(|token| Offered { token, by_cookie: true }),
    }
}

/// The token that somebody wrote into a request.
pub(crate) fn written(request: &Request) -> Option<Token> {
    bearer(request.headers()).or_else(|| in_address(request))
}

/// Where a request comes from.
pub(crate) fn address(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
}

/// Lets a request pass that brings a token which we know, and tells it who it comes from.
pub(crate) async fn require(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let offered = offered(&request).ok_or_else(Problem::no_token)?;
    let headers = request.headers();
    let must_say = !request.method().is_safe() || upgrades(headers);
    if offered.by_cookie && (must_say || headers.contains_key(header::ORIGIN)) {
        guard::same_origin(headers)?;
    }
    let caller = app.admit(&offered.token, address(&request))?;
    let looks = request.method().is_safe();
    caller.check(least_of(&request))?;
    if let Some(berth) = request.extensions().get::<Arc<Berth>>() {
        berth.belongs_to(caller.party());
    }
    if longer_than(request.headers(), limit_of(&caller)) {
        return Err(Problem::too_large(limit_of(&caller)));
    }
    request.extensions_mut().insert(caller.clone());
    let cut = Cut::default();
    // Held until it is answered: what was read is worked on longer than it is read.
    let holding = Arc::new(Mutex::new(app.intake.begin(caller.device())));
    let request = request
        .map(|body| Body::new(PacedBody::of_caller(body, &caller, Arc::clone(&holding), Arc::clone(&cut))));
    let response = next.run(request).await;
    drop(holding);
    match cut.get() {
        Some(problem) => Err(problem.clone()),
        // What changes something asks by itself, right before it does so; an answer to it may be the last one.
        None if looks => match caller.why_out() {
            Some(problem) => Err(problem),
            None => Ok(until_dismissed(response, caller)),
        },
        None => Ok(response),
    }
}

/// The least that a request takes, as far as its head tells: nobody sends a body for nothing, and we hold none for who may
/// not send it. The [`Gate`](crate::gate::Gate) has the last word.
fn least_of(request: &Request) -> Access {
    match (request.method(), request.uri().path()) {
        (_, "/api/v1/folders" | "/admin/pair/qr.svg") => Access::Act,
        (_, "/api/v1/presence" | "/api/v1/push/subscribe" | "/api/v1/push/test") => Access::Read,
        (method, _) if method.is_safe() => Access::Read,
        (&Method::POST, path) if path.starts_with("/api/v1/approvals/") => Access::Decide,
        (_, "/admin/token/rotate") => Access::Admin,
        (_, _) => Access::Act,
    }
}

/// Whether a body says itself that it is longer.
pub(crate) fn longer_than(headers: &HeaderMap, limit: usize) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64)
}

impl App {
    /// The caller whose token this is. Whoever guesses is slowed down, whoever knows is not: nobody can lock the owner
    /// out.
    pub(crate) fn admit(&self, token: &Token, from: Option<IpAddr>) -> Result<Caller, Problem> {
        match self.keys.recognise(token) {
            TokenLookup::Caller(caller) => Ok(caller),
            TokenLookup::Revoked => Err(Problem::revoked_token()),
            TokenLookup::Unknown => Err(self.wrong_token(from)),
        }
    }

    /// A token that opens nothing here is counted.
    pub(crate) fn wrong_token(&self, from: Option<IpAddr>) -> Problem {
        let wait = self.wrong_tokens.must_wait(from);
        self.wrong_tokens.count(from);
        wait.map_or_else(Problem::wrong_token, Problem::too_many_attempts)
    }
}

/// Breaks an answer off that is still under way when its caller has to leave: server-sent events, exports. It ends with
/// an error, so that nobody takes the part for the whole.
fn until_dismissed(response: Response, caller: Caller) -> Response {
    let short = response.body().size_hint().exact().is_some_and(|length| length <= SHORT);
    if short || response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return response;
    }
    response.map(|body| {
        let dismissed = Box::pin(async move { caller.dismissed().await });
        let pieces =
            stream::try_unfold((body.into_data_stream(), dismissed), |(mut body, mut dismissed)| async {
                tokio::select! {
                    biased;
                    () = &mut dismissed => Err(axum::Error::new("the token is no longer valid")),
                    piece = body.next() => match piece {
                        Some(piece) => Ok(Some((piece?, (body, dismissed)))),
                        None => Ok(None),
                    },
                }
            });
        Body::from_stream(pieces)
    })
}

/// The token of the `Authorization` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<Token> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Token::new(token.trim()))
}

fn upgrades(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).and_then(|upgrade| upgrade.to_str().ok());
    upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}

/// Browsers cannot set headers on a WebSocket, so there, and only there, the token may be in the address.
fn in_address(request: &Request) -> Option<Token> {
    let Query(InAddress { token }) =
        Query::try_from_uri(request.uri()).ok().filter(|_| upgrades(request.headers()))?;
    Some(Token::new(token))
}

#[derive(Deserialize)]
struct InAddress {
    token: String,
}

//! The checks of every private request, before the hub reads any of its body: the token is valid, a page that
//! uses a cookie is our own, and the caller may make this request.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::body::{Body, HttpBody};
use axum::extract::{ConnectInfo, MatchedPath, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde::Deserialize;

use super::keys::TokenLookup;
use super::token::Token;
use super::{Access, Caller, Denial, cookie};
use crate::berth::Berth;
use crate::facade::only_looks;
use crate::guard;
use crate::intake::{Cut, PacedBody, limit_of};
use crate::kernel::diary::Incident;
use crate::native;
use crate::problem::Problem;
use crate::router::App;

/// The longest response that a caller gets as a whole although it must leave meanwhile.
const SHORT: u64 = 64 << 10;

/// A token, and how the request carries it.
struct RequestToken {
    token: Token,
    /// Whether the browser sent the token by itself, for whichever page.
    by_cookie: bool,
}

/// The token of a request. An explicit token counts more than a cookie.
fn offered(request: &Request) -> Option<RequestToken> {
    match written(request).or_else(|| api_key(request.headers())) {
        Some(token) => Some(RequestToken { token, by_cookie: false }),
        None => cookie::sent(request.headers()).map(|token| RequestToken { token, by_cookie: true }),
    }
}

/// The explicit token of a request.
pub(crate) fn written(request: &Request) -> Option<Token> {
    bearer(request.headers()).or_else(|| in_address(request))
}

/// The address from which a request comes.
pub(crate) fn address(request: &Request) -> Option<IpAddr> {
    request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0.ip())
}

/// Lets a request with a valid token pass, and adds its caller to it.
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
    app.check(&caller, least_of(&request))?;
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
            Some(denial) => Err(denial.into()),
            None => Ok(until_dismissed(response, caller)),
        },
        None => Ok(response),
    }
}

/// The least access that a request needs, as far as its head shows. The hub reads no body of a caller that
/// may not send one. The [`Gate`](crate::gate::Gate) decides in the end.
fn least_of(request: &Request) -> Access {
    let path = request.extensions().get::<MatchedPath>();
    let of_call = path.and_then(|path| native::access_of(request.method(), path.as_str()));
    let looks = request.method().is_safe() || path.is_some_and(|path| only_looks(path.as_str()));
    let of_others = if looks { Access::Read } else { Access::Act };
    of_call.unwrap_or(of_others)
}

/// Whether the head announces a longer body.
pub(crate) fn longer_than(headers: &HeaderMap, limit: usize) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse::<u64>().ok()).is_some_and(|length| length > limit as u64)
}

impl App {
    /// The caller with this token. The hub delays callers that guess, but not callers with a valid token, so
    /// nobody can lock the owner out.
    pub(crate) fn admit(&self, token: &Token, from: Option<IpAddr>) -> Result<Caller, Problem> {
        match self.keys.recognise(token) {
            TokenLookup::Caller(caller) => Ok(caller),
            TokenLookup::Revoked => Err(Problem::revoked_token()),
            TokenLookup::Unknown => Err(self.wrong_token(from)),
        }
    }

    /// Refuses what a caller may not do, and counts that.
    pub(crate) fn check(&self, caller: &Caller, access: Access) -> Result<(), Denial> {
        let checked = caller.check(access);
        if let Err(Denial::NotAllowed { .. }) = &checked {
            self.diary.count(Incident::Denied, caller.name(), self.hub.now());
        }
        checked
    }

    /// Counts a wrong token.
    pub(crate) fn wrong_token(&self, from: Option<IpAddr>) -> Problem {
        let wait = self.wrong_tokens.must_wait(from);
        self.wrong_tokens.count(from);
        wait.map_or_else(Problem::wrong_token, Problem::too_many_attempts)
    }
}

/// Breaks off a response that is still under way when its caller must leave: server-sent events, exports. The
/// response ends with an error, so that nobody takes the part for the whole.
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

/// The token of the `X-API-Key` header, where programs of other protocols put it. As a browser asks before it sends such a
/// header to another site, it is as good as `Authorization`.
fn api_key(headers: &HeaderMap) -> Option<Token> {
    let key = headers.get("x-api-key")?.to_str().ok()?.trim();
    (!key.is_empty()).then(|| Token::new(key))
}

fn upgrades(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).and_then(|upgrade| upgrade.to_str().ok());
    upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}

/// What may have its token in the address besides WebSockets: addresses that clients of others read so.
const ADDRESSED: [&str; 3] = ["/ws", "/ws/client", "/threads/{thread}/events"];

/// The token in the address. Only a WebSocket may send it there, because browsers cannot set headers on one, and what
/// clients of others read so.
fn in_address(request: &Request) -> Option<Token> {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let may = upgrades(request.headers())
        || (request.method().is_safe() && path.is_some_and(|path| ADDRESSED.contains(&path)));
    in_query(request.uri()).filter(|_| may)
}

/// The token in the query of an address.
pub(crate) fn in_query(uri: &Uri) -> Option<Token> {
    let Query(InAddress { token }) = Query::try_from_uri(uri).ok()?;
    Some(Token::new(token))
}

#[derive(Deserialize)]
struct InAddress {
    token: String,
}

//! What every private request passes: it brings a token that we know, and a page that uses a cookie is our own.

use std::net::{IpAddr, SocketAddr};

use axum::body::{Body, HttpBody};
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde::Deserialize;

use super::keys::Known;
use super::token::Token;
use super::{Caller, cookie};
use crate::guard;
use crate::problem::Problem;
use crate::router::App;

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
    request.extensions_mut().insert(caller.clone());
    Ok(until_dismissed(next.run(request).await, caller))
}

impl App {
    /// The caller whose token this is. Whoever guesses is slowed down, whoever knows is not: nobody can lock the owner
    /// out.
    pub(crate) fn admit(&self, token: &Token, from: Option<IpAddr>) -> Result<Caller, Problem> {
        match self.keys.recognise(token) {
            Known::Caller(caller) => Ok(caller),
            Known::Revoked => Err(Problem::revoked_token()),
            Known::Unknown => Err(self.wrong_token(from)),
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
    let whole = response.body().size_hint().exact().is_some();
    if whole || response.status() == StatusCode::SWITCHING_PROTOCOLS {
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

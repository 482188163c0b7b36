//! Who may come in: whoever has the owner's token.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::Response;
use serde::Deserialize;
use subtle::ConstantTimeEq;

use crate::problem::Problem;
use crate::router::App;

/// How often one address may be wrong per minute before it has to wait.
const WRONG_PER_MINUTE: u32 = 30;
/// How many addresses are remembered for that.
const ADDRESSES: usize = 4_096;

/// The owner's token. Never printed by accident.
pub struct Token(String);

impl Token {
    /// A token that was made before.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// A new token: 256 bits from the system, in hex.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The secret itself, for the file that it is kept in and for the one who asks for it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares without telling by its duration how much was right. An empty token lets nobody in.
    pub fn matches(&self, offered: &str) -> bool {
        !self.0.is_empty() && bool::from(self.0.as_bytes().ct_eq(offered.as_bytes()))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Who a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// What others read when this one decides something.
    pub name: String,
}

/// Lets a request pass that brings the token, and tells it who it comes from.
pub async fn require(State(app): State<App>, mut request: Request, next: Next) -> Result<Response, Problem> {
    let from = request.extensions().get::<ConnectInfo<std::net::SocketAddr>>().map(|info| info.0.ip());
    match offered(&request) {
        // The right token passes even when somebody at the same address guesses: nobody can lock the owner out.
        Some(offered) if app.token.matches(&offered) => {
            request.extensions_mut().insert(Principal { name: "owner".to_owned() });
            Ok(next.run(request).await)
        }
        Some(_) => Err(wrong(&app, from)),
        None => Err(Problem::no_token()),
    }
}

/// The token that a request brings.
pub(crate) fn offered(request: &Request) -> Option<String> {
    bearer(request.headers()).or_else(|| socket_token(request))
}

/// Somebody brought a token that is not the right one.
pub(crate) fn wrong(app: &App, from: Option<IpAddr>) -> Problem {
    let wait = app.throttle.must_wait(from);
    app.throttle.was_wrong(from);
    wait.map_or_else(Problem::wrong_token, Problem::too_many_attempts)
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// Browsers cannot set headers on a WebSocket, so there, and only there, the token may be in the address.
fn socket_token(request: &Request) -> Option<String> {
    let upgrades = request.headers().get(header::UPGRADE)?.to_str().ok()?.eq_ignore_ascii_case("websocket");
    let Query(InAddress { token }) = Query::try_from_uri(request.uri()).ok().filter(|_| upgrades)?;
    Some(token)
}

#[derive(Deserialize)]
struct InAddress {
    token: String,
}

/// Slows down whoever guesses.
#[derive(Debug, Default)]
pub struct Throttle {
    wrong: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Throttle {
    fn must_wait(&self, from: Option<IpAddr>) -> Option<Duration> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = wrong.get(&from?)?;
        let left = Duration::from_secs(60).checked_sub(since.elapsed())?;
        (*count >= WRONG_PER_MINUTE).then_some(left)
    }

    fn was_wrong(&self, from: Option<IpAddr>) {
        let Some(from) = from else { return };
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() >= ADDRESSES {
            wrong.retain(|_, (since, _)| since.elapsed() < Duration::from_secs(60));
        }
        if wrong.len() >= ADDRESSES && !wrong.contains_key(&from) {
            return;
        }
        let entry = wrong.entry(from).or_insert((Instant::now(), 0));
        if entry.0.elapsed() >= Duration::from_secs(60) {
            *entry = (Instant::now(), 0);
        }
        entry.1 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_matches_itself_and_nothing_else() {
        let token = Token::random().unwrap();
        assert_eq!(token.reveal().len(), 64);
        assert!(token.matches(token.reveal()));
        assert!(!token.matches(&token.reveal()[1..]));
        assert!(!token.matches(""));
        assert!(!Token::new("").matches(""), "no token is no way in");
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn whoever_guesses_has_to_wait_and_others_do_not() {
        let throttle = Throttle::default();
        let (guesser, other) = (Some(IpAddr::from([127, 0, 0, 1])), Some(IpAddr::from([127, 0, 0, 2])));
        for _ in 0..WRONG_PER_MINUTE {
            assert_eq!(throttle.must_wait(guesser), None);
            throttle.was_wrong(guesser);
        }
        assert!(throttle.must_wait(guesser).is_some());
        assert_eq!(throttle.must_wait(other), None);
    }
}

//! Pairing: how a new device gets a token of its own, and a browser its cookie.
//!
//! ```text
//! whoever may    POST /admin/pair/new {mode?, label?}   -> {code, expiresAt, pairUrl}
//! the phone      opens pairUrl, or types the code
//!                POST /pair/consume {code, label?}      -> {token, device}, and the cookie
//! a browser      POST /pair/token {token}               -> who that is, and the cookie
//!                DELETE /pair/token                     takes the cookie back
//! ```

mod codes;

use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use longshore_model::device::DeviceMode;
use qrcode::QrCode;
use qrcode::render::svg;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::auth::{self, Access, Token};
use crate::gate::Gate;
use crate::native::{ByName, me};
use crate::problem::Problem;
use crate::router::App;

pub(crate) use codes::{Codes, VALID};

/// How many letters the name of a device may have; the others are cut off.
const LABEL: usize = 80;

/// How large a request may be of somebody whom nobody knows yet.
const BODY_LIMIT: usize = 16 << 10;

/// What the phone sends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Consume {
    /// The code; case, blanks and dashes do not matter.
    pub code: String,
    /// What the device calls itself.
    #[serde(default)]
    pub label: Option<String>,
}

/// A token that somebody pasted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pasted {
    /// The token.
    pub token: String,
}

/// What nobody needs a token for.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/pair/consume", post(consume))
        .route("/pair/token", post(pasted).delete(forget))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
}

/// A new code, and where a phone goes with it.
pub(crate) fn new_code(gate: &Gate, mode: DeviceMode, label: Option<String>) -> Result<Value, Problem> {
    gate.app().new_code(mode, label, gate.caller().device(), gate.base())
}

impl App {
    /// A new code for a device that is reached under this address.
    fn new_code(
        &self,
        mode: DeviceMode,
        label: Option<String>,
        by: Option<longshore_model::id::DeviceId>,
        base: &str,
    ) -> Result<Value, Problem> {
        // Behind the sign, so that no server and no log on the way reads the code.
        let ca = self.authority().map(|ca| format!("?ca={}", ca.fingerprint)).unwrap_or_default();
        let (code, offer) = self.codes.make(mode, label, by, |code| format!("{base}/pair{ca}#{code}"))?;
        let expires = self.hub.now().plus_millis(VALID.as_millis() as i64);
        Ok(json!({ "code": code, "expiresAt": expires, "pairUrl": offer.url, "mode": mode }))
    }

    /// A code with which the owner's own browser is signed in, for whoever starts the hub at a terminal.
    pub fn first_code(&self) -> Option<String> {
        let made = self.new_code(DeviceMode::Full, None, None, "").ok()?;
        made["code"].as_str().map(str::to_owned)
    }

    /// A link with which a phone pairs, for whoever starts the hub at a terminal.
    pub fn first_link(&self, base: &str) -> Option<String> {
        let made = self.new_code(DeviceMode::Full, None, None, base).ok()?;
        made["pairUrl"].as_str().map(str::to_owned)
    }
}

/// `GET /admin/pair/qr.svg`.
pub(crate) async fn qr(
    gate: Gate,
    query: Result<Query<OfCode>, QueryRejection>,
) -> Result<Response, Problem> {
    gate.check(Access::Act)?;
    let Query(OfCode { code }) = query?;
    let offer = gate.app().codes.look(&code).ok_or_else(Problem::bad_code)?;
    let code = QrCode::new(offer.url.as_bytes()).map_err(|_| Problem::our_fault())?;
    let drawn = code.render::<svg::Color<'_>>().min_dimensions(256, 256).build();
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], drawn).into_response())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfCode {
    /// The code.
    pub(crate) code: String,
}

async fn consume(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (from, secure) = (auth::address(&request), is_secure(&app, request.headers()));
    let Consume { code, label } = body(request).await?;
    let offer = app.codes.take(&code, from)?;
    let label = named(offer.label.as_deref().or(label.as_deref()));
    match app.keys.add(label, offer.mode).await {
        Ok((token, device)) => {
            let told = json!({ "token": token.reveal(), "device": device });
            Ok(with_cookie(Json(told).into_response(), auth::given(&token, secure)))
        }
        Err(problem) => {
            app.codes.put_back(&code, offer);
            Err(problem)
        }
    }
}

async fn pasted(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (from, secure) = (auth::address(&request), is_secure(&app, request.headers()));
    let token = match auth::bearer(request.headers()) {
        Some(token) => token,
        None => Token::new(body::<Pasted>(request).await?.token.trim()),
    };
    let caller = app.admit(&token, from)?;
    Ok(with_cookie(Json(me(&caller)).into_response(), auth::given(&token, secure)))
}

async fn forget(State(app): State<App>, headers: HeaderMap) -> Response {
    with_cookie(StatusCode::NO_CONTENT.into_response(), auth::forgotten(is_secure(&app, &headers)))
}

async fn body<T: for<'de> Deserialize<'de>>(request: Request) -> Result<T, Problem> {
    match Json::<ByName<T>>::from_request(request, &()).await {
        Ok(Json(ByName(body))) => Ok(body),
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            Err(Problem::too_large(BODY_LIMIT))
        }
        Err(rejection) => Err(rejection.into()),
    }
}

/// Whether the browser is on TLS, be it ours or that of a proxy before us.
fn is_secure(app: &App, headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    app.secure() || origin.is_some_and(|origin| origin.starts_with("https://"))
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// The name of a device as people read it: a line, not too long, and no name that stands for somebody else.
fn named(label: Option<&str>) -> String {
    let clean: String = label
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !is_invisible(*c))
        .take(LABEL)
        .collect();
    match clean.trim() {
        "" => "a device".to_owned(),
        taken if ["owner", "hub"].iter().any(|name| taken.eq_ignore_ascii_case(name)) => {
            format!("a device called {taken}")
        }
        name => name.to_owned(),
    }
}

/// Signs that show nothing, or turn the direction of writing.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_so_that_nobody_is_taken_in() {
        assert_eq!(named(Some("  My phone\n")), "My phone");
        assert_eq!(named(Some(" Owner ")), "a device called Owner");
        assert_eq!(named(Some("ow\u{200b}ner")), "a device called owner");
        assert_eq!(named(Some("\u{202e}\t ")), "a device");
        assert_eq!(named(None), "a device");
        assert_eq!(named(Some(&"x".repeat(500))).len(), LABEL);
    }
}

//! Pairing: how a new device gets its own token, and a browser its cookie.
//!
//! ```text
//! an allowed caller  POST /admin/pair/new {mode?, label?}   -> {code, expiresAt, pairUrl, addresses}
//! the phone          opens pairUrl, or its owner types the code
//!                    POST /pair/consume {code, label?}      -> {token, device}, and the cookie
//! a browser          POST /pair/token {token}               -> the caller's identity, and the cookie
//!                    DELETE /pair/token                     deletes the cookie
//! ```

mod codes;
pub(crate) mod label;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use longshore_model::device::DeviceMode;
use qrcode::QrCode;
use qrcode::render::svg;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::{self, Access, Token};
use crate::gate::Gate;
use crate::guard;
use crate::intake::{Cut, PacedBody, TINY};
use crate::native::answers::{PairedDevice, PairingCode};
use crate::native::{ByName, me};
use crate::problem::Problem;
use crate::router::App;

pub(crate) use codes::{Codes, VALID};

/// The request of a phone.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Consume {
    /// The code; case, blanks and dashes do not matter.
    pub code: String,
    /// The name of the device.
    #[serde(default)]
    pub label: Option<String>,
}

/// A token that a person pasted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pasted {
    /// The token.
    pub token: String,
}

/// The calls that need no token.
pub(crate) fn routes() -> Router<App> {
    Router::new().route("/pair/consume", post(consume)).route("/pair/token", post(pasted).delete(forget))
}

/// A new code, with its link.
pub(crate) fn new_code(gate: &Gate, mode: DeviceMode, label: Option<String>) -> Result<PairingCode, Problem> {
    gate.app().new_code(mode, label, gate.caller().device(), gate.base())
}

impl App {
    /// A new code for a device that reaches the hub at this address.
    fn new_code(
        &self,
        mode: DeviceMode,
        label: Option<String>,
        by: Option<longshore_model::id::DeviceId>,
        base: &str,
    ) -> Result<PairingCode, Problem> {
        let by = self.keys.maker(by);
        let (code, offer) = self.codes.make(mode, label, by, |code| self.link(base, code))?;
        let expires_at = self.hub.now().plus_millis(VALID.as_millis() as i64);
        Ok(PairingCode { code, expires_at, pair_url: offer.url, mode, addresses: self.addresses.to_vec() })
    }

    /// The link for a code. The code is behind the `#`, so that no server on the way logs it. Only another web app may
    /// look for it in the query, as Codex Pocket does.
    fn link(&self, base: &str, code: &str) -> String {
        let ca = self.authority().map(|ca| format!("?ca={}", ca.fingerprint)).unwrap_or_default();
        match &self.web_dir {
            None => format!("{base}/pair{ca}#{code}"),
            Some(_) => format!("{base}/pair?code={code}"),
        }
    }

    /// A link that pairs a device, for a person who starts the hub at a terminal. Its code is in the long form, which
    /// nobody can guess.
    pub fn first_link(&self, base: &str) -> Option<String> {
        self.new_code(DeviceMode::Full, None, None, base).ok().map(|made| made.pair_url)
    }
}

/// `GET /admin/pair/qr.svg`.
pub(crate) async fn qr(
    gate: Gate,
    query: Result<Query<OfCode>, QueryRejection>,
) -> Result<Response, Problem> {
    gate.check(Access::Act)?;
    let Query(OfCode { code, address }) = query?;
    let app = gate.app();
    let offer = app.codes.look(&code).ok_or_else(Problem::bad_code)?;
    let url = match address {
        None => offer.url,
        // A picture leads to this hub and nowhere else.
        Some(address) if app.addresses.contains(&address) => app.link(&address, &offer.long),
        Some(_) => return Err(Problem::invalid("this hub does not have this address")),
    };
    let code = QrCode::new(url.as_bytes()).map_err(|_| Problem::our_fault())?;
    let drawn = code.render::<svg::Color<'_>>().min_dimensions(256, 256).build();
    Ok(([(header::CONTENT_TYPE, "image/svg+xml")], drawn).into_response())
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfCode {
    /// The code.
    pub(crate) code: String,
    /// One of the hub's addresses, instead of the one in `pairUrl`.
    #[serde(default)]
    pub(crate) address: Option<String>,
}

async fn consume(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (from, secure) = (auth::address(&request), is_secure(&app, request.headers()));
    let Consume { code, label } = body(request).await?;
    let offer = app.codes.take(&code, from)?;
    let label = label::named(offer.label.as_deref().or(label.as_deref()));
    match app.keys.add(label, offer.mode).await {
        // Its maker was put out in the very moment.
        Ok((_, device)) if !app.keys.vouches(offer.by) => {
            app.keys.revoke(device.id).await?;
            Err(Problem::bad_code())
        }
        Ok((token, device)) => {
            let paired = PairedDevice { token: token.reveal().to_owned(), device };
            Ok(with_cookie(Json(paired).into_response(), auth::given(&token, secure)))
        }
        Err(problem) => {
            app.codes.put_back(offer);
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

/// Deletes the cookie. Only our own pages may do that: another page could log a browser out.
async fn forget(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    guard::same_origin(&headers)?;
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), auth::forgotten(is_secure(&app, &headers))))
}

/// The body of an unknown caller: short and quick.
async fn body<T: for<'de> Deserialize<'de>>(request: Request) -> Result<T, Problem> {
    if auth::longer_than(request.headers(), TINY) {
        return Err(Problem::too_large(TINY));
    }
    let cut = Cut::default();
    let request = request.map(|body| Body::new(PacedBody::of_stranger(body, Cut::clone(&cut))));
    match (Json::<ByName<T>>::from_request(request, &()).await, cut.get()) {
        (Ok(Json(ByName(body))), None) => Ok(body),
        (_, Some(problem)) => Err(problem.clone()),
        (Err(rejection), None) => Err(rejection.into()),
    }
}

/// Whether the browser uses TLS, ours or a proxy's.
pub(crate) fn is_secure(app: &App, headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok());
    app.secure() || origin.is_some_and(|origin| origin.starts_with("https://"))
}

fn with_cookie(mut response: Response, cookie: Option<HeaderValue>) -> Response {
    if let Some(cookie) = cookie {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

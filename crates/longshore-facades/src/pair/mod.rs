//! Pairing: how a new device gets a token of its own, and a browser its cookie.
//!
//! ```text
//! whoever may    POST /admin/pair/new {mode?, label?}   -> {code, expiresAt, pairUrl, addresses}
//! the phone      opens pairUrl, or types the code
//!                POST /pair/consume {code, label?}      -> {token, device}, and the cookie
//! a browser      POST /pair/token {token}               -> who that is, and the cookie
//!                DELETE /pair/token                     takes the cookie back
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
use serde_json::{Value, json};

use crate::auth::{self, Access, Token};
use crate::gate::Gate;
use crate::guard;
use crate::intake::{Cut, PacedBody, TINY};
use crate::native::{ByName, me};
use crate::problem::Problem;
use crate::router::App;

pub(crate) use codes::{Codes, VALID};

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
    Router::new().route("/pair/consume", post(consume)).route("/pair/token", post(pasted).delete(forget))
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
        let by = self.keys.maker(by);
        let (code, offer) = self.codes.make(mode, label, by, |code| self.link(base, code))?;
        let expires = self.hub.now().plus_millis(VALID.as_millis() as i64);
        let addresses = &self.addresses[..];
        Ok(json!({
            "code": code, "expiresAt": expires, "pairUrl": offer.url, "mode": mode, "addresses": addresses,
        }))
    }

    /// Where a phone goes with a code. Behind the sign, so that no server and no log on the way reads it.
    fn link(&self, base: &str, code: &str) -> String {
        let ca = self.authority().map(|ca| format!("?ca={}", ca.fingerprint)).unwrap_or_default();
        format!("{base}/pair{ca}#{code}")
    }

    /// A code with which the owner's own browser is signed in, for whoever starts the hub at a terminal: that of a link, which
    /// nobody can guess.
    pub fn first_code(&self) -> Option<String> {
        let link = self.first_link("")?;
        link.split_once('#').map(|(_, code)| code.to_owned())
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
    /// One of the hub's addresses, in place of the one that `pairUrl` names.
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
            let told = json!({ "token": token.reveal(), "device": device });
            Ok(with_cookie(Json(told).into_response(), auth::given(&token, secure)))
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

/// Only for pages of our own: another one could log a browser out.
async fn forget(State(app): State<App>, headers: HeaderMap) -> Result<Response, Problem> {
    guard::same_origin(&headers)?;
    Ok(with_cookie(StatusCode::NO_CONTENT.into_response(), auth::forgotten(is_secure(&app, &headers))))
}

/// What somebody says whom nobody knows: little, and soon.
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

//! The token in the path: `/with-token/TOKEN/api/v1/...` is `/api/v1/...` with that token.
//!
//! Some clients of foreign protocols can be given an address and nothing else: they send no header of their own. Others
//! see an address more easily than a header, so the way is narrow: it leads to the routes of facades only, and never to
//! the native API, to `/admin` or to the pages. The token is taken out before anything else sees the request, so it is
//! in no log, no error and no answer of the hub. `docs/security.md` names the risk.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, Uri};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

/// What such a path begins with.
const PREFIX: &str = "/with-token/";

/// An address at which there is nothing.
const NOWHERE: &str = "/with-token";

/// All routes, and those that a token in the path leads to. Few hubs need these, so the first request makes them.
pub(crate) fn router(all: Router, by_path: impl FnOnce() -> Router + Send + 'static) -> Router {
    let all = TowerToHyperService::new(all);
    let by_path = Arc::new(LazyLock::new(move || TowerToHyperService::new(by_path())));
    Router::new().fallback(async move |request: Request| {
        let answer = match request.uri().path().starts_with(PREFIX) {
            false => all.call(request).await,
            true => by_path.call(taken_out(request)).await,
        };
        answer.unwrap_or_else(|never| match never {})
    })
}

/// The request with its token in a header. One that must not pass goes to where there is nothing.
fn taken_out(mut request: Request<Body>) -> Request<Body> {
    let rest = request.uri().path().strip_prefix(PREFIX).unwrap_or_default();
    let (token, path) = rest.split_once('/').unwrap_or_default();
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let uri = match path.split('/').next() {
        Some("admin") => None,
        Some(_) | None => format!("/{path}{query}").parse().ok(),
    };
    // What no header can hold is no token: then the request has none.
    let bearer = HeaderValue::try_from(format!("Bearer {}", decoded(token))).ok();
    *request.uri_mut() = uri.unwrap_or(Uri::from_static(NOWHERE));
    let headers = request.headers_mut();
    // A path that names a token means that one.
    for other in [header::COOKIE, header::AUTHORIZATION, HeaderName::from_static("x-api-key")] {
        headers.remove(other);
    }
    if let Some(mut bearer) = bearer {
        bearer.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, bearer);
    }
    request
}

/// A part of a path without its escapes. It is no form, so a plus is a plus.
fn decoded(part: &str) -> String {
    let escaped = format!("t={}", part.replace('+', "%2B").replace('&', "%26"));
    form_urlencoded::parse(escaped.as_bytes()).map(|(_, value)| value.into_owned()).next().unwrap_or_default()
}

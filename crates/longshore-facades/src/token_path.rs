//! The token in the path: `/with-token/TOKEN/api/v1/...` is `/api/v1/...` with that token.
//!
//! Some clients of foreign protocols can be given an address and nothing else: they send no header of their own. Others
//! see an address more easily than a header, so the way is narrow: it leads to the routes of facades only, and never to
//! the native API, to `/admin` or to the pages. The token is taken out before anything else sees the request, so it is
//! in no log, no error and no answer of the hub. `docs/security.md` names the risk.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Uri, header};
use axum::response::IntoResponse;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use crate::problem::Problem;

/// What such a path begins with.
const PREFIX: &str = "/with-token/";

/// All routes, and those that a token in the path leads to.
pub(crate) fn router(all: Router, by_path: Router) -> Router {
    let (all, by_path) = (TowerToHyperService::new(all), TowerToHyperService::new(by_path));
    Router::new().fallback(async move |request: Request| {
        let answer = match request.uri().path().starts_with(PREFIX) {
            false => all.call(request).await,
            true => match taken_out(request) {
                Ok(request) => by_path.call(request).await,
                Err(problem) => return problem.into_response(),
            },
        };
        answer.unwrap_or_else(|never| match never {})
    })
}

/// The request with its token in a header.
fn taken_out(mut request: Request<Body>) -> Result<Request<Body>, Problem> {
    let rest = request.uri().path().strip_prefix(PREFIX).unwrap_or_default();
    let (token, path) = rest.split_once('/').ok_or_else(Problem::no_route)?;
    if path.split('/').next() == Some("admin") {
        return Err(Problem::no_route());
    }
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let uri: Uri = format!("/{path}{query}").parse().map_err(|_| Problem::no_route())?;
    let mut bearer =
        HeaderValue::try_from(format!("Bearer {}", decoded(token))).map_err(|_| Problem::wrong_token())?;
    bearer.set_sensitive(true);
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    // A path that names a token means that one.
    headers.remove(header::COOKIE);
    headers.remove("x-api-key");
    headers.insert(header::AUTHORIZATION, bearer);
    Ok(request)
}

/// A part of a path without its escapes. It is no form, so a plus is a plus.
fn decoded(part: &str) -> String {
    let escaped = part.replace('+', "%2B").replace('&', "%26");
    form_urlencoded::parse(format!("t={escaped}").as_bytes())
        .map(|(_, value)| value.into_owned())
        .next()
        .unwrap_or_default()
}

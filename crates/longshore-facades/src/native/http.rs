//! The calls over HTTP.

use axum::body::Bytes;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{FromRequest, RawPathParams, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, on};
use axum::{Json, Router};

use super::call::{Call, CallResult, TakesMembers, Verb};
use super::calls::calls;
use super::input::{CallInput, Members};
use super::{openapi, socket};
use crate::gate::Gate;
use crate::outgo::OutgoText;
use crate::pair;
use crate::problem::Problem;
use crate::router::App;

type PathParams = Result<RawPathParams, RawPathParamsRejection>;

/// All routes of `/api/v1` and `/admin`: the calls, and the routes that only HTTP has.
pub fn routes() -> Router<App> {
    let calls = calls().iter().fold(Router::new(), |routes, call| routes.route(call.path, route(call)));
    calls
        .route("/admin/pair/qr.svg", get(pair::qr))
        .route("/api/v1/socket", get(socket::upgrade))
        .route("/api/v1/openapi.json", get(async || Json(openapi::document())))
}

fn route(call: &'static Call) -> MethodRouter<App> {
    on(call.verb.filter(), move |gate: Gate, path: PathParams, request: Request| {
        answer(call, gate, path, request)
    })
}

async fn answer(call: &Call, gate: Gate, path: PathParams, request: Request) -> Result<Response, Problem> {
    let path = path?;
    let path: Vec<(&str, &str)> = path.iter().collect();
    let (uri, headers) = (request.uri().clone(), request.headers().clone());
    let body = match takes_body(call, &headers)? {
        true => Bytes::from_request(request, &()).await?,
        false => Bytes::from_static(b"{}"),
    };
    let members = match call.members() {
        TakesMembers::Optional | TakesMembers::Required if call.verb == Verb::Get => {
            Members::Query(uri.query().unwrap_or_default())
        }
        TakesMembers::No | TakesMembers::Optional | TakesMembers::Required => Members::Json(&body),
    };
    let input = CallInput::new(&path, members);
    if let Some(streaming) = call.stream.and_then(|stream| stream(gate.clone(), &input, &headers)) {
        return streaming.await;
    }
    let (account, work) = (gate.outgo(), call.begin(gate.clone(), &input)?);
    let (result, share) = match call.verb {
        Verb::Get => {
            let again = || call.begin(gate.clone(), &input);
            call.finish(work, again, &account).await?
        }
        Verb::Post | Verb::Patch | Verb::Delete => {
            // The body is read. An agent may take long, and nobody needs the body meanwhile.
            drop(body);
            call.finish(work, || Err(Problem::our_fault()), &account).await?
        }
    };
    let CallResult { json, location } = result;
    let location = location.map(|location| [(header::LOCATION, location)]);
    let json = Bytes::from_owner(OutgoText::new(json, share));
    Ok((call.status, location, [(header::CONTENT_TYPE, "application/json")], json).into_response())
}

/// Whether to read the body. A body with another type than JSON is refused. A body that the call does not
/// need stays unread.
fn takes_body(call: &Call, headers: &HeaderMap) -> Result<bool, Problem> {
    let kind = headers.get(header::CONTENT_TYPE);
    match call.members() {
        TakesMembers::No => Ok(false),
        TakesMembers::Optional | TakesMembers::Required if call.verb == Verb::Get => Ok(false),
        TakesMembers::Optional if kind.is_none() && is_bodiless(headers) => Ok(false),
        TakesMembers::Optional | TakesMembers::Required => match kind.is_some_and(is_json) {
            true => Ok(true),
            false => Err(Problem::invalid("the body must be JSON, with `Content-Type: application/json`")),
        },
    }
}

fn is_bodiless(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH);
    !headers.contains_key(header::TRANSFER_ENCODING) && length.is_none_or(|length| length == "0")
}

fn is_json(kind: &HeaderValue) -> bool {
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

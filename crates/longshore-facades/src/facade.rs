//! The table of facades: client protocols that others wrote, and that the hub speaks beside its own.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::{self, Next};
use axum::response::Response;
use longshore_model::id::DeviceId;

use crate::auth::{self, Caller};
use crate::berth::Berth;
use crate::chunks;
use crate::guard::{self, Pages};
use crate::mobile;
use crate::openagents;
use crate::orbit;
use crate::problem::Problem;
use crate::router::{App, guarded};

/// A client protocol that others wrote.
pub struct Facade {
    /// The name, as in the settings and the documents.
    pub name: &'static str,
    /// Routes of callers with a token.
    pub(crate) private: fn() -> Router<App>,
    /// Routes that find out by themselves who calls.
    pub(crate) open: fn() -> Router<App>,
    /// How the protocol says a problem that its own handlers did not see: a missing token, a request that is too large.
    pub(crate) problem: fn(&Problem) -> Response,
}

/// A listener of a facade's own, on the port that its clients know, for clients that can send no token. It is off unless
/// the settings turn it on. Whoever reaches it is one device, which can be revoked as any other.
pub struct FacadeListener {
    /// The name, as in the settings and the documents.
    pub name: &'static str,
    /// The port that its clients know.
    pub port: u16,
    /// The name of the device as which its callers act.
    pub label: &'static str,
    /// The type of service by which clients on the network find it.
    pub service: &'static str,
    /// Its routes. The caller is known when they are reached.
    pub(crate) routes: fn() -> Router<App>,
}

/// All facades.
pub const FACADES: &[Facade] = &[chunks::FACADE, mobile::FACADE, openagents::FACADE, orbit::FACADE];

/// Whether the routes with this path change nothing, although their verb would.
pub(crate) fn only_looks(path: &str) -> bool {
    chunks::LOOKS.contains(&path)
}

/// The listener for the OpenAgents app.
pub const OPENAGENTS: &FacadeListener = &openagents::LISTENER;

impl Facade {
    /// All routes of the facade, with the checks of every request. Whatever refuses a request, the client hears it in
    /// its own protocol.
    pub(crate) fn routes(&'static self, app: &App) -> Router {
        let private = (self.private)().layer(middleware::from_fn_with_state(app.clone(), auth::require));
        let routes = guarded((self.open)().merge(private), Pages::Listed, app.clone());
        routes.layer(middleware::map_response_with_state(self.problem, in_own_form))
    }
}

impl FacadeListener {
    /// The routes, for callers that all are this device.
    pub(crate) fn router(&self, app: &App, device: DeviceId) -> Router<App> {
        let seated = middleware::from_fn_with_state((app.clone(), device), seat);
        (self.routes)().layer(seated).fallback(async || Problem::no_route())
    }
}

/// Lets a request pass as one of the listener's device, unless that is revoked. Browsers are kept out: a page of any site
/// can reach a port of this machine, and a native app names no origin.
async fn seat(
    State((app, device)): State<(App, DeviceId)>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.headers().contains_key(header::ORIGIN) {
        guard::same_origin(request.headers())?;
    }
    let caller: Caller = app.keys.caller(device).ok_or_else(Problem::revoked_token)?;
    if let Some(berth) = request.extensions().get::<Arc<Berth>>() {
        berth.belongs_to(caller.party());
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

async fn in_own_form(State(problem): State<fn(&Problem) -> Response>, response: Response) -> Response {
    let Some(found) = response.extensions().get::<Problem>() else { return response };
    let mut own = problem(found);
    // What the checks have added stays.
    for (name, value) in response.headers() {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) && !own.headers().contains_key(name)
        {
            own.headers_mut().insert(name, value.clone());
        }
    }
    own
}

//! The table of facades: client protocols that others wrote, and that the hub speaks beside its own.

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::middleware;
use axum::response::Response;

use crate::auth;
use crate::chunks;
use crate::guard::Pages;
use crate::mobile;
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

/// All facades.
pub const FACADES: &[Facade] = &[chunks::FACADE, mobile::FACADE, orbit::FACADE];

/// Whether the routes with this path change nothing, although their verb would.
pub(crate) fn only_looks(path: &str) -> bool {
    chunks::LOOKS.contains(&path)
}

impl Facade {
    /// All routes of the facade, with the checks of every request. Whatever refuses a request, the client hears it in
    /// its own protocol.
    pub(crate) fn routes(&'static self, app: &App) -> Router {
        let private = (self.private)().layer(middleware::from_fn_with_state(app.clone(), auth::require));
        let routes = guarded((self.open)().merge(private), Pages::Listed, app.clone());
        routes.layer(middleware::map_response_with_state(self.problem, in_own_form))
    }
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

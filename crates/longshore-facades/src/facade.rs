//! The table of facades: client protocols that others wrote, and that the hub speaks beside its own.

use axum::Router;
use axum::extract::State;
use axum::middleware;
use axum::response::Response;

use crate::problem::Problem;
use crate::router::App;
use crate::{auth, orbit};

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
pub const FACADES: &[Facade] = &[orbit::FACADE];

impl Facade {
    pub(crate) fn routes(&'static self, app: &App) -> Router<App> {
        let private = (self.private)().layer(middleware::from_fn_with_state(app.clone(), auth::require));
        (self.open)().merge(private).layer(middleware::map_response_with_state(self.problem, in_own_form))
    }
}

async fn in_own_form(State(problem): State<fn(&Problem) -> Response>, response: Response) -> Response {
    response.extensions().get::<Problem>().map(problem).unwrap_or(response)
}

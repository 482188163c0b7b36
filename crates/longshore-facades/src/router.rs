//! All routes, and the checks of every request: its `Host`, its size, its token.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use longshore_model::device::{Device, DeviceMode};
use longshore_model::id::DeviceId;
use longshore_session::{Hub, HubError};
use serde_json::json;
use tower_http::catch_panic::CatchPanicLayer;

use crate::auth::{Keys, Owner, Throttle};
use crate::callback::Callbacks;
use crate::facade::{FACADES, FacadeListener};
use crate::guard::{HostNames, Pages};
use crate::intake::{self, Intake};
use crate::kernel::diary::Diary;
use crate::kernel::uploads::Uploads;
use crate::mobile::{MobileDoor, ServerKey};
use crate::openagents::Seats;
use crate::outgo::Outgo;
use crate::pair::Codes;
use crate::presence::Presence;
use crate::problem::Problem;
use crate::push::{Outlet, Push, PushError, Vapid};
use crate::serve::HEAD_BYTES;
use crate::tls::{Authority, Tls};
use crate::web::WebFolder;
use crate::{auth, callback, guard, metrics, native, pair, token_path, web};

/// The most wrong tokens of one address per minute, before the address must wait.
const WRONG_TOKENS: u32 = 30;
/// The most files that clients announce per minute: of one address, and in total.
const UPLOADS: (u32, u32) = (30, 300);

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The settings of a hub's server.
pub struct Setup {
    /// The key by which phones with mobile-agent know the hub.
    pub mobile_key: ServerKey,
    /// The owner's token, and how a new one is stored.
    pub owner: Owner,
    /// The names under which clients may reach the hub.
    pub names: HostNames,
    /// The keys by which push services know the hub.
    pub vapid: Vapid,
    /// Where the hub may send pushes.
    pub outlet: Outlet,
    /// The TLS of the server; none for plain HTTP.
    pub tls: Option<Tls>,
    /// The web app.
    pub web: &'static [web::File],
    /// A folder with another web app, which is served instead.
    pub web_dir: Option<PathBuf>,
    /// What the hub keeps, and where.
    pub storage: Storage,
}

/// What a hub keeps, and where.
#[derive(Clone, Debug, Default)]
pub struct Storage {
    /// The data folder; none for a hub that keeps nothing. Such a hub has files of clients in a temporary folder.
    pub data: Option<PathBuf>,
    /// Days after which a session in which nothing happens is forgotten; 0 is never.
    pub retention_days: u32,
}

/// Why the hub cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The hub cannot read its devices.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The hub cannot send pushes.
    #[error(transparent)]
    Push(#[from] PushError),
}

/// The state of every handler. The hub itself is behind the [`Gate`](crate::gate::Gate).
#[derive(Clone)]
pub struct App {
    pub(crate) hub: Hub,
    pub(crate) keys: Arc<Keys>,
    pub(crate) codes: Arc<Codes>,
    pub(crate) names: Arc<HostNames>,
    pub(crate) wrong_tokens: Arc<Throttle>,
    pub(crate) mobile: Arc<MobileDoor>,
    pub(crate) intake: Arc<Intake>,
    pub(crate) outgo: Arc<Outgo>,
    pub(crate) presence: Arc<Presence>,
    pub(crate) push: Arc<Push>,
    pub(crate) tls: Option<Tls>,
    pub(crate) addresses: Arc<[String]>,
    pub(crate) web: &'static [web::File],
    pub(crate) web_dir: Option<Arc<WebFolder>>,
    pub(crate) storage: Arc<Storage>,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) upload_rate: Arc<Throttle>,
    pub(crate) diary: Arc<Diary>,
    pub(crate) callbacks: Arc<dyn Callbacks>,
    pub(crate) seats: Arc<Seats>,
}

impl App {
    /// An app over a hub, for callers with a token.
    pub async fn open(hub: Hub, setup: Setup) -> Result<Self, SetupError> {
        let Setup { mobile_key, owner, names, vapid, outlet, tls, web, web_dir, storage } = setup;
        let keys = Keys::load(hub.clone(), owner).await?;
        let presence = Arc::<Presence>::default();
        let push = Push::start(hub.clone(), Arc::clone(&keys), Arc::clone(&presence), vapid, outlet)?;
        let folder = storage.data.as_ref().map(|data| data.join("uploads"));
        let uploads = Uploads::open(folder, Uploads::noted_retention(&hub).await?);
        uploads.keep_tidy({
            let hub = hub.clone();
            move || hub.now()
        });
        Ok(Self {
            diary: Arc::new(Diary::new(hub.now())),
            storage: Arc::new(storage),
            uploads,
            upload_rate: Arc::new(Throttle::new(UPLOADS.0, UPLOADS.1)),
            web_dir: web_dir.map(|folder| Arc::new(WebFolder::new(folder))),
            mobile: Arc::new(MobileDoor::new(mobile_key, hub.now())),
            hub,
            keys,
            codes: Arc::default(),
            names: Arc::new(names),
            wrong_tokens: Arc::new(Throttle::new(WRONG_TOKENS, u32::MAX)),
            intake: Arc::default(),
            outgo: Arc::default(),
            presence,
            push,
            tls,
            addresses: Arc::default(),
            web,
            callbacks: Arc::new(callback::Nobody),
            seats: Arc::default(),
        })
    }

    /// Sets the addresses at which other machines reach the hub, the best one first. Without them, it serves
    /// this machine only.
    #[must_use]
    pub fn reached_at(self, addresses: Vec<String>) -> Self {
        Self { addresses: addresses.into(), ..self }
    }

    /// Adds names under which clients may reach the hub.
    #[must_use]
    pub fn also_named(self, names: Vec<String>) -> Self {
        let names = self.names.and(names);
        Self { names: Arc::new(names), ..self }
    }

    /// Adds programs that call back.
    #[must_use]
    pub fn with_callbacks(self, callbacks: Arc<dyn Callbacks>) -> Self {
        Self { callbacks, ..self }
    }

    /// The device as which the callers of a facade's own listener act. Off, the listener has none, and a device that
    /// it had is revoked.
    pub async fn listener_device(
        &self,
        listener: &FacadeListener,
        mode: Option<DeviceMode>,
    ) -> Result<Option<Device>, Problem> {
        match mode {
            Some(mode) => self.keys.device_of_listener(listener.name, listener.label, mode).await.map(Some),
            None => self.keys.forget_listener(listener.name).await.map(|()| None),
        }
    }

    pub(crate) fn secure(&self) -> bool {
        self.tls.is_some()
    }

    pub(crate) fn authority(&self) -> Option<&Authority> {
        self.tls.as_ref().and_then(|tls| tls.authority.as_ref())
    }
}

/// All routes.
pub fn router(app: App) -> Router {
    let private = native::routes()
        .route("/metrics", get(metrics::metrics))
        .method_not_allowed_fallback(async || Problem::wrong_verb())
        .layer(middleware::from_fn_with_state(app.clone(), auth::require));
    let routes = callbacks()
        .route("/health", get(health))
        .route("/prove", get(auth::prove))
        .route("/ca.pem", get(authority))
        .merge(pair::routes())
        .method_not_allowed_fallback(async || Problem::wrong_verb())
        .merge(private);
    let routes = routes.fallback(web::serve);
    let routes = routes.layer(middleware::from_fn_with_state(app.clone(), web::pages_first));
    let own = guarded(routes, Pages::Own, app.clone());
    let all = own.merge(facades(&app));
    token_path::router(all, move || {
        let nowhere = Router::new().fallback(async || Problem::no_route());
        facades(&app).merge(guarded(nowhere, Pages::Listed, app))
    })
}

fn facades(app: &App) -> Router {
    FACADES.iter().fold(Router::new(), |routes, facade| routes.merge(facade.routes(app)))
}

/// The route for programs that call back, and nothing else.
pub(crate) fn callback_router(app: App) -> Router {
    guarded(callbacks().fallback(async || Problem::no_route()), Pages::Own, app)
}

/// The routes of a facade's own listener, for callers that all are this device.
pub(crate) fn facade_router(app: App, listener: &FacadeListener, device: DeviceId) -> Router {
    guarded(listener.router(&app, device), Pages::Own, app)
}

fn callbacks() -> Router<App> {
    Router::new().route("/ws/cli/{session}", get(callback::upgrade))
}

/// The checks of every request.
pub(crate) fn guarded(routes: Router<App>, pages: Pages, app: App) -> Router {
    routes
        .layer(DefaultBodyLimit::max(intake::LARGE))
        .layer(middleware::from_fn(small_enough))
        .layer(middleware::from_fn_with_state((app.clone(), pages), guard::names_only))
        .layer(middleware::from_fn(short_head))
        .layer(CatchPanicLayer::custom(|_| Problem::our_fault().into_response()))
        .layer(middleware::from_fn(hardened))
        .with_state(app)
}

/// Refuses a body that announces to be too large, before any of it is read.
async fn small_enough(request: Request, next: Next) -> Result<Response, Problem> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    match length.and_then(|length| length.parse::<u64>().ok()) {
        Some(length) if length > intake::LARGE as u64 => Err(Problem::too_large(intake::LARGE)),
        Some(_) | None => Ok(next.run(request).await),
    }
}

/// Refuses a head over the documented limit. The HTTP library reads longer heads and refuses only much longer
/// ones.
async fn short_head(request: Request, next: Next) -> Result<Response, Problem> {
    let between = ": \r\n".len();
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + between);
    let line = request.uri().path().len() + request.uri().query().map_or(0, str::len);
    match fields.sum::<usize>() + line > HEAD_BYTES {
        true => Err(Problem::long_head(HEAD_BYTES)),
        false => Ok(next.run(request).await),
    }
}

/// Says that the hub is there, and which version it is, and nothing else.
async fn health() -> Json<serde_json::Value> {
    Json(json!({ "status": "ok", "version": { "appCommit": VERSION } }))
}

/// The certificate of the hub's own authority, for a phone that is to trust it. It is public by nature.
async fn authority(State(app): State<App>) -> Result<Response, Problem> {
    let authority = app.authority().ok_or_else(Problem::no_route)?;
    Ok(([(header::CONTENT_TYPE, "application/x-x509-ca-cert")], authority.pem.clone()).into_response())
}

/// Adds headers against caching, framing and type guessing to every response.
async fn hardened(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}

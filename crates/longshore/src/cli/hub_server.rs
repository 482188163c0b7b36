//! A hub in this process, with everything that belongs to it: its log, its anchor, its server for clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use longshore_drivers::anchor::{Anchor, AnchorConfig, GitReader};
use longshore_drivers::import::WatchPast;
use longshore_drivers::transport::socket::CallbackRegistry;
use longshore_facades::auth::Owner;
use longshore_facades::facade::OPENAGENTS;
use longshore_facades::guard::HostNames;
use longshore_facades::mobile::ServerKey;
use longshore_facades::push::{Outlet, Vapid};
use longshore_facades::tls::Tls;
use longshore_facades::{App, Setup, Storage, serve, serve_callbacks};
use longshore_log::{LogError, MemoryLog, SqliteLog, Stores};
use longshore_model::mcp::{self, McpServer, McpTransport};
use longshore_session::Hub;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::called_back::CalledBack;
use super::connect::Running;
use super::exit::Fault;
use super::home;
use super::listen::{self, CHOOSE_ADDRESS, HubAddresses};
use super::own_listener::OwnListener;
use super::private;
use super::verified;
use crate::config::{Config, Places};

/// How often conversations that were held elsewhere are looked for.
const LOOK_FOR_PAST_EVERY: Duration = Duration::from_secs(10);

/// A hub that listens. Nobody is served until [`HubServer::serve`].
pub(super) struct HubServer {
    pub(super) hub: Hub,
    pub(super) app: App,
    pub(super) place: HubAddresses,
    pub(super) tls: Option<Tls>,
    anchor: Anchor,
    listener: TcpListener,
    /// The listener for clients without a token, if there is one.
    open_door: Option<OwnListener>,
    /// What it says of itself to other verbs.
    note: PathBuf,
}

/// Where a log is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    OnDisk,
    InMemory,
}

impl HubServer {
    /// Opens the log and listens. `anchored` may change how agents are found and run.
    pub(super) async fn open(
        places: &Places,
        config: &Config,
        keep: Keep,
        owner: Owner,
        anchored: impl FnOnce(AnchorConfig) -> AnchorConfig,
    ) -> Result<Self> {
        let stores: Stores = match keep {
            Keep::InMemory => Arc::new(MemoryLog::default()).into(),
            Keep::OnDisk => Arc::new(open_log(places, config)?).into(),
        };
        let listener =
            TcpListener::bind(&config.bind).await.map_err(|error| cannot_listen(&config.bind, &error))?;
        let address = listener.local_addr()?;
        let tls = listen::tls(places, config, address)?;
        let place = HubAddresses::of(address, config, tls.is_some());
        let hub = Hub::new(stores);
        if config.idle_minutes > 0 {
            hub.rest_idle_after(std::time::Duration::from_secs(u64::from(config.idle_minutes) * 60));
        }
        hub.allow_variables(config.mcp_env.clone());
        let door = match tls.is_some() {
            true => Some(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?),
            false => None,
        };
        let called = door.as_ref().map_or(Ok(from_here(address)), TcpListener::local_addr)?;
        let reception = CallbackRegistry::at(format!("ws://{called}/ws/cli"));
        let mut settings = anchored(anchor_settings(config, reception.clone())?);
        settings.leashes = match keep {
            Keep::InMemory => None,
            Keep::OnDisk => Some(places.leashes()),
        };
        settings.annotations = verified::annotations(places.clone());
        let callbacks = Arc::new(CalledBack::of(&settings, reception));
        let anchor = start_anchor(&hub, settings);
        hub.recover().await?;

        let vapid = match keep {
            Keep::InMemory => Vapid::fleeting(config.push_contact.clone())?,
            Keep::OnDisk => Vapid::load(&places.push_keys(), config.push_contact.clone())?,
        };
        let mobile_key = match keep {
            Keep::InMemory => ServerKey::fleeting()?,
            Keep::OnDisk => ServerKey::load(&places.mobile_key())?,
        };
        let setup = Setup {
            mobile_key,
            owner,
            names: HostNames::also(config.allow_hosts.iter().cloned().chain(place.hosts()))
                .with_pages_of(config.allow_origins.iter().cloned()),
            vapid,
            outlet: Outlet::World,
            tls: tls.clone(),
            web: longshore_facades::web::FILES,
            web_dir: config.web_dir.clone(),
            storage: Storage {
                data: (keep == Keep::OnDisk).then(|| places.data.clone()),
                retention_days: config.retention_days,
            },
        };
        let app = App::open(hub.clone(), setup).await?;
        let app = app.reached_at(place.others.clone()).with_callbacks(callbacks);
        let at = SocketAddr::new(address.ip(), config.openagents_port);
        let open_door = OwnListener::open(OPENAGENTS, config.openagents, at, &app).await?;
        let app = match &open_door {
            Some(open_door) => app.also_named(open_door.host_names()),
            None => app,
        };
        if let Some(door) = door {
            tokio::spawn(serve_callbacks(door, app.clone()));
        }
        Ok(Self { hub, app, place, tls, anchor, listener, open_door, note: places.running() })
    }

    /// Says where it is to other verbs, in the data folder.
    pub(super) fn announce(&self) -> Result<Running> {
        let running = Running {
            url: self.place.url.clone(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            fingerprint: self.tls.as_ref().map(|tls| tls.fingerprint.clone()),
            authority: self.tls.as_ref().and_then(|tls| Some(tls.authority.as_ref()?.fingerprint.clone())),
            others: self.place.others.clone(),
            openagents: self.open_door.as_ref().map(|open_door| open_door.door.clone()),
        };
        private::put(&self.note, &serde_json::to_vec(&running)?)
            .with_context(|| format!("cannot save the address of the hub in {}", self.note.display()))?;
        Ok(running)
    }

    /// Serves until `stop`, then calls `stopping`, ends the agents and records how they ended.
    pub(super) async fn serve(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
        stopping: impl FnOnce(),
    ) -> Result<()> {
        let mut tasks = JoinSet::new();
        if let Some(open_door) = self.open_door {
            open_door.serve(self.app.clone(), &mut tasks);
        }
        let served = serve(self.listener, self.app, stop).await;
        drop(tasks);
        stopping();
        self.anchor.shutdown().await;
        self.hub.settle().await;
        drop(std::fs::remove_file(self.note));
        served.context("the hub can no longer listen")
    }
}

fn open_log(places: &Places, config: &Config) -> Result<SqliteLog> {
    let durability = match config.durability {
        crate::config::Durability::Full => longshore_log::Durability::Full,
        crate::config::Durability::Normal => longshore_log::Durability::Normal,
    };
    let settings = longshore_log::LogSettings { durability, ..longshore_log::LogSettings::default() };
    SqliteLog::open(&places.data, &settings).map_err(|error| match error {
        LogError::Locked { .. } => home::is_taken(places).into(),
        error => error.into(),
    })
}

pub(super) fn cannot_listen(bind: &str, error: &std::io::Error) -> Fault {
    let what = format!("cannot listen at {bind}: {error}");
    match error.kind() {
        std::io::ErrorKind::AddrInUse => Fault::conflict(
            what,
            "another program listens there; choose a free port with `longshore up --bind`; without `--bind` the hub listens \
             where the settings say",
        ),
        _ => Fault::usage(what, CHOOSE_ADDRESS),
    }
}
/// The address at which programs of this machine reach a hub that listens there.
fn from_here(listens: SocketAddr) -> SocketAddr {
    let ip = match listens.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listens.port())
}

fn anchor_settings(config: &Config, reception: CallbackRegistry) -> Result<AnchorConfig> {
    let day = Duration::from_secs(24 * 3600);
    let past = WatchPast {
        every: config.watch_past.then_some(LOOK_FOR_PAST_EVERY),
        // What would be forgotten at once need not be taken in.
        oldest: (config.retention_days > 0).then(|| day * config.retention_days),
    };
    let named = |(name, transport): (&String, &McpTransport)| McpServer {
        name: name.clone(),
        transport: transport.clone(),
    };
    let mcp_servers: Vec<McpServer> = config.mcp.iter().map(named).collect();
    mcp::check(&mcp_servers).context("cannot use the MCP servers of the settings")?;
    let mcp_env = config.mcp_env.clone();
    let git = GitReader::by(|cwd| async move { longshore_agent::git::look_at(&cwd).await })
        .and_answers(|cwd, asked| async move { longshore_agent::git::answer(&cwd, asked).await });
    Ok(AnchorConfig {
        past,
        reception,
        mcp_servers,
        mcp_env,
        git,
        ..AnchorConfig::of(config.agents.clone())?
    })
}

fn start_anchor(hub: &Hub, settings: AnchorConfig) -> Anchor {
    let anchor = Anchor::start(settings, Arc::new(hub.mailbox()));
    hub.attach(anchor.sender());
    anchor
}

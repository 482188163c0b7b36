//! `longshore up`: the hub with an anchor inside.

use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use longshore_drivers::anchor::{Anchor, AnchorConfig};
use longshore_drivers::past::WatchPast;
use longshore_drivers::transport::socket::Reception;
use longshore_facades::auth::{Owner, Token};
use longshore_facades::guard::Names;
use longshore_facades::push::{Outlet, Vapid};
use longshore_facades::tls::Tls;
use longshore_facades::{App, Setup, serve, serve_callbacks};
use longshore_log::{Log, LogError, MemoryLog, SqliteLog};
use longshore_model::mcp::{self, McpServer, McpTransport};
use longshore_model::time::Timestamp;
use longshore_session::Hub;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tracing::{info, warn};

use super::called_back::CalledBack;
use super::exit::Fault;
use super::listen::{self, Listen, Place};
use super::pair;
use super::reach::Running;
use super::terminal::{now, put_line, style};
use crate::config::{Config, Places};
use crate::render::Show;

/// How often conversations that were held elsewhere are looked for.
const LOOK_FOR_PAST_EVERY: Duration = Duration::from_secs(10);
/// When the log is first tidied after a start.
const TIDY_FIRST: Duration = Duration::from_secs(60);
/// And how often from then on.
const TIDY_EVERY: Duration = Duration::from_secs(3600);

/// Start the hub and stay with it.
#[derive(Debug, Args)]
pub(super) struct Up {
    #[command(flatten)]
    listen: Listen,
    /// Keep the log in memory: it ends with the hub
    #[arg(long)]
    ephemeral: bool,
}

impl Up {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        start_logging();
        let places = Places::find()?;
        let mut config = Config::load(&places)?;
        self.listen.apply(&mut config);
        listen::check(&config).await?;

        places.make_data()?;
        let log: Arc<dyn Log> = match self.ephemeral {
            true => Arc::new(MemoryLog::default()),
            false => Arc::new(open_log(&places, &config)?),
        };
        let owner = owner(&places)?;

        let listener =
            TcpListener::bind(&config.bind).await.map_err(|error| cannot_listen(&config.bind, &error))?;
        let address = listener.local_addr()?;
        let tls = listen::tls(&places, &config, address)?;
        let place = Place::of(address, &config, tls.is_some());
        let hub = Hub::new(log);
        let door = match tls.is_some() {
            true => Some(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?),
            false => None,
        };
        let called = door.as_ref().map_or(Ok(from_here(address)), TcpListener::local_addr)?;
        let reception = Reception::at(format!("ws://{called}/ws/cli"));
        let settings = anchor_settings(&config, reception.clone())?;
        let callbacks = Arc::new(CalledBack::of(&settings, reception));
        let anchor = start_anchor(&hub, settings);
        hub.recover().await?;
        tokio::spawn(tidy(hub.clone(), config.clone()));

        let vapid = match self.ephemeral {
            true => Vapid::fleeting(config.push_contact.clone())?,
            false => Vapid::load(&places.push_keys(), config.push_contact.clone())?,
        };
        let setup = Setup {
            owner,
            names: Names::also(config.allow_hosts.iter().cloned().chain(place.public_host())),
            vapid,
            outlet: Outlet::World,
            tls: tls.clone(),
            public_url: place.public.clone(),
            web: longshore_facades::web::FILES,
        };
        let app = App::open(hub.clone(), setup).await?.with_callbacks(callbacks);
        if let Some(door) = door {
            tokio::spawn(serve_callbacks(door, app.clone()));
        }
        let running = announce(&places, &place, tls.as_ref(), &app, as_json)?;
        let served = serve(listener, app, asked_to_stop()?).await;
        info!("stopping: agents are told, the log is closed");
        tokio::spawn(async {
            // Whoever asks twice wants it now.
            if let Ok(again) = asked_to_stop() {
                again.await;
                std::process::exit(130);
            }
        });
        anchor.shutdown().await;
        hub.settle().await;
        drop(std::fs::remove_file(running));
        served.context("the hub could not go on listening")?;
        Ok(ExitCode::SUCCESS)
    }
}

pub(super) fn start_logging() {
    let filter = std::env::var("LONGSHORE_LOG").or_else(|_| std::env::var("RUST_LOG"));
    let filter = tracing_subscriber::EnvFilter::new(filter.as_deref().unwrap_or("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}

fn open_log(places: &Places, config: &Config) -> Result<SqliteLog> {
    let durability = match config.durability {
        crate::config::Durability::Full => longshore_log::Durability::Full,
        crate::config::Durability::Normal => longshore_log::Durability::Normal,
    };
    let settings = longshore_log::Settings { durability, ..longshore_log::Settings::default() };
    SqliteLog::open(&places.data, &settings).map_err(|error| match (&error, Running::read(places)) {
        (LogError::Locked { .. }, Some(running)) => {
            let what = format!("a hub is up already, at {} (process {})", running.url, running.pid);
            Fault::conflict(what, "use it as it is, or stop it with `longshore down`").into()
        }
        _ => error.into(),
    })
}

fn cannot_listen(bind: &str, error: &std::io::Error) -> Fault {
    let hint = match error.kind() {
        std::io::ErrorKind::AddrInUse => "another program listens there; choose a free port with `--bind`",
        _ => "choose an address and a port with `--bind`, as in 127.0.0.1:8790",
    };
    Fault::conflict(format!("cannot listen at {bind}: {error}"), hint)
}

/// The token of the environment, of the file, or a new one in the file, which only its owner can read.
fn owner(places: &Places) -> Result<Owner> {
    if let Ok(token) = std::env::var("LONGSHORE_TOKEN") {
        return Ok(Owner { token: Token::new(token), keep: None });
    }
    let path = places.token();
    let kept = |token| {
        let path = path.clone();
        Owner { token, keep: Some(Box::new(move |token| keep(&path, token))) }
    };
    if let Ok(text) = std::fs::read_to_string(&path) {
        return Ok(kept(Token::new(text.trim())));
    }
    let token = Token::random().map_err(|error| anyhow::anyhow!("no randomness for a token: {error}"))?;
    keep(&path, &token).with_context(|| format!("cannot keep the token in {}", path.display()))?;
    Ok(kept(token))
}

/// Puts a token in its place, all at once: there is never half of one.
fn keep(path: &Path, token: &Token) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(&new)?;
    std::io::Write::write_all(&mut file, format!("{}\n", token.reveal()).as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
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

fn anchor_settings(config: &Config, reception: Reception) -> Result<AnchorConfig> {
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
    mcp::check(&mcp_servers).context("the settings' MCP servers cannot be used")?;
    Ok(AnchorConfig { past, reception, mcp_servers, ..AnchorConfig::of(config.agents.clone())? })
}

fn start_anchor(hub: &Hub, settings: AnchorConfig) -> Anchor {
    let deliver_to = hub.clone();
    let anchor = Anchor::start(
        settings,
        Arc::new(move |message| {
            let hub = deliver_to.clone();
            Box::pin(async move { hub.deliver(message).await })
        }),
    );
    hub.attach(anchor.sender());
    anchor
}

/// Says where the hub is: to people on stdout, to other verbs in the data folder.
fn announce(
    places: &Places,
    place: &Place,
    tls: Option<&Tls>,
    app: &App,
    as_json: bool,
) -> Result<std::path::PathBuf> {
    let running = Running {
        url: place.url.clone(),
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        fingerprint: tls.map(|tls| tls.fingerprint.clone()),
    };
    let note = serde_json::to_string(&running)?;
    let path = places.running();
    let mut file =
        std::fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&path)?;
    std::io::Write::write_all(&mut file, note.as_bytes())?;
    // A hub whose words nobody reads serves all the same.
    let _ = put_line(if as_json { note } else { welcome(place, tls, app) });
    Ok(path)
}

fn welcome(place: &Place, tls: Option<&Tls>, app: &App) -> String {
    let mut told = format!("longshore is up at {}\n", place.url);
    // A link that opens the hub is for a person who sits there, and for no file.
    let link = std::io::stdout().is_terminal().then(|| app.first_link(&place.url)).flatten();
    if let Some(link) = link {
        told += &format!("  open it   {link}   (for 5 minutes; later: longshore pair)\n");
    }
    if let Some(public) = &place.public {
        told += &format!("  others    {public}   (a phone: longshore pair)\n");
        let link = std::io::stdout().is_terminal().then(|| app.first_link(public)).flatten();
        if let Some(picture) = link.and_then(|link| pair::drawn(&link, style(Show::Hidden).color)) {
            told += &format!("{picture}\n");
        }
    }
    if let Some(authority) = tls.and_then(|tls| tls.authority.as_ref()) {
        told += &format!("  trust     {}/ca.pem, SHA-256 {}\n", place.url, authority.fingerprint);
    }
    told += "  try it    longshore run codex \"what is in this folder?\"\n  ";
    told + "stop it   Ctrl-C here, or longshore down"
}

/// Resolves at the first SIGINT or SIGTERM.
pub(super) fn asked_to_stop() -> Result<impl Future<Output = ()> + Send + 'static> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Drops deltas that nobody needs any more, and sessions that are to be forgotten.
async fn tidy(hub: Hub, config: Config) {
    // Not at once: whoever starts a hub wants to use it first.
    let mut hourly = tokio::time::interval_at(Instant::now() + TIDY_FIRST, TIDY_EVERY);
    loop {
        hourly.tick().await;
        let ago = |hours: u32| -> Timestamp { now().plus_millis(-i64::from(hours) * 3_600_000) };
        if let Err(error) = hub.compact(ago(config.compact_after_hours)).await {
            warn!(%error, "the log could not be compacted");
        }
        if config.retention_days > 0
            && let Err(error) = hub.forget(ago(config.retention_days.saturating_mul(24))).await
        {
            warn!(%error, "old sessions could not be forgotten");
        }
    }
}

//! `longshore up`: the hub with an anchor inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use longshore_drivers::anchor::{Anchor, AnchorConfig};
use longshore_drivers::past::WatchPast;
use longshore_drivers::transport::socket::Reception;
use longshore_facades::auth::Token;
use longshore_facades::guard::Names;
use longshore_facades::{App, serve};
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
use super::reach::Running;
use super::terminal::{now, put_line};
use crate::config::{Config, Places};

/// How often conversations that were held elsewhere are looked for.
const LOOK_FOR_PAST_EVERY: Duration = Duration::from_secs(10);
/// When the log is first tidied after a start.
const TIDY_FIRST: Duration = Duration::from_secs(60);
/// And how often from then on.
const TIDY_EVERY: Duration = Duration::from_secs(3600);

/// Start the hub and stay with it.
#[derive(Debug, Args)]
pub(super) struct Up {
    /// Where to listen
    #[arg(long, env = "LONGSHORE_BIND", value_name = "ADDRESS")]
    bind: Option<String>,
    /// A name besides loopback under which this hub may be reached; can be given several times
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Keep the log in memory: it ends with the hub
    #[arg(long)]
    ephemeral: bool,
}

impl Up {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        start_logging();
        let places = Places::find()?;
        let mut config = Config::load(&places)?;
        config.bind = self.bind.unwrap_or(config.bind);
        config.allow_hosts.extend(self.allow_host);

        places.make_data()?;
        let log: Arc<dyn Log> = match self.ephemeral {
            true => Arc::new(MemoryLog::default()),
            false => Arc::new(open_log(&places, &config)?),
        };
        let token = token(&places)?;

        let listener =
            TcpListener::bind(&config.bind).await.map_err(|error| cannot_listen(&config.bind, &error))?;
        let address = listener.local_addr()?;
        let hub = Hub::new(log);
        let reception = Reception::at(format!("ws://{}/ws/cli", from_here(address)));
        let settings = anchor_settings(&config, reception.clone())?;
        let callbacks = Arc::new(CalledBack::of(&settings, reception));
        let anchor = start_anchor(&hub, settings);
        hub.recover().await?;
        tokio::spawn(tidy(hub.clone(), config.clone()));

        let running = announce(&places, address, as_json)?;
        let app = App::new(hub.clone(), token, Names::also(config.allow_hosts)).with_callbacks(callbacks);
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

fn start_logging() {
    use std::io::IsTerminal;
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
fn token(places: &Places) -> Result<Token> {
    if let Ok(token) = std::env::var("LONGSHORE_TOKEN") {
        return Ok(Token::new(token));
    }
    let path = places.token();
    if let Ok(text) = std::fs::read_to_string(&path) {
        return Ok(Token::new(text.trim()));
    }
    let token = Token::random().map_err(|error| anyhow::anyhow!("no randomness for a token: {error}"))?;
    let mut file = std::fs::OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot keep the token in {}", path.display()))?;
    std::io::Write::write_all(&mut file, format!("{}\n", token.reveal()).as_bytes())?;
    Ok(token)
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
fn announce(places: &Places, address: SocketAddr, as_json: bool) -> Result<std::path::PathBuf> {
    let url = format!("http://{address}");
    let running = Running { url, pid: std::process::id(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let note = serde_json::to_string(&running)?;
    let path = places.running();
    let mut file =
        std::fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&path)?;
    std::io::Write::write_all(&mut file, note.as_bytes())?;
    let told = match as_json {
        true => note,
        false => format!(
            "longshore is up at {}\n  \
             try it    longshore run codex \"what is in this folder?\"\n  \
             stop it   Ctrl-C here, or longshore down",
            running.url
        ),
    };
    // A hub whose words nobody reads serves all the same.
    let _ = put_line(told);
    Ok(path)
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

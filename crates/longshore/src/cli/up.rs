//! `longshore up`: the hub with an anchor inside.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use longshore_facades::App;
use longshore_facades::auth::{Owner, Token};
use longshore_facades::tls::Tls;
use longshore_model::time::Timestamp;
use longshore_session::Hub;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tracing::{info, warn};

use super::house::{self, House, Keep};
use super::listen::{self, Listen, Place};
use super::pair;
use super::terminal::{now, put_line, style};
use crate::config::{Config, Places};
use crate::render::Show;

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
        let keep = if self.ephemeral { Keep::InMemory } else { Keep::OnDisk };
        // The token of the environment goes before that of the file.
        let owner = match std::env::var("LONGSHORE_TOKEN") {
            Ok(token) => Owner { token: Token::new(token), keep: None },
            Err(_) => house::owner_of(&places)?,
        };
        let house = House::open(&places, &config, keep, owner, |anchor| anchor).await?;
        tokio::spawn(tidy(house.hub.clone(), config));
        let running = house.announce()?;
        let told = match as_json {
            true => serde_json::to_string(&running)?,
            false => welcome(&house.place, house.tls.as_ref(), &house.app),
        };
        // A hub whose words nobody reads serves all the same.
        let _ = put_line(told);
        let stopping = || {
            info!("stopping: agents are told, the log is closed");
            tokio::spawn(async {
                // Whoever asks twice wants it now.
                if let Ok(again) = asked_to_stop() {
                    again.await;
                    std::process::exit(130);
                }
            });
        };
        house.serve(asked_to_stop()?, stopping).await?;
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

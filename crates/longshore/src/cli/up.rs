//! `longshore up`: the hub with an anchor inside.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use longshore_facades::App;
use longshore_facades::auth::{Owner, Token};
use longshore_facades::log_tail::LogTail;
use longshore_model::time::Timestamp;
use longshore_session::Hub;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tracing::{info, warn};
use tracing_subscriber::fmt::writer::MakeWriterExt;

use super::connect::Running;
use super::home;
use super::hub_server::{HubServer, Keep};
use super::link;
use super::listen::{self, HubAddresses, Listen};
use super::start;
use super::terminal::{now, put_line};
use super::token_file;
use super::welcome::{Links, welcome};
use crate::config::{Config, Places};

/// When the log is first tidied after a start.
const TIDY_FIRST: Duration = Duration::from_secs(60);
/// And how often from then on.
const TIDY_EVERY: Duration = Duration::from_secs(3600);

/// Start the hub in the foreground.
#[derive(Debug, Args)]
pub(super) struct Up {
    #[command(flatten)]
    listen: Listen,
    /// Keep the log in memory: it is lost when the hub ends
    #[arg(long)]
    ephemeral: bool,
    /// Leave the hub in the background, and return when it answers
    #[arg(long, short)]
    detach: bool,
    /// Listen where `up` was last told to: for verbs that start the hub by the way
    #[arg(long, hide = true)]
    as_before: bool,
}

impl Up {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        if self.detach {
            return detach(as_json).await;
        }
        start_logging();
        let places = Places::find()?;
        let mut config = Config::load(&places)?;
        let listen = match self.as_before {
            true => Listen::remembered(&places)?,
            false => self.listen,
        };
        listen.clone().apply(&mut config);
        listen::check(&config).await?;
        let named = token_file::named()?;
        if let Some(token) = named {
            listen::check_token(&config, token).await?;
        }

        places.make_data()?;
        // Before anything is read or made there: hubs that start at once would each make a token, and a note of their own.
        home::hold(&places).await?;
        let keep = if self.ephemeral { Keep::InMemory } else { Keep::OnDisk };
        let owner = match named {
            Some(token) => Owner { token: Token::new(token), keep: None },
            None => token_file::owner_of(&places)?,
        };
        let server = HubServer::open(&places, &config, keep, owner, |anchor| anchor).await?;
        // A hub that is started by the way was told nothing new.
        if keep == Keep::OnDisk && !self.as_before {
            listen.remember(&places).with_context(|| {
                format!("cannot save the address at which the hub listens in {}", places.listened().display())
            })?;
        }
        tokio::spawn(tidy(server.hub.clone(), config));
        let running = server.announce()?;
        let told = match as_json {
            true => serde_json::to_string(&running)?,
            false => {
                let said =
                    welcome(&running, &links(&server.place, &server.app), "Ctrl-C here, or longshore down");
                format!("longshore is up at {}\n{said}", running.url)
            }
        };
        // A hub whose words nobody reads serves all the same.
        let _ = put_line(told);
        let stopping = || {
            info!("stopping: the hub ends its agents and closes the log");
            tokio::spawn(async {
                // Whoever presses Ctrl-C again wants it now. SIGTERM is no hurry: each of several `down` sends it.
                if let Ok(mut again) = signal(SignalKind::interrupt()) {
                    again.recv().await;
                    std::process::exit(130);
                }
            });
        };
        server.serve(asked_to_stop()?, stopping).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Has another process be the hub, with the same words but for the one that says so.
async fn detach(as_json: bool) -> Result<ExitCode> {
    let places = Places::find()?;
    if home::is_held(&places) {
        return Err(home::is_taken(&places).into());
    }
    let words = std::env::args_os().skip(1).filter(|word| word != "--detach" && word != "-d");
    let mut client = start::start(words.filter(|word| word != "--json")).await?;
    let running = Running::read(&places).context(
        "the hub runs, but its file hub.json is missing; stop it with `longshore down` and start it again",
    )?;
    if as_json {
        put_line(serde_json::to_string(&running)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let links = match std::io::stdout().is_terminal() {
        true => Links {
            browser: link::sign_in(&mut client).await,
            phone: match running.others.is_empty() {
                true => None,
                false => link::pairing(&mut client).await,
            },
        },
        false => Links::default(),
    };
    let said = welcome(&running, &links, "longshore down");
    put_line(format_args!("longshore is up at {}, in the background\n{said}", running.url))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn start_logging() {
    let filter = std::env::var("LONGSHORE_LOG").or_else(|_| std::env::var("RUST_LOG"));
    let filter = tracing_subscriber::EnvFilter::new(filter.as_deref().unwrap_or("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr.and(LogTail::of_this_process))
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        // The library would print its own failure to stderr, and end the thread that logs if that fails as well. A hub
        // whose log nobody takes goes on.
        .log_internal_errors(false)
        .init();
}

/// The links of a hub that is this process.
fn links(place: &HubAddresses, app: &App) -> Links {
    if !std::io::stdout().is_terminal() {
        return Links::default();
    }
    Links {
        browser: app.first_link(&place.url).and_then(|link| link::entering(&place.url, &link)),
        phone: place.public().and_then(|public| app.first_link(public)),
    }
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
            warn!(%error, "cannot compact the log");
        }
        if config.retention_days > 0
            && let Err(error) = hub.forget(ago(config.retention_days.saturating_mul(24))).await
        {
            warn!(%error, "cannot delete old sessions");
        }
    }
}

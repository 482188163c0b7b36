//! `longshore demo`: shows everything in half a minute, without an account and without a network.

mod stage;
mod texts;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use longshore_model::id::Seq;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use self::stage::DemoStage;
use super::exit::INTERRUPTED;
use super::live::{Live, Until, WatchEnd};
use super::responder::Responder;
use super::terminal::{Outlet, Screen, is_interactive, now, put_line, style, typed_lines};
use crate::demo::Cast;
use crate::demo::cast::Size;
use crate::render::{Show, Style};

/// How long the first words stand before the session begins.
const READ: Duration = Duration::from_millis(1500);
/// How long it takes to answer for somebody.
const PONDER: Duration = Duration::from_millis(3200);

/// Show everything in half a minute: a hub, an agent and a scripted model.
#[derive(Debug, Args)]
#[command(
    after_help = "The demo uses a private folder and deletes it afterwards. Without a terminal, it answers its own questions and ends by itself."
)]
pub(super) struct Demo {
    /// Answer the agent's questions for you
    #[arg(long, short)]
    yes: bool,
    /// Let a phone watch: listen on the network with TLS, and show a QR code
    #[arg(long)]
    phone: bool,
    /// Keep the hub running afterwards, until Ctrl-C
    #[arg(long)]
    stay: bool,
    /// Keep the private folder
    #[arg(long)]
    keep: bool,
    /// Record the terminal to a file, as an asciicast; without a terminal, in the size 100 by 30
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Run this many times as fast
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = speed)]
    speed: f64,
}

fn speed(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().map_err(|error| error.to_string())?;
    match (0.1..=1000.0).contains(&factor) {
        true => Ok(factor),
        false => Err("the factor must be from 0.1 to 1000".to_owned()),
    }
}

impl Demo {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        // From here on nobody ends us without our taking things away.
        let (mut terminate, mut hangup) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        let mut interrupt = signal(SignalKind::interrupt())?;
        let screen = self.screen(as_json)?;
        let stage = tokio::select! {
            stage = DemoStage::set_up(self.speed, self.phone, self.keep) => stage?,
            _ = interrupt.recv() => return Ok(ExitCode::from(INTERRUPTED)),
            _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
            _ = hangup.recv() => return Ok(ExitCode::SUCCESS),
        };
        let played = tokio::select! {
            played = self.play(&stage, screen, as_json) => played,
            _ = terminate.recv() => Ok(ExitCode::SUCCESS),
            _ = hangup.recv() => Ok(ExitCode::SUCCESS),
        };
        let kept = stage.strike().await?;
        if let (Some(folder), false) = (kept, as_json) {
            put_line(texts::kept(&folder))?;
        }
        played
    }

    async fn play(&self, stage: &DemoStage, mut screen: Screen, as_json: bool) -> Result<ExitCode> {
        if as_json {
            put_line(json!({ "url": stage.url, "token": stage.token }))?;
        } else {
            screen.print(&texts::welcome(stage, &screen.style))?;
        }
        let shown = &stage.story.shown;
        let opened = async {
            tokio::time::sleep(READ.div_f64(self.speed)).await;
            stage.open(shown).await
        };
        let opened = tokio::select! {
            opened = opened => opened?,
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::from(INTERRUPTED)),
        };
        let beside = stage.open_beside();
        let hand = match is_interactive() && !as_json && !self.yes {
            true => Responder::Person(typed_lines()),
            false => Responder::itself(PONDER.div_f64(self.speed)),
        };
        let session = opened.session.session_id;
        let until = Until::Turn(opened.turn);
        let mut live = Live::on(opened.client, opened.session, until, false, screen, hand);
        let watched = live.follow(Seq::ZERO).await?;
        if watched != WatchEnd::Turn(TurnOutcome::Completed) {
            return Ok(watched.code());
        }
        let sessions = tokio::select! {
            sessions = stage.all_stand(session, beside) => sessions?,
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::from(INTERRUPTED)),
        };
        let Live { mut screen, hand, .. } = live;
        if as_json {
            put_line(json!({ "ready": true, "sessions": sessions.names, "folder": stage.folder() }))?;
        } else {
            screen.print(&texts::farewell(
                stage,
                &sessions.beside,
                self.stays(as_json),
                now(),
                &screen.style,
            ))?;
        }
        self.linger(stage, screen, hand, as_json).await?;
        Ok(ExitCode::SUCCESS)
    }

    /// Whether the hub is there after the last words.
    fn stays(&self, as_json: bool) -> bool {
        self.stay || (is_interactive() && !as_json)
    }

    /// Stays until whoever looks around has seen enough.
    async fn linger(
        &self,
        stage: &DemoStage,
        mut screen: Screen,
        hand: Responder,
        as_json: bool,
    ) -> Result<()> {
        if self.stays(as_json) {
            let mut lines = match (self.stay, hand) {
                (true, _) => None,
                (false, Responder::Person(lines)) => Some(lines),
                (false, Responder::Elsewhere | Responder::Itself { .. }) => Some(typed_lines()),
            };
            let typed = async {
                match &mut lines {
                    // The end of input is an answer too.
                    Some(lines) => drop(lines.recv().await),
                    None => std::future::pending().await,
                }
            };
            if !as_json {
                screen.print(&texts::staying(stage, self.stay, &screen.style))?;
            }
            tokio::select! {
                () = typed => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Ok(())
    }

    /// The terminal, or what stands for one in a recording.
    fn screen(&self, as_json: bool) -> Result<Screen> {
        let on_terminal = std::io::stdout().is_terminal() && !as_json;
        let Some(path) = &self.record else {
            let outlet = Outlet { silent: as_json, cast: None };
            return Ok(Screen::showing(style(Show::Folded), on_terminal, outlet));
        };
        let here = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
        let here = here.filter(|size| on_terminal && size.ws_col > 0 && size.ws_row > 0);
        let size = here.map_or_else(Size::default, |size| Size { columns: size.ws_col, rows: size.ws_row });
        let style = match on_terminal {
            true => style(Show::Folded),
            false => Style { color: true, width: size.columns.into(), ..Style::default() },
        };
        let cast = Cast::create(path, "longshore demo", size, now());
        let cast = cast.with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Screen::showing(style, true, Outlet { silent: as_json, cast: Some(cast) }))
    }
}

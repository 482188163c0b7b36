//! The demo's own texts, before and after the session.

use std::path::Path;

use longshore_model::info::SessionInfo;
use longshore_model::time::Timestamp;

use super::stage::DemoStage;
use crate::cli::pair;
use crate::render::{Style, sessions_table};

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const DIM: anstyle::Style = anstyle::Style::new().dimmed();
const LINK: anstyle::Style =
    anstyle::Style::new().underline().fg_color(Some(anstyle::Color::Ansi(anstyle::AnsiColor::Cyan)));

fn inked(text: &str, ink: anstyle::Style, style: &Style) -> String {
    if style.color { format!("{ink}{text}{ink:#}") } else { text.to_owned() }
}

/// A word in front of something, in a column.
fn row(word: &str, text: &str, style: &Style) -> String {
    format!("  {} {text}\n", inked(&format!("{word:<12}"), DIM, style))
}

fn link(stage: &DemoStage, style: &Style) -> String {
    match longshore_facades::web::FILES.is_empty() {
        true => format!("{} (the web app is missing: `make` builds it, with Node)", stage.url),
        false => inked(&format!("{}/?token={}", stage.url, stage.token), LINK, style),
    }
}

/// Before the session.
pub(super) fn welcome(stage: &DemoStage, style: &Style) -> String {
    let mut told = format!("\n{}\n", inked("longshore demo", BOLD, style));
    told += "A real hub, agent and tools on a scripted model: no account, no network.\n\n";
    told += &row("in a browser", &link(stage, style), style);
    match &stage.for_phones {
        Some((public, pairs)) => {
            told += &row("on a phone", public, style);
            told.extend(pair::drawn(pairs, style.color).map(|picture| format!("\n{picture}\n")));
            let authority = stage.authority.as_deref();
            told.extend(
                authority.map(|print| row("trust", &format!("{public}/ca.pem, SHA-256 {print}"), style)),
            );
        }
        None => told += &row("on a phone", "longshore demo --phone", style),
    }
    told + "\n"
}

/// After it; `stays` says whether the hub does.
pub(super) fn farewell(
    stage: &DemoStage,
    beside: &[SessionInfo],
    stays: bool,
    now: Timestamp,
    style: &Style,
) -> String {
    let waiting =
        beside.iter().map(|session| session.approvals.len() + session.questions.len()).sum::<usize>();
    let mut told = format!("\n{}\n\n", inked("On the same hub, meanwhile:", BOLD, style));
    told += &sessions_table(beside, now, style);
    told += &format!("\n{}\n\n", inked("From here", BOLD, style));
    if stays {
        told += &row("look around", &link(stage, style), style);
        let inbox = format!("{waiting} of these need somebody: answer as you like");
        told += &row("", &inked(&inbox, DIM, style), style);
    } else {
        // Its hub is gone when this is read.
        told += &row("look around", "longshore demo --stay", style);
    }
    told += &row("your own", "longshore up", style);
    told += &row("", "longshore run codex \"what is in this folder?\"", style);
    told + &row("what else", "longshore --help", style)
}

/// While the hub stays.
pub(super) fn staying(stage: &DemoStage, until_interrupted: bool, style: &Style) -> String {
    let elsewhere = format!("LONGSHORE_HOME={} longshore ls", stage.folder().display());
    let how = if until_interrupted { "Ctrl-C" } else { "Enter" };
    let told = row("also", &format!("{elsewhere}   (in another terminal)"), style);
    format!(
        "{told}\nThe demo's hub is up until you press {}. Nothing is left of it then.\n",
        inked(how, BOLD, style)
    )
}

/// When the folder stays.
pub(super) fn kept(folder: &Path) -> String {
    format!("kept: {0}\n      LONGSHORE_HOME={0} longshore up", folder.display())
}

//! `longshore open`: the web app in this computer's browser, signed in.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;

use super::terminal::put_line;
use super::{connect, link};
use crate::config::Places;

/// Open the web app in this computer's browser, signed in.
#[derive(Debug, Args)]
#[command(
    after_help = "The link works once, within 5 minutes. A browser that is already signed in stays signed in. The variable BROWSER names the browser. If there is no browser, the verb only prints the link."
)]
pub(super) struct OpenArgs {
    /// Only print the link
    #[arg(long)]
    print: bool,
}

impl OpenArgs {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let places = Places::find()?;
        let link = match link::sign_in(&mut client).await {
            Some(link) => link,
            None => connect::url(&places)?,
        };
        let opened = !self.print && opens(&places, &link)?;
        match (as_json, opened) {
            (true, _) => put_line(json!({ "url": link, "opened": opened }))?,
            (false, true) => put_line(format_args!("opening {link}"))?,
            (false, false) => put_line(&link)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Has the browser open it; says whether there is one.
fn opens(places: &Places, link: &str) -> Result<bool> {
    let Some(browser) = browser() else { return Ok(false) };
    let page = page(places, link)?;
    let shown = Command::new(&browser)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // It outlives us, and an interrupt at this terminal.
        .process_group(0)
        .spawn();
    Ok(shown.is_ok())
}

/// A private page that leads to the link. What a browser is started with can be read by every user of the machine, and
/// whoever has the code first is the one that it lets in.
fn page(places: &Places, link: &str) -> Result<PathBuf> {
    let path = places.data.join("open.html");
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={link}\">\
         <title>Longshore</title><a href=\"{link}\">Open Longshore</a>\n"
    );
    // A file of its own each time: an old one may be another's to read.
    drop(std::fs::remove_file(&path));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(page.as_bytes())?;
    Ok(path)
}

/// The program that opens pages here, if somebody could see them.
fn browser() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(named) = set("BROWSER") {
        return Some(named.into());
    }
    if cfg!(target_os = "macos") {
        return Some("open".into());
    }
    let seen = set("DISPLAY").or_else(|| set("WAYLAND_DISPLAY")).is_some();
    let found = |folder: &Path| Some(folder.join("xdg-open")).filter(|program| program.is_file());
    let path = set("PATH")?;
    seen.then(|| std::env::split_paths(&path).find_map(|folder| found(&folder))).flatten()
}

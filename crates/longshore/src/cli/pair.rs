//! `longshore pair`: a code with which a phone becomes a device.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use longshore_model::device::DeviceMode;
use longshore_model::time::Timestamp;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::connect;
use super::link::Made;
use super::terminal::{now, put_line, say, style};
use crate::render::Show;

/// Show a QR code and a link that pair a phone or another browser.
#[derive(Debug, Args)]
pub(super) struct Pair {
    /// What the device may do: full, read_only, approve
    #[arg(long, default_value_t)]
    mode: DeviceMode,
    /// The name of the device
    #[arg(long)]
    label: Option<String>,
    /// Pair a phone with the app mobile-agent
    #[arg(long)]
    mobile: bool,
}

/// What the hub makes for a phone with mobile-agent. Its first three fields are the JSON of the QR code.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct MobileCode {
    url: String,
    pairing_token: String,
    server_public_key: String,
    expires_at: Timestamp,
    mode: DeviceMode,
}

impl MobileCode {
    /// What the app scans, or what a person pastes into it.
    fn code(&self) -> String {
        let Self { url, pairing_token, server_public_key, .. } = self;
        json!({ "url": url, "pairingToken": pairing_token, "serverPublicKey": server_public_key }).to_string()
    }

    fn show(&self, as_json: bool) -> Result<ExitCode> {
        if as_json {
            put_line(serde_json::to_string(self)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let code = self.code();
        if let Some(drawn) = drawn(&code, style(Show::Hidden).color) {
            put_line(drawn)?;
        }
        put_line(&code)?;
        let minutes = self.expires_at.millis_since(now()).div_ceil(60_000);
        say(format_args!(
            "scan this in mobile-agent, for one phone of mode {}, for {minutes} minutes",
            self.mode
        ))?;
        if is_of_this_machine(&self.url) {
            say(unreached(&self.url))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Pair {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        let mut params = json!({ "mode": self.mode });
        if let Some(label) = self.label {
            params["label"] = label.into();
        }
        if self.mobile {
            let made: MobileCode = client.call("pairMobile", params).await?;
            return made.show(as_json);
        }
        let made: Made = client.call("pair", params).await?;
        if as_json {
            put_line(serde_json::to_string(&made)?)?;
            return Ok(ExitCode::SUCCESS);
        }
        let for_phones = !is_of_this_machine(&made.pair_url);
        if let Some(drawn) = drawn(&made.pair_url, style(Show::Hidden).color).filter(|_| for_phones) {
            put_line(drawn)?;
        }
        let minutes = made.expires_at.millis_since(now()).div_ceil(60_000);
        say(format_args!("open  {}", made.pair_url))?;
        for also in made.addresses.iter().filter(|also| !made.pair_url.starts_with(&format!("{also}/"))) {
            say(format_args!("or    {also}/pair, and type the code"))?;
        }
        let (first, second) = made.code.split_at(made.code.len() / 2);
        say(format_args!(
            "code  {first}-{second}, for one device of mode {}, for {minutes} minutes",
            made.mode
        ))?;
        if !for_phones {
            say(unreached(&made.pair_url))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// An address as a picture of blocks. With colours it is black on white everywhere; without, it is as most terminals
/// are, light on dark.
pub(super) fn drawn(url: &str, color: bool) -> Option<String> {
    let code = QrCode::new(url.as_bytes()).ok()?;
    let mut picture = code.render::<Dense1x2>();
    if !color {
        return Some(picture.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build());
    }
    let lines = picture.build();
    let lines: Vec<String> =
        lines.lines().map(|line| format!("\x1b[38;5;16;48;5;231m{line}\x1b[0m")).collect();
    Some(lines.join("\n"))
}

/// What is said of an address that no phone reaches: how the hub is started at one that they do, with the port that it has.
fn unreached(url: &str) -> String {
    let authority = url.split("://").nth(1).and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let port = authority.rsplit_once(':').map_or("8790", |(_, port)| port);
    format!(
        "note  a phone cannot reach this address: start the hub with `longshore up --bind 0.0.0.0:{port} --tls`, or see \
         docs/security.md for Tailscale and proxies"
    )
}

fn is_of_this_machine(url: &str) -> bool {
    ["://127.0.0.1", "://localhost", "://[::1]"].iter().any(|here| url.contains(here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_for_phones_is_started_at_the_port_that_it_has() {
        assert!(unreached("http://127.0.0.1:9461/pair#K7QM").contains("--bind 0.0.0.0:9461 --tls"));
        assert!(unreached("https://[::1]:80/pair#K7QM").contains("--bind 0.0.0.0:80 --tls"));
    }

    #[test]
    fn a_picture_is_as_wide_in_every_line_and_has_colours_only_when_wanted() {
        let plain = drawn("https://192.168.1.5:8790/pair#K7QMX2RD", false).unwrap();
        let widths: Vec<usize> = plain.lines().map(|line| line.chars().count()).collect();
        assert!(widths.len() > 15 && widths.iter().all(|width| *width == widths[0]), "{plain}");
        assert!(!plain.contains('\u{1b}'));
        assert!(drawn("x", true).unwrap().lines().all(|line| line.ends_with("\u{1b}[0m")));
    }
}

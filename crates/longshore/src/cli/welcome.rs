//! The message of a hub that has started: where it is, and how a browser or a phone connects.

use super::connect::Running;
use super::pair;
use super::terminal::{for_stdout, style};
use crate::render::Show;

/// Links that let somebody in: for a person who sits at the terminal, and for no file.
#[derive(Default)]
pub(super) struct Links {
    /// Signs a browser of this machine in.
    pub(super) browser: Option<String>,
    /// Makes a phone a device.
    pub(super) phone: Option<String>,
}

/// The words, the last of which say how it is stopped.
pub(super) fn welcome(running: &Running, links: &Links, stop: &str) -> String {
    let mut told = String::new();
    if let Some(link) = &links.browser {
        told +=
            &for_stdout(&format!("  open it   {link}   (once, within 5 minutes; later: longshore open)\n"));
    }
    if let [public, also @ ..] = &running.others[..] {
        let scan = if links.phone.is_some() { "scan this, or later " } else { "" };
        told += &for_stdout(&format!("  others    {public}   (a phone: {scan}longshore pair)\n"));
        for also in also {
            told += &format!("            {also}\n");
        }
        let color = style(Show::Hidden).color;
        if let Some(picture) = links.phone.as_ref().and_then(|link| pair::drawn(link, color)) {
            told += &format!("{picture}\n");
        }
    }
    if let Some(authority) = &running.authority {
        told += &for_stdout(&format!("  trust     {}/ca.pem, SHA-256 {authority}\n", running.url));
    }
    if let Some(door) = &running.openagents {
        told += &for_stdout(&format!("  open door {} for the OpenAgents app: {}\n", door.url, door.words()));
    }
    told += "  try it    longshore run codex \"what is in this folder?\"\n";
    told + "  stop it   " + stop
}

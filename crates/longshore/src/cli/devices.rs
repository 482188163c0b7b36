//! `longshore devices`: lists the paired devices, and revokes one.

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use longshore_model::device::Device;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect;
use super::exit::Fault;
use super::terminal::{now, put, put_line, say, style};
use crate::client::Client;
use crate::render::{Show, devices_table, devices_tsv};

/// List the paired devices, or revoke one.
#[derive(Debug, Args)]
pub(super) struct Devices {
    #[command(subcommand)]
    what: Option<DevicesVerb>,
}

#[derive(Debug, Subcommand)]
enum DevicesVerb {
    /// List the paired devices
    Ls,
    /// Revoke a device: its token no longer works, and its connections end
    Revoke {
        /// The device: its id, a part of the id, or its label
        device: String,
    },
}

#[derive(Deserialize)]
struct DeviceList {
    devices: Vec<Device>,
}

impl Devices {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        match self.what.unwrap_or(DevicesVerb::Ls) {
            DevicesVerb::Ls => ls(&mut client, as_json).await,
            DevicesVerb::Revoke { device } => revoke(&mut client, &device, as_json).await,
        }
    }
}

async fn ls(client: &mut Client, as_json: bool) -> Result<ExitCode> {
    if as_json {
        let known: Value = client.call("devices", json!({})).await?;
        put_line(&known)?;
        return Ok(ExitCode::SUCCESS);
    }
    let DeviceList { devices } = client.call("devices", json!({})).await?;
    match std::io::stdout().is_terminal() {
        true if devices.is_empty() => {
            say("no device is paired yet; `longshore pair` shows a code to pair one")?
        }
        true => put(devices_table(&devices, now(), &style(Show::Hidden)))?,
        false => put(devices_tsv(&devices))?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn revoke(client: &mut Client, named: &str, as_json: bool) -> Result<ExitCode> {
    let part = connect::part_of_id(named)?;
    let DeviceList { devices } = client.call("devices", json!({})).await?;
    let mut found: Vec<Device> = devices
        .into_iter()
        // One that is revoked and not written down yet can be revoked again, which writes it down.
        .filter(|device| device.revoked_at.is_none() || device.unsaved)
        .filter(|device| device.label == named || device.id.to_string().contains(&part))
        .collect();
    let device = match (found.pop(), found.len()) {
        (Some(device), 0) => device,
        (None, _) => {
            let what = format!("no device is called `{named}`");
            return Err(Fault::not_found(what, "`longshore devices` lists the devices").into());
        }
        (Some(_), more) => {
            let what = format!("`{named}` fits {} devices", more + 1);
            return Err(Fault::usage(what, "give more of the id; `longshore devices` lists the ids").into());
        }
    };
    let revoked: Value = client.call("revoke", json!({ "device": device.id })).await?;
    match as_json {
        true => put_line(&revoked)?,
        false => say(format_args!("{} is revoked", crate::render::clean::clean(&device.label)))?,
    }
    Ok(ExitCode::SUCCESS)
}

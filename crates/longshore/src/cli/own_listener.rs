//! The listener for clients that can send no token: who is let in there, and where the network finds it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::Result;
use longshore_facades::facade::FacadeListener;
use longshore_facades::mdns::{AnnouncedService, announce};
use longshore_facades::{App, serve_facade};
use longshore_model::device::DeviceMode;
use longshore_model::id::DeviceId;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::exit::Fault;
use super::listen::addresses_in_networks;

/// A listener that lets in whoever reaches it.
pub(super) struct OwnListener {
    facade: &'static FacadeListener,
    listener: TcpListener,
    device: DeviceId,
    pub(super) door: OpenDoor,
}

/// What the hub says of such a listener.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenDoor {
    /// Where it is.
    pub(super) url: String,
    /// What whoever reaches it may do.
    pub(super) mode: DeviceMode,
    /// Whether other machines reach it.
    #[serde(default)]
    pub(super) reached: bool,
}

impl OpenDoor {
    /// What it means, in a line.
    pub(super) fn words(&self) -> String {
        let may = match self.mode {
            DeviceMode::Full => "do everything that you can, also run commands",
            // The protocol has no word for a decision.
            DeviceMode::ReadOnly | DeviceMode::Approve => "read all sessions",
        };
        let who = match self.reached {
            true => "everybody on this network",
            false => "every program and every user of this machine",
        };
        format!("{who} can {may}, without a token")
    }
}

impl OwnListener {
    /// Listens at the hub's own address. Off, the device that it had is revoked.
    pub(super) async fn open(
        facade: &'static FacadeListener,
        mode: Option<DeviceMode>,
        at: SocketAddr,
        app: &App,
    ) -> Result<Option<Self>> {
        let listener = match mode {
            Some(_) => Some(bind(facade, at).await?),
            None => None,
        };
        let device = app.listener_device(facade, mode).await;
        let device =
            device.map_err(|problem| Fault::no_hub(problem.title, problem.hint.unwrap_or_default()))?;
        let (Some(listener), Some(device)) = (listener, device) else { return Ok(None) };
        let at = listener.local_addr()?;
        let door = OpenDoor { url: format!("ws://{at}"), mode: device.mode, reached: !at.ip().is_loopback() };
        match (device.revoked_at, door.reached) {
            (Some(_), _) => warn!(
                "the device \"{}\" is revoked, so the listener at {} refuses everybody; start the hub once without \
                 `--openagents` to get a new device",
                device.label, door.url
            ),
            (None, true) => warn!("the listener at {} is open: {}", door.url, door.words()),
            (None, false) => info!("the listener at {} is open: {}", door.url, door.words()),
        }
        Ok(Some(Self { facade, listener, device: device.id, door }))
    }

    /// The names under which the network finds it.
    pub(super) fn host_names(&self) -> Vec<String> {
        let name = self.service().map(|service| format!("{}.local", service.host));
        name.into_iter().flat_map(|name| [format!("{name}."), name]).collect()
    }

    /// What is announced of it; nothing if only this machine reaches it.
    fn service(&self) -> Option<AnnouncedService> {
        let at = self.listener.local_addr().ok()?;
        let addresses: Vec<Ipv4Addr> = match at.ip() {
            ip if ip.is_loopback() => Vec::new(),
            IpAddr::V4(ip) if !ip.is_unspecified() => vec![ip],
            IpAddr::V4(_) | IpAddr::V6(_) => {
                addresses_in_networks(false).into_iter().filter_map(v4).collect()
            }
        };
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let is_legal = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
        let host: String = name.split('.').next().unwrap_or_default().chars().filter(is_legal).collect();
        let host = if host.is_empty() { "longshore".to_owned() } else { host };
        (!addresses.is_empty()).then(|| AnnouncedService {
            kind: self.facade.service.to_owned(),
            instance: format!("Longshore on {host}"),
            host,
            port: at.port(),
            addresses,
            text: vec![format!("hub={}", env!("CARGO_PKG_VERSION"))],
        })
    }

    /// Serves until the set is dropped.
    pub(super) fn serve(self, app: App, tasks: &mut JoinSet<()>) {
        if let Some(service) = self.service() {
            info!("{} is announced on the network as \"{}\"", service.kind, service.instance);
            tasks.spawn(announce(service));
        }
        let Self { facade, listener, device, door: _ } = self;
        tasks.spawn(async move { match serve_facade(listener, facade, device, app).await {} });
    }
}

fn v4(ip: IpAddr) -> Option<Ipv4Addr> {
    match ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    }
}

async fn bind(facade: &FacadeListener, at: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(at).await.map_err(|error| {
        let what = format!("cannot listen at {at} for the {}: {error}", facade.label);
        let hint = "end the program that listens there; or choose another port with `openagents_port`; or leave \
                    `--openagents` out";
        Fault::conflict(what, hint).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_door_says_who_gets_in_and_what_they_may_do() {
        let words = |mode, reached| OpenDoor { url: String::new(), mode, reached }.words();
        assert!(words(DeviceMode::Full, true).starts_with("everybody on this network can do everything"));
        assert!(
            words(DeviceMode::ReadOnly, false).contains("of this machine can read all sessions, without")
        );
        assert!(words(DeviceMode::Approve, true).contains("can read all sessions, without"));
    }
}

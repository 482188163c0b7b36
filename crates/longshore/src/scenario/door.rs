//! The door of a stage: the address for an agent whose program calls the hub back instead of using its pipes.

use std::sync::Arc;

use anyhow::{Context, Result};
use longshore_drivers::anchor::AnchorConfig;
use longshore_drivers::transport::socket::CallbackRegistry;
use longshore_facades::auth::{Owner, Token};
use longshore_facades::guard::HostNames;
use longshore_facades::mobile::ServerKey;
use longshore_facades::push::{Outlet, Vapid};
use longshore_facades::{App, Setup, Storage, serve_callbacks};
use longshore_session::Hub;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::cli::called_back::CalledBack;

/// The door of a stage. Dropping it closes the door.
pub(super) struct StageDoor(JoinHandle<()>);

impl StageDoor {
    /// Opens the door on loopback, and tells the anchor the address for its agent.
    pub(super) async fn open(hub: &Hub, anchor: &mut AnchorConfig) -> Result<Self> {
        let listener =
            TcpListener::bind("127.0.0.1:0").await.context("no port for the agent to call back")?;
        let reception = CallbackRegistry::at(format!("ws://{}/ws/cli", listener.local_addr()?));
        anchor.reception = reception.clone();
        let callbacks = Arc::new(CalledBack::of(anchor, reception));
        let setup = Setup {
            mobile_key: ServerKey::fleeting()?,
            owner: Owner { token: Token::new(""), keep: None },
            names: HostNames::default(),
            vapid: Vapid::fleeting(String::new())?,
            outlet: Outlet::Loopback,
            tls: None,
            web: &[],
            web_dir: None,
            storage: Storage::default(),
        };
        let app = App::open(hub.clone(), setup).await?.with_callbacks(callbacks);
        Ok(Self(tokio::spawn(async move { match serve_callbacks(listener, app).await {} })))
    }
}

impl Drop for StageDoor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

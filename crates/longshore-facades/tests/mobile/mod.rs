//! The app mobile-agent, over real sockets: what it sends, what it gets, and what it shows of that.

pub(crate) mod app;
mod asks;
mod entering;
mod harm;
pub(crate) mod phone;
mod repositories;
mod returning;
mod talking;

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use self::phone::{Phone, PhoneKey, Wire};
use crate::rig::Rig;

impl Rig {
    /// The text of a QR code for a phone.
    pub(crate) async fn code(&self, mode: &str) -> Value {
        self.call("POST", "/admin/pair/mobile").json(&json!({ "mode": mode })).send().await.ok(200)
    }

    /// A phone that was paired just now, and its key.
    pub(crate) async fn phone(&self, mode: &str) -> (Phone, PhoneKey) {
        let key = PhoneKey::new();
        let code = self.code(mode).await;
        let pairing = key.pairing(code["pairingToken"].as_str().unwrap());
        (Phone::come(self.at, &pairing).await, key)
    }
}

impl Wire {
    /// Answers the pings of the hub for so long, and says how the hub closed, if it did.
    pub(crate) async fn listen(&mut self, during: Duration) -> Option<u16> {
        let closed = async {
            loop {
                if let Message::Close(frame) = self.0.next().await.expect("an end").expect("no fault") {
                    return frame.map(|frame| frame.code.into());
                }
            }
        };
        tokio::time::timeout(during, closed).await.ok().flatten()
    }

    /// The code with which the hub closes.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        loop {
            if let Err(code) = self.next().await {
                return code;
            }
        }
    }
}

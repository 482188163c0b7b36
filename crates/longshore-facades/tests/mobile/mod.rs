//! The app mobile-agent, over real sockets: what it sends, what it gets, and what it shows of that.

pub(crate) mod app;
mod asks;
mod entering;
mod harm;
mod phone;
mod repositories;
mod returning;
mod talking;

use serde_json::{Value, json};

use self::phone::{Phone, PhoneKey};
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

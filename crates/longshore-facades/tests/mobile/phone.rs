//! A phone with the app: its key, its connection, and what the app shows.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use data_encoding::HEXLOWER;
use futures_util::{SinkExt, StreamExt};
use longshore_model::id::SessionId;
use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use super::app::App;

/// Longer than anything here takes, so that a fault ends in a message and not in a wait.
const WITHIN: Duration = Duration::from_secs(180);

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(WITHIN, future).await.unwrap_or_else(|_| panic!("it took too long: {what}"))
}

/// The key of a phone, and what it calls itself.
pub(crate) struct PhoneKey {
    pair: Ed25519KeyPair,
}

impl PhoneKey {
    pub(crate) fn new() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self { pair: Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap() }
    }

    pub(crate) fn public(&self) -> String {
        HEXLOWER.encode(self.pair.public_key().as_ref())
    }

    /// The first bytes of a hash of the key, in groups.
    pub(crate) fn device_id(&self) -> String {
        let hash =
            HEXLOWER.encode(&digest::digest(&digest::SHA512, self.pair.public_key().as_ref()).as_ref()[..16]);
        format!("{}-{}-{}-{}-{}", &hash[..8], &hash[8..12], &hash[12..16], &hash[16..20], &hash[20..])
    }

    pub(crate) fn pairing(&self, token: &str) -> Value {
        json!({
            "type": "pair", "pairingToken": token, "devicePublicKey": self.public(),
            "deviceId": self.device_id(), "deviceName": "Ada's phone",
        })
    }

    /// A message that was signed so many milliseconds from now.
    pub(crate) fn signed(&self, later: i64) -> Value {
        let mut nonce = [0u8; 32];
        getrandom::fill(&mut nonce).unwrap();
        #[allow(clippy::disallowed_methods)]
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
        self.sign(&json!({
            "timestamp": now + later, "nonce": HEXLOWER.encode(&nonce), "deviceId": self.device_id(),
        }))
    }

    pub(crate) fn sign(&self, payload: &Value) -> Value {
        let payload = payload.to_string();
        let signature = HEXLOWER.encode(self.pair.sign(payload.as_bytes()).as_ref());
        json!({ "type": "authenticate", "payload": payload, "signature": signature })
    }
}

/// A connection to `/ws/mobile`.
pub(crate) struct Wire(pub(crate) WebSocketStream<TcpStream>);

impl Wire {
    pub(crate) async fn open(at: SocketAddr) -> Self {
        let tcp = TcpStream::connect(at).await.unwrap();
        let request = format!("ws://{at}/ws/mobile").into_client_request().unwrap();
        Self(soon("a socket opens", tokio_tungstenite::client_async(request, tcp)).await.unwrap().0)
    }

    pub(crate) async fn send(&mut self, frame: &Value) {
        self.write(Message::text(frame.to_string())).await;
    }

    pub(crate) async fn write(&mut self, message: Message) {
        // The hub may have hung up.
        let _ = soon("the hub reads", self.0.send(message)).await;
    }

    /// The next message; the error is the code with which the hub closed.
    pub(crate) async fn next(&mut self) -> Result<Value, Option<u16>> {
        soon("a message of the hub", async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                    Some(Ok(Message::Close(frame))) => return Err(frame.map(|frame| frame.code.into())),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Err(None),
                }
            }
        })
        .await
    }
}

/// A phone that is connected.
pub(crate) struct Phone {
    pub(crate) wire: Wire,
    pub(crate) app: App,
    /// All messages, in their order.
    pub(crate) heard: Vec<Value>,
}

impl Phone {
    /// Signs in, with an app that was started anew.
    pub(crate) async fn come(at: SocketAddr, first: &Value) -> Self {
        Self::come_back(at, first, App::default()).await
    }

    /// Signs in, with an app that was only away, and does what the app does then.
    pub(crate) async fn come_back(at: SocketAddr, first: &Value, app: App) -> Self {
        let mut phone = Self { wire: Wire::open(at).await, app, heard: Vec::new() };
        phone.wire.send(first).await;
        phone.until("connected").await;
        phone.send(json!({ "type": "ping" })).await;
        let agents: Vec<String> = phone.app.agents.keys().cloned().collect();
        for agent in agents {
            phone.send(json!({ "type": "getHistory", "agentId": agent })).await;
        }
        phone.send(json!({ "type": "listProjects" })).await;
        phone.send(json!({ "type": "listSkills" })).await;
        phone
    }

    pub(crate) async fn send(&mut self, frame: Value) {
        self.wire.send(&frame).await;
    }

    pub(crate) async fn read(&mut self) -> Value {
        let frame =
            self.wire.next().await.unwrap_or_else(|code| panic!("closed: {code:?}; {:#?}", self.heard));
        self.app.take(&frame);
        self.heard.push(frame.clone());
        frame
    }

    /// Reads until a message of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.read().await;
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    /// Reads until the app shows this.
    pub(crate) async fn shows(&mut self, what: &str, fits: impl Fn(&App) -> bool) {
        while !fits(&self.app) {
            let frame = self.wire.next().await;
            let frame = frame.unwrap_or_else(|code| panic!("{what}: closed with {code:?}; {:#?}", self.app));
            self.app.take(&frame);
            self.heard.push(frame);
        }
    }

    /// Reads until all that was asked before is answered. The hub answers a ping at once, so only what comes at once counts.
    pub(crate) async fn settle(&mut self) {
        self.send(json!({ "type": "ping" })).await;
        self.until("pong").await;
    }

    /// Asks for something, and returns the answer of this type.
    pub(crate) async fn ask(&mut self, frame: Value, kind: &str) -> Value {
        self.send(frame).await;
        self.until(kind).await
    }

    pub(crate) fn said(&self, session: SessionId) -> Vec<String> {
        self.app.agent(&session.to_string()).said()
    }

    /// Until the app has so many rows and cards with results of a session.
    pub(crate) async fn has_said(&mut self, session: SessionId, words: &str) {
        let id = session.to_string();
        self.shows(words, |app| {
            app.agents.get(&id).is_some_and(|agent| agent.said().iter().any(|said| said == words))
        })
        .await;
    }
}

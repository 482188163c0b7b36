//! Links that open the web app signed in, with a code that works once within five minutes, never with the
//! token.

use longshore_model::device::DeviceMode;
use longshore_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::connect;
use crate::client::Client;
use crate::config::Places;

/// A code that was made, and where a phone goes with it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Made {
    pub(super) code: String,
    pub(super) expires_at: Timestamp,
    pub(super) pair_url: String,
    pub(super) mode: DeviceMode,
    /// Where others reach the hub.
    #[serde(default)]
    pub(super) addresses: Vec<String>,
}

/// A link with which a phone becomes a device. None when the hub makes no code now.
pub(super) async fn pairing(client: &mut Client) -> Option<String> {
    let made: Made = client.call("pair", json!({ "mode": DeviceMode::Full })).await.ok()?;
    Some(made.pair_url)
}

/// A link for a browser of this machine. None when the hub makes no code now; its address opens it all the same, for a
/// browser that is known.
pub(super) async fn sign_in(client: &mut Client) -> Option<String> {
    let params = json!({ "mode": DeviceMode::Full, "label": label() });
    let made: Made = client.call("pair", params).await.ok()?;
    let here = connect::url(&Places::find().ok()?).ok()?;
    // The code of the link: that of eight letters is refused once somebody on this machine has guessed at it.
    entering(&here, &made.pair_url)
}

/// The address with which a browser is signed in without being asked for anything, for a link that pairs.
pub(super) fn entering(hub: &str, link: &str) -> Option<String> {
    match link.split_once("?code=") {
        // Another web app than ours reads it there.
        Some((_, code)) => Some(format!("{hub}/pair?code={code}")),
        // Behind the sign, so that no server and no log on the way reads the code.
        None => link.split_once('#').map(|(_, code)| format!("{hub}/pair?enter#{code}")),
    }
}

/// What a browser of this machine is called among the devices.
fn label() -> String {
    format!("browser on {}", rustix::system::uname().nodename().to_string_lossy())
}

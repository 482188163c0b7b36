//! Reaching the hub: finding the one that runs, starting one when none does, and the token that opens it.
//!
//! One rule for all verbs: whoever needs a hub has one started in the background when none runs. `down`, `doctor` and
//! `token` are about the hub that runs, or does not; and a hub that `LONGSHORE_URL` names is somebody else's to start.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use longshore_facades::auth::PROVABLE;
use longshore_model::id::SessionId;
use longshore_model::info::SessionInfo;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::exit::{self, Fault};
use super::link;
use super::terminal::note;
use super::token_file;
use crate::client::{Client, Unreachable};
use crate::config::{Config, Places};
use crate::owner_token;
use crate::wire::Trust;

/// How long a hub may take to come up.
const UP_WITHIN: Duration = Duration::from_secs(15);

/// What a running hub says of itself, in the data folder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) url: String,
    pub(super) pid: u32,
    pub(super) version: String,
    /// The SHA-256 of its certificate, when it speaks TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fingerprint: Option<String>,
    /// The SHA-256 of the authority of this machine's own that it was made by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) authority: Option<String>,
    /// Where others reach it, the best one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) others: Vec<String>,
}

impl Running {
    pub(super) fn read(places: &Places) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(places.running()).ok()?).ok()
    }
}

/// Where the hub is: as `LONGSHORE_URL` says, as the running one says, or where it would be.
pub(super) fn url(places: &Places) -> Result<String> {
    if let Some(url) = named_url() {
        return Ok(url);
    }
    match Running::read(places) {
        Some(running) => Ok(running.url),
        None => Ok(format!("http://{}", Config::load(places)?.bind)),
    }
}

pub(super) fn named_url() -> Option<String> {
    let url = std::env::var("LONGSHORE_URL").ok().filter(|url| !url.is_empty())?;
    Some(url.trim_end_matches('/').to_owned())
}

/// The owner's token: `LONGSHORE_TOKEN`, or the file that the first start made.
pub(super) fn token(places: &Places) -> Result<String> {
    if let Some(token) = owner_token::of_environment() {
        return Ok(token.to_owned());
    }
    token_file::read(places)?.ok_or_else(|| Unreachable { url: url(places).unwrap_or_default() }.into())
}

/// Whom to believe that it is the hub: the one that runs here says how it is known, another one has a name.
fn trust(places: &Places) -> Trust {
    let ours = named_url().is_none().then(|| Running::read(places)).flatten();
    let authority = std::env::var_os("LONGSHORE_CA").filter(|path| !path.is_empty()).map(PathBuf::from);
    Trust { fingerprint: ours.and_then(|running| running.fingerprint), authority }
}

/// Whether the hub may be told a token for which it cannot prove that it knows it: one that was named may, and so may the
/// one that runs here, as far as its note tells. Anybody can listen where it would be if it ran.
fn may_be_told(places: &Places, token: &str) -> bool {
    let runs = |running: Running| {
        let pid = i32::try_from(running.pid).ok().and_then(rustix::process::Pid::from_raw);
        pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
    };
    token.len() >= PROVABLE || named_url().is_some() || Running::read(places).is_some_and(runs)
}

/// A connection to the hub that runs; none is started.
pub(super) async fn running() -> Result<Client> {
    let places = Places::find()?;
    let (url, token) = (url(&places)?, token(&places)?);
    if !may_be_told(&places, &token) {
        return Err(Unreachable { url }.into());
    }
    Client::connect_to(&url, &token, &trust(&places)).await
}

/// A connection to the hub; one is started in the background when none runs.
pub(super) async fn hub() -> Result<Client> {
    match running().await {
        Err(error) if error.downcast_ref::<Unreachable>().is_some() && named_url().is_none() => {
            let mut client = start(["up", "--as-before"].map(OsString::from).into_iter()).await?;
            note(started(&mut client).await);
            Ok(client)
        }
        reached => reached,
    }
}

/// What is said of a hub that was started on the way: where it is. A link that opens it is for a person who sits there.
async fn started(client: &mut Client) -> String {
    let link = match std::io::stderr().is_terminal() {
        true => link::sign_in(client).await,
        false => None,
    };
    let place = Places::find().and_then(|places| url(&places)).unwrap_or_default();
    let link = link.unwrap_or(place);
    format!(
        "started the hub in the background: {link} (`longshore open` opens it, `longshore down` stops it)"
    )
}

/// Starts a hub in the background with these words, and waits until it answers.
pub(super) async fn start(words: impl Iterator<Item = OsString>) -> Result<Client> {
    let places = Places::find()?;
    places.make_data()?;
    let log = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(places.hub_log());
    let log = log.with_context(|| {
        format!("no hub runs, and none can be started: cannot write {}", places.hub_log().display())
    })?;
    let said_before = log.metadata()?.len();
    let mut hub = std::process::Command::new(std::env::current_exe()?)
        .args(words)
        .envs(owner_token::of_environment().map(|token| (owner_token::VARIABLE, token)))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // A group of its own, so that an interrupt at this terminal does not end it.
        .process_group(0)
        .spawn()
        .context("cannot start the hub")?;
    let until = Instant::now() + UP_WITHIN;
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    while Instant::now() < until {
        pace.tick().await;
        // Somebody else may have started one at the same moment: theirs is as good.
        let status = hub.try_wait()?.filter(|status| status.code() != Some(i32::from(exit::CONFLICT)));
        if let Ok(client) = running().await {
            return Ok(client);
        }
        if let Some(status) = status {
            bail!("the hub ended at once ({status}):\n{}", last_words(&places, said_before));
        }
    }
    bail!("the hub did not come up; its log is {}", places.hub_log().display())
}

/// What the hub that has just ended had to say.
fn last_words(places: &Places, said_before: u64) -> String {
    let said = std::fs::read(places.hub_log()).unwrap_or_default();
    let said = said.get(usize::try_from(said_before).unwrap_or(0)..).unwrap_or_default();
    let said = String::from_utf8_lossy(said);
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}

/// What stands for the session in which a person last did something, wherever a session is named.
pub(super) const LATEST: &str = "-";

/// The words with which a person names a session, or what waits in one, with the session itself in the place of `-`.
pub(super) async fn named(client: &mut Client, words: Option<&str>) -> Result<Option<String>> {
    match words {
        Some(LATEST) => Ok(Some(session(client, None).await?.session_id.to_string())),
        words => Ok(words.map(str::to_ascii_lowercase)),
    }
}

/// The session that a person means: an id or a part of it; nothing, or `-`, for the one in which
/// a person last did something, whatever agents have done elsewhere since.
pub(super) async fn session(client: &mut Client, named: Option<&str>) -> Result<SessionInfo> {
    #[derive(Deserialize)]
    struct Page {
        sessions: Vec<SessionInfo>,
    }
    let name = named.filter(|name| *name != LATEST).unwrap_or_default().to_ascii_lowercase();
    if let Ok(id) = name.parse::<SessionId>() {
        return client.call("session", json!({ "session": id })).await;
    }
    let mut found = Vec::new();
    for archived in [false, true] {
        let page: Page = client.call("sessions", json!({ "limit": 200, "archived": archived })).await?;
        found.extend(page.sessions);
    }
    if name.is_empty() {
        let none = || Fault::not_found("there is no session yet", "`longshore run codex \"...\"` opens one");
        // Of those in which nobody has done anything yet, the first of the list.
        let latest = found.into_iter().rev().max_by_key(|session| (!session.archived, session.touched_at));
        return latest.ok_or_else(|| none().into());
    }
    found.retain(|session| session.session_id.to_string().contains(&name));
    match found.len() {
        0 => {
            let what = format!("there is no session `{name}` among the latest");
            Err(Fault::not_found(what, "`longshore ls` lists the sessions").into())
        }
        1 => Ok(found.remove(0)),
        more => {
            let ids: Vec<String> = found.iter().map(|session| session.session_id.to_string()).collect();
            let what = format!("`{name}` is a part of the ids of {more} sessions");
            Err(Fault::usage(what, format!("give more of one: {}", ids.join(", "))).into())
        }
    }
}

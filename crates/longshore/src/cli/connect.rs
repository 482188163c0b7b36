//! Connecting to the hub: finds the running one or starts one, and brings the token.
//!
//! One rule for all verbs: a verb that needs a hub starts one in the background if none runs. `down`,
//! `doctor` and `token` are about the running hub and start none. Nobody starts the hub that `LONGSHORE_URL`
//! names.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use longshore_facades::auth::PROVABLE;
use longshore_model::id::SessionId;
use longshore_model::info::{Activity, SessionInfo};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::exit::Fault;
use super::own_listener::OpenDoor;
use super::terminal::note;
use super::{home, link, start, token_file};
use crate::client::{Client, NotOurHub, Unreachable};
use crate::config::{Config, Places};
use crate::dial::Trust;
use crate::{owner_token, small_file};

/// How long whoever listens where the hub would be may take to say who it is.
const STRANGER_WITHIN: Duration = Duration::from_secs(2);

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
    /// Where clients without a token are let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) openagents: Option<OpenDoor>,
}

impl Running {
    pub(super) fn read(places: &Places) -> Option<Self> {
        serde_json::from_slice(&small_file::read(&places.running(), small_file::MOST).ok()?).ok()
    }

    /// Whether the process that it names is there. One that has ended keeps its number until somebody takes notice of that,
    /// which in a container may be nobody.
    pub(super) fn lives(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw);
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let has_ended = stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'));
        !has_ended && pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
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
    if let Some(token) = token_file::named()? {
        return Ok(token.to_owned());
    }
    if let Some(token) = token_file::read(places)? {
        return Ok(token);
    }
    match Running::read(places).filter(|running| running.lives() && home::is_held(places)) {
        Some(running) if named_url().is_none() => Err(without_token(places, &running).into()),
        _ => Err(Unreachable { url: url(places).unwrap_or_default() }.into()),
    }
}

/// A hub is up, and nobody here can enter.
fn without_token(places: &Places, running: &Running) -> Fault {
    let Running { url, pid, .. } = running;
    let what =
        format!("a hub runs at {url} (process {pid}), but its token is not in {}", places.token().display());
    let hint = format!(
        "if the hub was started with {0}, set {0} here too; if the file was deleted, stop the hub with `longshore down`: the \
         next start makes a new token, and paired devices stay paired",
        owner_token::VARIABLE
    );
    Fault::conflict(what, hint)
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
    token.len() >= PROVABLE
        || named_url().is_some()
        || Running::read(places).is_some_and(|running| running.lives())
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
    match running_or_stranger().await {
        Err(error) if error.downcast_ref::<Unreachable>().is_some() && named_url().is_none() => {
            let mut client = start::start(["up", "--as-before"].map(OsString::from).into_iter()).await?;
            note(started(&mut client).await);
            Ok(client)
        }
        reached => reached,
    }
}

/// The same, without much patience for who listens in the place of a hub that is not up.
async fn running_or_stranger() -> Result<Client> {
    let places = Places::find()?;
    let noted = Running::read(&places);
    let may_be_up = named_url().is_some()
        || home::is_held(&places)
        || noted.as_ref().is_some_and(|running| running.lives());
    if may_be_up {
        return running().await;
    }
    let url = url(&places)?;
    if noted.is_some() {
        // That hub was killed. Whoever listens there now is another program, and keeps nobody from starting a hub.
        return Err(Unreachable { url }.into());
    }
    let asked = tokio::time::timeout(STRANGER_WITHIN, running()).await;
    asked.unwrap_or_else(|_| Err(NotOurHub::Stranger { url }.into()))
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

/// What stands for the latest session, wherever a session is named.
pub(super) const LATEST: &str = "-";

/// Which one is the latest, for what is to be done.
#[derive(Clone, Copy, Debug)]
enum Latest {
    /// The one in which a person last did something, whatever agents have done elsewhere since.
    Touched,
    /// The same among those that have not ended, as long as there is one: nobody speaks to those that have.
    Open,
    /// The one that was archived last.
    Archived,
}

impl Latest {
    fn of(self, sessions: Vec<SessionInfo>) -> Option<SessionInfo> {
        // Of those in which nobody has done anything yet, the first of the list.
        let sessions = sessions.into_iter().rev();
        let is_open = |session: &SessionInfo| !session.archived && session.activity != Activity::Closed;
        match self {
            Latest::Touched => sessions.max_by_key(|session| (!session.archived, session.touched_at)),
            Latest::Open => {
                sessions.max_by_key(|session| (is_open(session), !session.archived, session.touched_at))
            }
            // That somebody archived it is what happened in it last.
            Latest::Archived => {
                sessions.filter(|session| session.archived).max_by_key(|session| session.updated_at)
            }
        }
    }
}

/// The words with which a person names what waits in a session, with the session itself in the place of `-`.
pub(super) async fn named(client: &mut Client, words: Option<&str>) -> Result<Option<String>> {
    match words {
        Some(LATEST) => Ok(Some(open_session(client, None).await?.session_id.to_string())),
        words => words.map(part_of_id).transpose(),
    }
}

/// What a person gives of an id. An empty word is a mistake of the caller, as a variable of a script that is not set: it
/// must not fit everything.
pub(super) fn part_of_id(words: &str) -> Result<String> {
    let part = words.trim().to_ascii_lowercase();
    match part.is_empty() {
        true => Err(Fault::usage("the id is empty", "give the id or a part of it").into()),
        false => Ok(part),
    }
}

/// The session that a person means: an id or a part of it; nothing, or `-`, for the one in which
/// a person last did something.
pub(super) async fn session(client: &mut Client, named: Option<&str>) -> Result<SessionInfo> {
    find(client, named, Latest::Touched).await
}

/// The same for those who want to speak to it: `-` passes over sessions that have ended, as long as one is open.
pub(super) async fn open_session(client: &mut Client, named: Option<&str>) -> Result<SessionInfo> {
    find(client, named, Latest::Open).await
}

/// The same for those who want it back: `-` is the one that was archived last.
pub(super) async fn archived_session(client: &mut Client, named: &str) -> Result<SessionInfo> {
    find(client, Some(named), Latest::Archived).await
}

async fn find(client: &mut Client, named: Option<&str>, latest: Latest) -> Result<SessionInfo> {
    #[derive(Deserialize)]
    struct Page {
        sessions: Vec<SessionInfo>,
    }
    let name = named.filter(|name| *name != LATEST).map(part_of_id).transpose()?;
    if let Some(id) = name.as_ref().and_then(|name| name.parse::<SessionId>().ok()) {
        return client.call("session", json!({ "session": id })).await;
    }
    let mut found = Vec::new();
    for archived in [false, true] {
        let page: Page = client.call("sessions", json!({ "limit": 200, "archived": archived })).await?;
        found.extend(page.sessions);
    }
    let Some(name) = name else {
        let none = || match latest {
            Latest::Touched | Latest::Open => {
                Fault::not_found("there is no session yet", "`longshore run codex \"...\"` opens a session")
            }
            Latest::Archived => {
                Fault::not_found("no session is archived", "`longshore archive SESSION` archives one")
            }
        };
        return latest.of(found).ok_or_else(|| none().into());
    };
    found.retain(|session| session.session_id.to_string().contains(&name));
    match found.len() {
        0 => {
            let what = format!("no recent session has the id `{name}`");
            Err(Fault::not_found(what, "`longshore ls` lists the sessions").into())
        }
        1 => Ok(found.remove(0)),
        more => {
            let ids: Vec<String> = found.iter().map(|session| session.session_id.to_string()).collect();
            let what = format!("`{name}` fits the ids of {more} sessions");
            Err(Fault::usage(what, format!("give more of the id: {}", ids.join(", "))).into())
        }
    }
}

//! Starting a hub in the background, for verbs that need one and for `up --detach`.

use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::time::{Instant, Interval};

use super::connect::{self, Running};
use super::exit::Fault;
use super::{home, private, token_file};
use crate::client::Client;
use crate::config::Places;
use crate::owner_token;

/// How long a hub may take to come up.
const UP_WITHIN: Duration = Duration::from_secs(15);
/// How long one that came second may take to see that.
const YIELDS_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How much of what it said is looked through for why it ended, in bytes.
const LAST_WORDS: u64 = 64 << 10;

/// Starts a hub with these words, and waits until it answers. Somebody else may start one at the same moment: theirs is as good.
pub(super) async fn start(words: impl Iterator<Item = OsString>) -> Result<Client> {
    let places = Places::find()?;
    places.make_data()?;
    let words: Vec<OsString> = words.collect();
    let mut hub = Starting::begin(&places, &words)?;
    let mut until = Instant::now() + UP_WITHIN;
    let mut ended_at = None;
    let mut pace = tokio::time::interval(LOOK_EVERY);
    while Instant::now() < until {
        pace.tick().await;
        let ended = hub.process.try_wait()?;
        // Before a hub has said where it is, anybody may listen where it would be.
        if Running::read(&places).is_some_and(|running| running.lives())
            && let Ok(client) = connect::running().await
        {
            hub.yields(&places, &mut pace).await?;
            return Ok(client);
        }
        let Some(status) = ended else { continue };
        // Then it is somebody else's hub that comes up, or that goes. One that is up says at once where.
        if home::is_held(&places) {
            if Running::read(&places).is_none() {
                until = until.min(*ended_at.get_or_insert_with(Instant::now) + YIELDS_WITHIN);
            }
            continue;
        }
        let why = hub.last_words(&places, status);
        // The one that it gave way to is gone.
        match why.to_string().contains(home::TAKEN) {
            true => hub = Starting::begin(&places, &words)?,
            false => return Err(why.into()),
        }
    }
    let log = places.hub_log();
    Err(match home::is_held(&places) {
        true => Fault::no_hub(
            match Running::read(&places) {
                Some(_) => format!("a hub uses the data folder {}, but it does not answer", places.data.display()),
                None => format!(
                    "a hub uses the data folder {}, but its file hub.json, which says where it listens, is gone",
                    places.data.display()
                ),
            },
            format!(
                "stop it with `longshore down`; the next verb starts a new hub. The log of this hub is {}",
                log.display()
            ),
        ),
        false => Fault::no_hub("the hub did not start in time", format!("see its log: {}", log.display())),
    }
    .into())
}

/// A process that is to be the hub.
struct Starting {
    process: Child,
    /// How long the log was before it said anything.
    said_before: u64,
}

impl Starting {
    fn begin(places: &Places, words: &[OsString]) -> Result<Self> {
        let log = private::append(&places.hub_log()).with_context(|| {
            format!(
                "no hub runs, and this verb cannot start one: cannot write {}",
                places.hub_log().display()
            )
        })?;
        let said_before = log.metadata()?.len();
        let process = std::process::Command::new(std::env::current_exe()?)
            .args(words)
            .envs(token_file::named()?.map(|token| (owner_token::VARIABLE, token)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            // A group of its own, so that an interrupt at this terminal does not end it.
            .process_group(0)
            .spawn()
            .context("cannot start the hub")?;
        Ok(Self { process, said_before })
    }

    /// Waits until it has ended, if it is not the hub: it would be one later, when whoever is has stopped.
    async fn yields(&mut self, places: &Places, pace: &mut Interval) -> Result<()> {
        let until = Instant::now() + YIELDS_WITHIN;
        let is_hub = |running: Running| running.pid == self.process.id();
        if Running::read(places).is_some_and(is_hub) {
            return Ok(());
        }
        while Instant::now() < until && self.process.try_wait()?.is_none() {
            pace.tick().await;
        }
        Ok(())
    }

    /// Why it ended, as it said itself, with the exit code that it had.
    fn last_words(&self, places: &Places, status: ExitStatus) -> Fault {
        let said = self.said(places).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let log = format!("see its log: {}", places.hub_log().display());
        let code =
            status.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0).unwrap_or(1);
        match reason(&said) {
            Some((what, hint)) => {
                Fault::coded(format!("the hub did not start: {what}"), hint.map_or(log, str::to_owned), code)
            }
            None => {
                let lines: Vec<&str> = said.lines().collect();
                let lines = lines[lines.len().saturating_sub(5)..].join("\n");
                Fault::coded(format!("the hub ended at once ({status}):\n{lines}"), log, code)
            }
        }
    }

    fn said(&self, places: &Places) -> std::io::Result<Vec<u8>> {
        let mut log = std::fs::File::open(places.hub_log())?;
        log.seek(SeekFrom::Start(self.said_before))?;
        let mut said = Vec::new();
        log.take(LAST_WORDS).read_to_end(&mut said)?;
        Ok(said)
    }
}

/// The last error in what a hub said, and what to do about it.
fn reason(said: &str) -> Option<(&str, Option<&str>)> {
    let from = match said.rfind("\nerror: ") {
        Some(at) => at + 1,
        None => said.starts_with("error: ").then_some(0)?,
    };
    let told = said[from..].strip_prefix("error: ")?;
    let (what, hint) = match told.split_once("\nhint: ") {
        Some((what, hint)) => (what, hint.lines().next()),
        None => (told, None),
    };
    Some((what.trim(), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_hub_is_the_last_error_that_it_told() {
        assert_eq!(reason("it is up\n"), None);
        assert_eq!(reason("error: no\n"), Some(("no", None)));
        let said =
            "WARN error: x\nerror: first\nhint: a\nerror: cannot read\n  | x\nhint: mend it\nINFO more\n";
        assert_eq!(reason(said), Some(("cannot read\n  | x", Some("mend it"))));
    }
}

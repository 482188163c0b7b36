//! Past conversations: parsed line by line, and imported into a log on disk by a hub that does nothing else.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longshore_drivers::anchor::{Anchor, AnchorConfig};
use longshore_drivers::claude::import::Transcripts;
use longshore_drivers::codex::import::Rollouts;
use longshore_drivers::discover::Surroundings;
use longshore_drivers::import::{Reading, Records, WatchPast};
use longshore_log::{LogSettings, SqliteLog};
use longshore_model::event::Raw;
use longshore_session::Hub;
use tokio::time::interval;

use crate::cpu::Cpu;
use crate::recordings::{files, folder};

/// The length of a generated conversation, in bytes.
const CONVERSATION: usize = 256 * 1024;
/// How long an import may take.
const LONGEST: Duration = Duration::from_secs(600);

/// How many megabytes of records are parsed per second, by agent.
pub(crate) fn read(seconds: f64) -> Result<Vec<(&'static str, f64)>> {
    let kinds: [(&str, &dyn Records, &str); 2] =
        [("codex", &Rollouts, "codex-0.166.0"), ("claude", &Transcripts, "claude-2.1.197")];
    kinds.into_iter().map(|(agent, records, name)| Ok((agent, rate(records, name, seconds)?))).collect()
}

fn rate(records: &dyn Records, name: &str, seconds: f64) -> Result<f64> {
    let texts = files(&folder().join("records").join(name))?.into_iter().map(std::fs::read_to_string);
    let texts: Vec<String> = texts.collect::<std::io::Result<_>>()?;
    let (cpu, mut bytes) = (Cpu::of_thread(), 0);
    while cpu.seconds() < seconds {
        for text in &texts {
            let (mut reader, mut told) = (records.reader("a-conversation"), Reading::default());
            for line in text.lines() {
                reader.line(&Raw::from(line), None, &mut told);
            }
            ensure!(!told.drafts.is_empty(), "a record says nothing");
            bytes += text.len();
        }
    }
    Ok(bytes as f64 / 1e6 / cpu.seconds())
}

/// The result of an import.
pub(crate) struct Imported {
    pub(crate) conversations: usize,
    /// Seconds until all conversations were in the list.
    pub(crate) listed: f64,
    /// Megabytes of records per second of CPU time, until all of them were in the log.
    pub(crate) rate: f64,
    /// Megabytes of records per second of the clock.
    pub(crate) by_clock: f64,
}

/// Imports past conversations of Codex into a log on disk.
pub(crate) async fn import(megabytes: usize) -> Result<Imported> {
    let place = tempfile::tempdir()?;
    let home = place.path().join("codex");
    let conversations = (megabytes << 20).div_ceil(CONVERSATION);
    let bytes = write_rollouts(&home, conversations)?;

    let hub = Hub::new(Arc::new(SqliteLog::open(&place.path().join("data"), &LogSettings::default())?));
    let deliver_to = hub.clone();
    let config = AnchorConfig {
        surroundings: Surroundings::of([("CODEX_HOME", home), ("HOME", place.path().to_owned())]),
        past: WatchPast::default(),
        ..AnchorConfig::default()
    };
    let anchor = Anchor::start(
        config,
        Arc::new(move |message| {
            let hub = deliver_to.clone();
            Box::pin(async move { hub.deliver(message).await })
        }),
    );
    hub.attach(anchor.sender());

    let (began, cpu) = (Instant::now(), Cpu::of_process());
    let mut pace = interval(Duration::from_millis(20));
    let mut listed = None;
    loop {
        pace.tick().await;
        let past = hub.import_past().await?;
        if past.found >= conversations as u64 {
            listed.get_or_insert(began.elapsed().as_secs_f64());
            if past.unread == 0 {
                break;
            }
        }
        ensure!(began.elapsed() < LONGEST, "the import takes longer than {LONGEST:?}");
    }
    hub.settle().await;
    let (took, worked) = (began.elapsed().as_secs_f64(), cpu.seconds());
    anchor.shutdown().await;
    let listed = listed.context("none were listed")?;
    let megabytes = bytes as f64 / 1e6;
    Ok(Imported { conversations, listed, rate: megabytes / worked, by_clock: megabytes / took })
}

/// Writes rollouts. Each repeats a recorded one until it is as long as a day's work.
fn write_rollouts(home: &Path, count: usize) -> Result<usize> {
    let recorded = folder().join("records/codex-0.166.0/g02_mcp.jsonl");
    let recorded = std::fs::read_to_string(recorded)?;
    let (meta, turns) = recorded.split_once('\n').context("an empty record")?;
    let native =
        serde_json::from_str::<serde_json::Value>(meta)?["payload"]["id"].as_str().map(str::to_owned);
    let native = native.context("a record without a name")?;
    let moment = native.get(..9).context("a short name")?;
    let folder = home.join("sessions/2026/01/02");
    std::fs::create_dir_all(&folder)?;
    let mut bytes = 0;
    for n in 0..count {
        let name = format!("01990000-0000-7000-8000-{n:012}");
        let mut text = meta.replace(&native, &name) + "\n";
        let mut turn = 0;
        while text.len() < CONVERSATION {
            turn += 1;
            for line in turns.lines() {
                // Ids of the same moment have the same beginning. Each repetition gets its own moment.
                let line = line.replace(&native, &name).replace(moment, &format!("{turn:08x}-"));
                let _ = writeln!(text, "{line}");
            }
        }
        bytes += text.len();
        std::fs::write(folder.join(format!("rollout-2026-01-02T03-04-05-{name}.jsonl")), text)?;
    }
    Ok(bytes)
}

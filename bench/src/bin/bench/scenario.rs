//! The scenarios: what the client does with a server, and what it measures.

use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;
use longshore_bench::script::DeltaScript;

use crate::client::BenchClient;
use crate::figures::{Figures, Measure, percentile};
use crate::process::{cpu_nanos, resident_bytes};
use crate::server::{BenchServer, Kind, Programs};

const MIB: f64 = 1024.0 * 1024.0;
const MILLISECOND: f64 = 1e6;
const MICROSECOND: f64 = 1e3;

/// A turn before the measurement, so that the server has loaded its code and its buffers.
const WARM_UP: DeltaScript = DeltaScript { deltas: 1_000, rate: 0, bytes: 20 };
const BURST: DeltaScript = DeltaScript { deltas: 20_000, rate: 0, bytes: 20 };
const PACED: DeltaScript = DeltaScript { deltas: 2_000, rate: 200, bytes: 20 };
const ONE_OF_MANY: DeltaScript = DeltaScript { deltas: 250, rate: 50, bytes: 20 };
const MANY: usize = 50;
/// How long the server rests before its memory is measured.
const REST: Duration = Duration::from_millis(500);

/// A scenario for a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scenario {
    /// 20,000 deltas at full speed, to one client.
    Burst,
    /// 200 deltas per second for 10 s.
    Paced,
    /// 50 sessions at once, 50 deltas per second each for 5 s.
    Many,
    /// A client reads a finished session of 20,000 deltas from its beginning.
    Replay,
    /// The time from exec to an answer, and to a session whose agent is ready; and the memory of an idle server.
    Start,
}

impl Scenario {
    pub(crate) const ALL: [Scenario; 5] =
        [Scenario::Burst, Scenario::Paced, Scenario::Many, Scenario::Replay, Scenario::Start];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Scenario::Burst => "burst",
            Scenario::Paced => "paced",
            Scenario::Many => "many",
            Scenario::Replay => "replay",
            Scenario::Start => "start",
        }
    }

    /// Starts a server, runs the scenario, and stops the server.
    pub(crate) async fn run(self, kind: Kind, programs: &Programs, figures: &mut Figures) -> Result<()> {
        let server = BenchServer::start(kind, programs).await?;
        let mut note = |name, digits, value| {
            figures.add(Measure { scenario: self.name(), name, digits }, kind, value);
        };
        match self {
            Scenario::Burst => burst(&server, &mut note).await?,
            Scenario::Paced => paced(&server, &mut note).await?,
            Scenario::Many => many(&server, &mut note).await?,
            Scenario::Replay => replay(&server, &mut note).await?,
            Scenario::Start => start(&server, &mut note).await?,
        }
        server.stop().await
    }
}

/// Records a figure: its name, its digits, its value.
type Note<'a> = dyn FnMut(&'static str, usize, f64) + 'a;

async fn burst(server: &BenchServer, note: &mut Note<'_>) -> Result<()> {
    let mut client = BenchClient::open(server).await?;
    client.turn(WARM_UP).await?;
    let before = cpu_nanos(server.pid)?;
    let seen = client.turn(BURST).await?;
    let used = cpu_nanos(server.pid)? - before;
    note("deltas/s", 0, BURST.deltas as f64 / seen.took.as_secs_f64());
    note("server CPU µs/delta", 1, used as f64 / MICROSECOND / BURST.deltas as f64);
    tokio::time::sleep(REST).await;
    note("memory after it, MiB", 1, resident_bytes(server.pid)? as f64 / MIB);
    Ok(())
}

async fn paced(server: &BenchServer, note: &mut Note<'_>) -> Result<()> {
    let mut client = BenchClient::open(server).await?;
    client.turn(WARM_UP).await?;
    let before = cpu_nanos(server.pid)?;
    let seen = client.turn(PACED).await?;
    let used = cpu_nanos(server.pid)? - before;
    latencies(seen.latencies, note);
    note("server CPU µs/delta", 1, used as f64 / MICROSECOND / PACED.deltas as f64);
    Ok(())
}

async fn many(server: &BenchServer, note: &mut Note<'_>) -> Result<()> {
    let mut clients = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        clients.push(BenchClient::open(server).await?);
    }
    let before = cpu_nanos(server.pid)?;
    let turns = try_join_all(clients.iter_mut().map(|client| client.turn(ONE_OF_MANY))).await?;
    let used = cpu_nanos(server.pid)? - before;
    let all: Vec<u64> = turns.into_iter().flat_map(|seen| seen.latencies).collect();
    note("server CPU µs/delta", 1, used as f64 / MICROSECOND / all.len() as f64);
    latencies(all, note);
    note("memory after it, MiB", 1, resident_bytes(server.pid)? as f64 / MIB);
    Ok(())
}

async fn replay(server: &BenchServer, note: &mut Note<'_>) -> Result<()> {
    let mut client = BenchClient::open(server).await?;
    client.turn(BURST).await?;
    let (seen, took) = client.another(server).await?.replay(BURST).await?;
    note("events/s", 0, seen.events as f64 / took.as_secs_f64());
    Ok(())
}

async fn start(server: &BenchServer, note: &mut Note<'_>) -> Result<()> {
    note("exec to health, ms", 1, server.healthy_after.as_secs_f64() * 1e3);
    note("memory then, MiB", 1, resident_bytes(server.pid)? as f64 / MIB);
    let _client = BenchClient::open(server).await?;
    note("exec to a session that listens, ms", 1, server.began.elapsed().as_secs_f64() * 1e3);
    tokio::time::sleep(REST).await;
    note("memory with one idle session, MiB", 1, resident_bytes(server.pid)? as f64 / MIB);
    Ok(())
}

fn latencies(mut latencies: Vec<u64>, note: &mut Note<'_>) {
    latencies.sort_unstable();
    note("p50, ms", 2, percentile(&latencies, 0.5) / MILLISECOND);
    note("p99, ms", 2, percentile(&latencies, 0.99) / MILLISECOND);
}

//! The benchmark of the south: how fast drivers translate, and how fast past conversations are imported. It runs in
//! this process, without agents, on the recordings of the tests. It counts seconds of CPU time, so other work of the
//! machine does not matter. For work that waits for the disk, it also counts seconds of the clock.
//!
//! ```text
//! south [--seconds N] [--megabytes N]
//! ```

mod cpu;
mod deltas;
mod past;
mod react;
mod recordings;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: south [--seconds N] [--megabytes N]";

fn main() -> Result<()> {
    let (mut seconds, mut megabytes) = (2.0, 100);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().context(USAGE)?;
        match word.as_str() {
            "--seconds" => {
                seconds = value.parse().ok().filter(|n| (0.1..=600.0).contains(n)).context(USAGE)?
            }
            "--megabytes" => {
                megabytes = value.parse().ok().filter(|n| (1..=10_000).contains(n)).context(USAGE)?
            }
            _ => bail!(USAGE),
        }
    }
    println!("| what | figure |\n|---|---:|");
    for (what, rate) in deltas::translate(seconds)? {
        println!("| {what} | {rate:.0} messages/s |");
    }
    for (driver, rate) in recordings::replay(seconds)? {
        println!("| {driver}: recordings, with what a session says in them | {rate:.0} messages/s |");
    }
    for (agent, rate) in past::read(seconds)? {
        println!("| {agent}: a past conversation, read | {rate:.0} MB/s |");
    }
    for (api, rate) in react::read(seconds)? {
        println!("| react: a stream of {api}, read | {rate:.0} MB/s |");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let imported = runtime.block_on(past::import(megabytes))?;
    println!(
        "| codex: past conversations, listed | {:.2} s for {} |",
        imported.listed, imported.conversations
    );
    println!(
        "| codex: past conversations, in the log | {:.1} MB/s, {:.1} MB/s by the clock |",
        imported.rate, imported.by_clock
    );
    let rounds = runtime.block_on(react::rounds())?;
    for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        let place = ((rounds.len() as f64 * part) as usize).min(rounds.len().saturating_sub(1));
        let gap = rounds.get(place).copied().unwrap_or_default();
        println!("| react: a round of the loop, {name} | {gap:.2} ms |");
    }
    Ok(())
}

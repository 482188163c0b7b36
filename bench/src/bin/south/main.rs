//! The benchmark of the south: how fast drivers translate and past conversations are taken in. In this process, without
//! agents, on the recordings that the tests read too. Seconds are those of a processor, so that whatever else the machine
//! does counts for nothing; what waits for the disk is told in seconds of a clock as well.
//!
//! ```text
//! south [--seconds N] [--megabytes N]
//! ```

mod cpu;
mod deltas;
mod past;
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
    Ok(())
}

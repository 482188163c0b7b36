//! The benchmark: the hub and the reference relay, side by side, with the same agent, client and machine.
//!
//! ```text
//! bench [--rounds N] [--scenario NAME]...
//! ```
//!
//! Every scenario gets its own server in its own folder. Rounds are interleaved, so that other work of the machine
//! affects both servers alike. If a delta is lost, doubled or out of order, the run ends with an error. Linux only: it
//! reads `/proc`.

mod client;
mod figures;
mod process;
mod scenario;
mod server;
mod tally;

use anyhow::{Context, Result, bail};

use figures::Figures;
use scenario::Scenario;
use server::{Kind, Programs};

const USAGE: &str = "usage: bench [--rounds N] [--scenario burst|paced|many|replay|start]...";
const MOST_ROUNDS: usize = 100;

struct Options {
    rounds: usize,
    scenarios: Vec<Scenario>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self { rounds: 3, scenarios: Vec::new() };
        while let Some(word) = words.next() {
            let value = words.next().context(USAGE)?;
            match word.as_str() {
                "--rounds" => {
                    let rounds = value.parse().ok().filter(|rounds| (1..=MOST_ROUNDS).contains(rounds));
                    options.rounds = rounds.with_context(|| format!("rounds are 1 to {MOST_ROUNDS}"))?;
                }
                "--scenario" => {
                    let known = Scenario::ALL.into_iter().find(|scenario| scenario.name() == value);
                    options.scenarios.push(known.context(USAGE)?);
                }
                _ => bail!(USAGE),
            }
        }
        if options.scenarios.is_empty() {
            options.scenarios.extend(Scenario::ALL);
        }
        Ok(options)
    }
}

fn main() -> Result<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let programs = Programs::beside_this_one()?;
    // One thread, because the client must use as little of the machine as possible.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures = Figures::default();
    for round in 1..=options.rounds {
        for scenario in &options.scenarios {
            // Each server goes first in every second round, in case the order matters.
            let [first, second] = Kind::ALL;
            for kind in if round % 2 == 1 { [first, second] } else { [second, first] } {
                eprintln!("round {round} of {}: {} on {}", options.rounds, scenario.name(), kind.name());
                let ran = runtime.block_on(scenario.run(kind, &programs, &mut figures));
                ran.with_context(|| format!("{} on {}", scenario.name(), kind.name()))?;
            }
        }
    }
    println!("{figures}");
    Ok(())
}

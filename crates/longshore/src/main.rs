//! The program `longshore`: parse, run the verb, exit with its code.

use std::process::ExitCode;

use clap::Parser;
use longshore::cli::{Cli, run};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(run(cli));
    // A thread that waits for a line from the terminal must not hold the end back.
    runtime.shutdown_background();
    code
}

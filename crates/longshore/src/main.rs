//! The program `longshore`: parse, run the verb, exit with its code.

use std::process::ExitCode;

use clap::Parser;
use longshore::cli::{Cli, run};

#[allow(unsafe_code, reason = "only here is it sure that there is one thread")]
fn main() -> ExitCode {
    // SAFETY: there is no other thread yet.
    unsafe { longshore::owner_token::hide() };
    // Keys are in its environment, tokens in its memory: no other program of this user is to read them there. Should the
    // system refuse, it is no worse than before.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
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

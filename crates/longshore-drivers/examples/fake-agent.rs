//! An agent for tests: a real process that does what a script says, step by step.
//!
//! `fake-agent '[{"do":"print","line":"hello"},{"do":"echo"},{"do":"exit","code":3}]'`; at the end of the script it
//! exits with 0. `fake-agent --version` says a version, and adds a line to the file that `FAKE_AGENT_ASKED` names.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio, exit};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::{Signal, getpid, kill_process};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
enum Step {
    /// Says a line.
    Print { line: String },
    /// Says what a variable of its environment holds.
    Env { name: String },
    /// Says so many `x`, and no line feed.
    Bytes { count: usize },
    /// Says these bytes.
    Raw { bytes: Vec<u8> },
    /// Complains, so many times.
    Stderr {
        text: String,
        #[serde(default = "once")]
        times: usize,
    },
    /// Takes no notice of SIGTERM from now on.
    IgnoreTerm,
    /// Waits for a line, and does nothing with it.
    Read,
    /// Says every line that it hears, until the end of its input.
    Echo,
    /// Says a line over and over, until it hears one itself; then calls `call` with the number of bytes that it
    /// got rid of.
    Flood { line: String, call: String },
    /// Says a line so many times.
    Repeat { line: String, times: usize },
    /// Connects to `call` and holds the line in the background.
    Call { call: String },
    /// Connects to `call` and waits until it is hung up on.
    Wait { call: String },
    /// Starts a process that connects to `call` and runs until it is hung up on; it inherits all pipes.
    Grandchild { call: String, own_group: bool },
    /// Closes its output and its errors.
    HangUp,
    /// Does nothing for ever, not even read.
    Hang,
    /// Kills itself.
    Kill { signal: i32 },
    /// Ends.
    Exit { code: i32 },
}

fn once() -> usize {
    1
}

fn main() {
    let argument = std::env::args().nth(1).expect("a script");
    if argument == "--version" {
        return say_version();
    }
    let steps: Vec<Step> = serde_json::from_str(&argument).expect("a script of known steps");
    for step in steps {
        take(step);
    }
}

fn say_version() {
    if let Some(path) = std::env::var_os("FAKE_AGENT_ASKED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(b"asked\n").unwrap();
    }
    println!("fake-agent v1.2.3 (test)");
}

fn take(step: Step) {
    match step {
        Step::Print { line } => say(format!("{line}\n").as_bytes()),
        Step::Env { name } => say(format!("{}\n", std::env::var(name).unwrap()).as_bytes()),
        Step::Bytes { count } => {
            let block = [b'x'; 64 * 1024];
            let mut left = count;
            while left > 0 {
                let now = left.min(block.len());
                say(&block[..now]);
                left -= now;
            }
        }
        Step::Raw { bytes } => say(&bytes),
        Step::Stderr { text, times } => std::io::stderr().write_all(text.repeat(times).as_bytes()).unwrap(),
        Step::IgnoreTerm => ignore_term(),
        Step::Read => drop(read_line()),
        Step::Echo => {
            while let Some(line) = read_line() {
                say(line.as_bytes());
            }
        }
        Step::Flood { line, call } => flood(&line, call),
        Step::Repeat { line, times } => say(format!("{line}\n").repeat(times).as_bytes()),
        Step::Call { call } => std::mem::forget(TcpStream::connect(call).unwrap()),
        Step::Wait { call } => drop(TcpStream::connect(call).unwrap().read(&mut [0])),
        Step::Grandchild { call, own_group } => grandchild(&call, own_group),
        Step::HangUp => {
            // A pipe is closed when its last descriptor is.
            let null = std::fs::File::options().write(true).open("/dev/null").unwrap();
            rustix::stdio::dup2_stdout(&null).unwrap();
            rustix::stdio::dup2_stderr(&null).unwrap();
        }
        Step::Hang => hang(),
        Step::Kill { signal } => {
            kill_process(getpid(), Signal::from_named_raw(signal).unwrap()).unwrap();
            hang();
        }
        Step::Exit { code } => exit(code),
    }
}

fn hang() {
    loop {
        std::thread::park();
    }
}

/// Straight to the pipe: nothing is left in a buffer when it ends.
fn say(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).unwrap();
}

fn read_line() -> Option<String> {
    let mut line = String::new();
    let count = std::io::stdin().lock().read_line(&mut line).unwrap();
    (count > 0).then_some(line)
}

fn flood(line: &str, call: String) {
    let (written, heard) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let (counter, flag) = (Arc::clone(&written), Arc::clone(&heard));
    let listener = std::thread::spawn(move || {
        let line = read_line();
        let count = counter.load(Ordering::SeqCst);
        let mut stream = TcpStream::connect(call).unwrap();
        write!(stream, "{count} {}", line.unwrap_or_default()).unwrap();
        flag.store(true, Ordering::SeqCst);
    });
    let block = format!("{line}\n");
    while !heard.load(Ordering::SeqCst) {
        say(block.as_bytes());
        written.fetch_add(block.len() as u64, Ordering::SeqCst);
    }
    listener.join().unwrap();
}

/// A handler that does nothing, for the rest of the process's life.
fn ignore_term() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    std::mem::forget(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).unwrap());
    std::mem::forget(runtime);
}

fn grandchild(call: &str, own_group: bool) {
    if std::env::var_os("FAKE_AGENT_GRANDCHILD").is_some() {
        let mut stream = TcpStream::connect(call).unwrap();
        let _ = stream.read(&mut [0]);
        return;
    }
    let script = format!(r#"[{{"do":"grandchild","call":"{call}","own_group":{own_group}}}]"#);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(script).env("FAKE_AGENT_GRANDCHILD", "1").stdin(Stdio::null());
    if own_group {
        command.process_group(0);
    }
    std::mem::forget(command.spawn().unwrap());
}

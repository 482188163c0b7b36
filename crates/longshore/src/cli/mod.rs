//! The command line: one verb per file.

mod agents;
mod answer;
mod archive;
mod attach;
mod called_back;
mod close;
mod completions;
mod decide;
mod demo;
mod devices;
mod doctor;
mod down;
mod exit;
mod export;
mod fork;
mod hand;
mod home;
mod house;
mod import;
mod inbox;
mod interrupt;
mod line;
mod link;
mod listen;
mod live;
mod ls;
mod model;
mod open;
mod pair;
mod private;
mod prompt;
mod queue;
mod reach;
mod react;
mod record;
mod replay;
mod resume;
mod run;
mod said;
mod search;
mod set;
mod show;
mod slash;
mod terminal;
mod token;
mod token_file;
mod up;
mod usage;
mod verified;
mod verify;
mod wait;
mod welcome;
mod wish;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Any coding agent in, any client out, nothing lost.
#[derive(Debug, Parser)]
#[command(name = "longshore", version, after_help = exit::CODES)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
    /// Print JSON: one document, or an object a line for streams
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start the hub and stay with it
    Up(up::Up),
    /// Stop the hub
    Down,
    /// Open the web app in this computer's browser, signed in
    Open(open::Open),
    /// Open a session, say something, and watch the turn
    Run(run::Run),
    /// List sessions
    Ls(ls::Ls),
    /// Show a session
    Show(show::Show),
    /// Follow a session and talk to it
    Attach(attach::Attach),
    /// Say something to a session and watch the turn
    Prompt(prompt::Prompt),
    /// Allow what an agent waits for
    Approve(decide::Approve),
    /// Deny what an agent waits for
    Deny(decide::Deny),
    /// Answer a question of an agent
    Answer(answer::Answer),
    /// List what needs you
    Inbox(inbox::Inbox),
    /// Stop the running turn
    Interrupt(interrupt::Interrupt),
    /// Wait until a session is at rest or needs you
    Wait(wait::Wait),
    /// List, change or send the prompts that are queued
    Queue(queue::Queue),
    /// Resume what a restart of the hub interrupted
    Resume(resume::Resume),
    /// Hand a session back to the agent's own terminal
    Release(close::Release),
    /// Fork a session into a new one
    Fork(fork::Fork),
    /// Change what an agent may do without asking
    Mode(set::SetMode),
    /// Change how hard the model of a session thinks
    Effort(set::SetEffort),
    /// Give a session another title
    Rename(archive::Rename),
    /// Put sessions away, or take them out again
    Archive(archive::Archive),
    /// End a session; its history is kept
    Close(close::Close),
    /// Delete a session with its history, for good
    Delete(close::Delete),
    /// List the agents
    Agents,
    /// Write a session to a file
    Export(export::Export),
    Import(import::Import),
    /// Find words in all sessions
    Search(search::Search),
    /// Show tokens and cost
    Usage(usage::Usage),
    /// Show a code with which a phone becomes a device
    Pair(pair::Pair),
    /// List the paired devices, or revoke one
    Devices(devices::Devices),
    /// Print the owner's token, or replace it
    Token(token::Token),
    /// Name each fault of this installation, with its fix
    Doctor,
    /// See it all in half a minute, without an account and without a network
    Demo(demo::Demo),
    /// Change the model of a session; or serve a scripted model, or a gateway to a real one
    Model(model::Model),
    /// Write down the wire of an agent: in a scenario, or of a program that you drive
    Record(record::Record),
    /// Try an installed agent, and tell what differs from what was recorded
    Verify(verify::Verify),
    /// Show the events that a recorded wire becomes
    Replay(replay::Replay),
    /// Be the built-in agent; the hub starts it
    #[command(hide = true)]
    React,
    /// Print completions for a shell
    Completions(completions::Completions),
}

/// Runs the verb. What goes wrong is said on stderr, with what to do about it.
pub async fn run(cli: Cli) -> ExitCode {
    let json = cli.json;
    let done = match cli.verb {
        Verb::Up(verb) => verb.run(json).await,
        Verb::Down => down::run(json).await,
        Verb::Open(verb) => verb.run(json).await,
        Verb::Run(verb) => verb.run(json).await,
        Verb::Ls(verb) => verb.run(json).await,
        Verb::Show(verb) => verb.run(json).await,
        Verb::Attach(verb) => verb.run(json).await,
        Verb::Prompt(verb) => verb.run(json).await,
        Verb::Approve(verb) => verb.run(json).await,
        Verb::Deny(verb) => verb.run(json).await,
        Verb::Interrupt(verb) => verb.run(json).await,
        Verb::Answer(verb) => verb.run(json).await,
        Verb::Inbox(verb) => verb.run(json).await,
        Verb::Wait(verb) => verb.run(json).await,
        Verb::Queue(verb) => verb.run(json).await,
        Verb::Resume(verb) => verb.run(json).await,
        Verb::Release(verb) => verb.run(json).await,
        Verb::Fork(verb) => verb.run(json).await,
        Verb::Mode(verb) => verb.run(json).await,
        Verb::Effort(verb) => verb.run(json).await,
        Verb::Rename(verb) => verb.run(json).await,
        Verb::Archive(verb) => verb.run(json).await,
        Verb::Close(verb) => verb.run(json).await,
        Verb::Delete(verb) => verb.run(json).await,
        Verb::Agents => agents::run(json).await,
        Verb::Export(verb) => verb.run().await,
        Verb::Import(verb) => verb.run(json).await,
        Verb::Search(verb) => verb.run(json).await,
        Verb::Usage(verb) => verb.run(json).await,
        Verb::Pair(verb) => verb.run(json).await,
        Verb::Devices(verb) => verb.run(json).await,
        Verb::Token(verb) => verb.run(json).await,
        Verb::Doctor => doctor::run(json).await,
        Verb::Demo(verb) => verb.run(json).await,
        Verb::Model(verb) => verb.run(json).await,
        Verb::Record(verb) => verb.run(json).await,
        Verb::Verify(verb) => verb.run(json).await,
        Verb::Replay(verb) => verb.run(json),
        Verb::React => react::run().await,
        Verb::Completions(verb) => verb.run(),
    };
    done.unwrap_or_else(|error| exit::report(&error, json))
}

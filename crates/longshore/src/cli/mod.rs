//! The command line: one verb per file.

mod agents;
mod answer;
mod archive;
mod attach;
pub(crate) mod called_back;
mod close;
mod completions;
mod connect;
mod decide;
mod demo;
mod devices;
mod doctor;
mod down;
mod exit;
mod export;
mod fork;
mod held;
mod home;
mod hub_server;
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
mod own_listener;
mod pair;
mod private;
mod project;
mod prompt;
mod queue;
mod react;
mod record;
mod replay;
mod responder;
mod resume;
mod run;
mod said;
mod search;
mod session_command;
mod set;
mod show;
mod slash;
mod start;
mod startable;
mod terminal;
mod token;
mod token_file;
mod up;
mod usage;
mod verified;
mod verify;
mod wait;
mod welcome;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Any coding agent in, any client out, nothing lost.
#[derive(Debug, Parser)]
#[command(name = "longshore", version, after_help = exit::CODES)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
    /// Print JSON: one document, or one object per line where events stream
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start the hub in the foreground
    Up(up::Up),
    /// Stop the hub
    Down,
    /// Open the web app in this computer's browser, signed in
    Open(open::OpenArgs),
    /// Open a session, send a prompt and show the turn
    Run(run::RunArgs),
    /// List sessions
    Ls(ls::Ls),
    /// Show a session
    Show(show::Show),
    /// Follow a session and talk to it
    Attach(attach::Attach),
    /// Send a prompt to a session and show the turn
    Prompt(prompt::Prompt),
    /// Allow the action that an agent asks about
    Approve(decide::Approve),
    /// Deny the action that an agent asks about
    Deny(decide::Deny),
    /// Answer a question of an agent
    Answer(answer::AnswerArgs),
    /// List everything that needs you
    Inbox(inbox::Inbox),
    /// Stop the running turn
    Interrupt(interrupt::Interrupt),
    /// Wait until a session is at rest or needs you
    Wait(wait::Wait),
    /// List, change or send queued prompts
    Queue(queue::Queue),
    /// Resume a turn that a restart of the hub interrupted
    Resume(resume::Resume),
    /// Hand a session back to the agent's own terminal
    Release(close::Release),
    /// Make an independent copy of a session
    Fork(fork::Fork),
    /// Show or set what an agent may do without asking
    Mode(set::SetMode),
    /// Show or set how hard the model of a session thinks
    Effort(set::SetEffort),
    /// Give a session another title
    Rename(archive::Rename),
    /// Archive sessions, or take them out of the archive
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
    /// Search all sessions
    Search(search::Search),
    /// Show tokens and cost
    Usage(usage::UsageArgs),
    /// Show a QR code and a link that pair a phone or a browser
    Pair(pair::Pair),
    /// List the projects that clients offer, add one or remove one
    Project(project::ProjectArgs),
    /// List the paired devices, or revoke one
    Devices(devices::Devices),
    /// Print the owner's token, or replace it
    Token(token::TokenArgs),
    /// Check this installation; name each fault with its fix
    Doctor,
    /// Show everything in half a minute, without an account or a network
    Demo(demo::Demo),
    /// Show or set the model of a session; or serve a scripted model or a gateway
    Model(model::Model),
    /// Record the messages between Longshore and an agent, or to and from a program
    Record(record::Record),
    /// Test an installed agent, and report differences from its recorded behaviour
    Verify(verify::Verify),
    /// Show the events that Longshore makes of a recording
    Replay(replay::Replay),
    /// Run the built-in agent; the hub starts it
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
        Verb::Project(verb) => verb.run(json).await,
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

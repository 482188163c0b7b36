//! `longshore replay`: shows the events that a recording becomes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;
use longshore_drivers::capture::{Capture, Narrator, ReplayStep, replay};
use longshore_model::capability::{Capabilities, Mode};
use longshore_model::command::AgentCommand;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, Ids, PromptId, SessionId, TurnId};
use longshore_model::lifecycle::Opened;
use longshore_model::session::{Input, Outcome, Session};
use longshore_model::time::Timestamp;

use super::terminal::put_line;

/// Show the events that Longshore makes of a recording.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// The file that `longshore record` wrote
    file: PathBuf,
}

impl Replay {
    /// As text: what the driver heard, told and said, a line each. As JSON: the events of the sessions.
    pub(super) fn run(self, as_json: bool) -> Result<ExitCode> {
        let file = std::fs::File::open(&self.file)
            .with_context(|| format!("cannot read {}", self.file.display()))?;
        let capture = Capture::read(std::io::BufReader::new(file))?;
        let steps = replay(&capture)?;
        if as_json {
            for line in events_of(&capture, &steps) {
                put_line(&line)?;
            }
        } else {
            let mut narrator = Narrator::new();
            for step in &steps {
                put_line(narrator.step(step))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What was told and said, taken through the machine of each session.
fn events_of(capture: &Capture, steps: &[ReplayStep]) -> Vec<String> {
    // A replay has no clock and no chance, so that the same capture always gives the same events.
    let mut ids = Ids::seeded(0);
    let mut cx = Context { now: Timestamp::default(), ids: &mut ids };
    let mut sessions: BTreeMap<SessionId, Session> = BTreeMap::new();
    let mut out = Outcome::default();
    for step in steps {
        let (id, opened) = match step {
            ReplayStep::Told { session, .. } => (*session, None),
            ReplayStep::Said { session, draft } => (*session, opened_by(draft)),
            ReplayStep::Wrote(_) | ReplayStep::Finished(_) => continue,
        };
        let begins = opened.is_some();
        let opened = opened.unwrap_or_else(|| as_recorded(capture));
        let session = sessions.entry(id).or_insert_with(|| Session::open(id, opened, &mut cx, &mut out));
        match step {
            ReplayStep::Told { command, .. } => {
                for draft in as_recorded_by_the_hub(command) {
                    session.take_over(draft, &mut cx, &mut out);
                }
            }
            ReplayStep::Said { draft, .. } if !begins => {
                // What an agent says is never refused.
                let _ = session.handle(Input::Said((**draft).clone()), &mut cx, &mut out);
            }
            ReplayStep::Said { .. } | ReplayStep::Wrote(_) | ReplayStep::Finished(_) => {}
        }
    }
    out.events.iter().filter_map(|(event, _)| serde_json::to_string(event).ok()).collect()
}

/// What a hub records of its own when it tells an agent this.
fn as_recorded_by_the_hub(command: &AgentCommand) -> Vec<Draft> {
    let said = |turn: TurnId, prompt: PromptId, text: &str| {
        let body = Body::UserMessage { prompt: Some(prompt), attachments: Vec::new(), by: None };
        Draft::new(body).turn(turn).text(text)
    };
    match command {
        AgentCommand::Prompt { turn, prompt, text, .. } => {
            let started = Draft::new(Body::TurnStarted { prompt: Some(*prompt) }).turn(*turn);
            vec![started, said(*turn, *prompt, text)]
        }
        AgentCommand::Steer { turn, prompt, text, .. } => vec![said(*turn, *prompt, text)],
        AgentCommand::Decide { approval, decision } => {
            vec![Draft::new(Body::ApprovalDecided { approval: *approval, decision: decision.clone() })]
        }
        AgentCommand::Answer { question, answer } => {
            vec![Draft::new(Body::QuestionAnswered { question: *question, answer: answer.clone() })]
        }
        AgentCommand::SetEffort(effort) => {
            vec![Draft::new(Body::EffortChanged { effort: effort.clone() })]
        }
        AgentCommand::SetMode(mode) => vec![Draft::new(Body::ModeChanged { mode: *mode })],
        AgentCommand::SetModel(model) => vec![Draft::new(Body::ModelChanged { model: model.clone() })],
        AgentCommand::Rename(title) => vec![Draft::new(Body::TitleChanged).text(title)],
        AgentCommand::Archive(archived) => vec![Draft::new(Body::ArchiveChanged { archived: *archived })],
        AgentCommand::Interrupt { .. } | AgentCommand::Child { .. } => Vec::new(),
    }
}

fn opened_by(draft: &Draft) -> Option<Opened> {
    match &draft.body {
        Body::SessionOpened(opened) => Some(Opened::clone(opened)),
        _ => None,
    }
}

/// A capture does not say how its session was opened; this much is known.
fn as_recorded(capture: &Capture) -> Opened {
    Opened {
        agent: capture.driver.as_str().into(),
        cwd: "/".to_owned(),
        mode: Mode::default(),
        model: None,
        effort: None,
        title: Some(capture.scenario.clone()),
        mcp_servers: Vec::new(),
        capabilities: Capabilities::default(),
        parent: None,
        forked_from: None,
        from_file: false,
    }
}

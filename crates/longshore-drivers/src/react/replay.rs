//! Replays a recording of the built-in agent. Its lines are types of the model already, so little must be
//! translated.

use longshore_model::driver::Input;
use longshore_model::id::SessionId;

use super::React;
use super::wire::ToAgent;
use crate::capture::{Capture, Direction, Harness, ReplayStep};

/// Replays a recording through the driver.
pub fn replay(capture: &Capture) -> Vec<ReplayStep> {
    let mut stand = Harness::default();
    stand.start(React::new());
    let mut session: Option<SessionId> = None;
    for entry in &capture.entries {
        let line = entry.line();
        let input = match entry.dir {
            Direction::FromAgent => Input::Line(line.into()),
            Direction::ToAgent => match (ToAgent::of_line(&line), session) {
                (Ok(ToAgent::Open(launch)), _) => {
                    session = Some(launch.session);
                    Input::Open(*launch)
                }
                (Ok(ToAgent::Tell(command)), Some(session)) => {
                    stand.steps.push(ReplayStep::Told { session, command: command.clone() });
                    Input::Tell { session, command }
                }
                (Ok(ToAgent::Tell(_) | ToAgent::Models(_)) | Err(_), _) => continue,
            },
            Direction::Spawn | Direction::Stderr | Direction::Exit | Direction::Note | Direction::Told => {
                continue;
            }
        };
        if let Some(out) = stand.handle(input) {
            stand.take_down(out);
        }
    }
    stand.steps
}

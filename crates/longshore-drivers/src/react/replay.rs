//! A recording of the built-in agent, once more: its lines are our own words, so there is little to turn into others.

use longshore_model::driver::{Driver, Input, Output};
use longshore_model::id::{Context, Ids, SessionId};
use longshore_model::time::Timestamp;

use super::React;
use super::wire::ToAgent;
use crate::capture::{Capture, Direction, Step};

/// Has the driver hear a recording again.
pub fn replay(capture: &Capture) -> Vec<Step> {
    let (mut driver, mut ids, mut steps) = (React::new(), Ids::seeded(1), Vec::new());
    let mut session: Option<SessionId> = None;
    for entry in &capture.entries {
        let now = Timestamp::from_micros((entry.t * 1e6) as i64);
        let line = entry.line();
        let input = match entry.dir {
            Direction::FromAgent => Input::Line(line.into()),
            Direction::ToAgent => match (ToAgent::of_line(&line), session) {
                (Ok(ToAgent::Open(launch)), _) => {
                    session = Some(launch.session);
                    Input::Open(*launch)
                }
                (Ok(ToAgent::Tell(command)), Some(session)) => {
                    steps.push(Step::Told { session, command: command.clone() });
                    Input::Tell { session, command }
                }
                (Ok(ToAgent::Tell(_) | ToAgent::Models(_)) | Err(_), _) => continue,
            },
            Direction::Spawn | Direction::Stderr | Direction::Exit | Direction::Note => continue,
        };
        let mut out = Output::default();
        driver.handle(input, &mut Context { now, ids: &mut ids }, &mut out);
        steps.extend(out.lines.into_iter().map(Step::Wrote));
        let said = out.said.into_iter();
        steps.extend(said.map(|(session, draft)| Step::Said { session, draft: Box::new(draft) }));
        steps.extend(out.finished.map(Step::Finished));
    }
    steps
}

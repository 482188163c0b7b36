//! Turns that were held in the agent's own terminal while the session is one of ours: taken in once, in their place.

use longshore_model::capability::Capabilities;
use longshore_model::command::Command;
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, PromptId, TurnId};
use longshore_model::info::Activity;
use longshore_model::lifecycle::{Sleep, SleepCause, TurnEnd, TurnOutcome};
use longshore_model::session::{Effect, Input};
use longshore_model::time::Timestamp;

use crate::stage::{Stage, everything};

/// A session whose agent keeps a record and listens.
fn recorded() -> Stage {
    let mut stage = Stage::with(Capabilities { own_record: true, ..everything() });
    stage.command(Command::Revive { from_log: false }).unwrap();
    stage.is_ready();
    stage.effects.clear();
    stage
}

/// One turn of the agent's own record.
fn outside(stage: &mut Stage, at: Timestamp, text: &str) -> Vec<(Timestamp, Draft)> {
    let (turn, said, item) = (stage.mint(TurnId::mint), stage.mint(ItemId::mint), stage.mint(ItemId::mint));
    let user = Body::UserMessage { prompt: None, attachments: Vec::new(), by: None };
    let done = Body::MessageDone { phase: None, partial: false };
    [
        Draft::new(Body::TurnStarted { prompt: None }).turn(turn),
        Draft::new(user).turn(turn).item(said).text(text),
        Draft::new(done).turn(turn).item(item).text("answered there"),
        Draft::new(Body::TurnFinished(TurnEnd::of(TurnOutcome::Completed))).turn(turn),
    ]
    .map(|draft| (at, draft))
    .into()
}

fn read(stage: &mut Stage, since: Option<Timestamp>, text: &str) {
    let at = since.unwrap_or_default().plus_millis(5_000);
    let drafts = outside(stage, at, text);
    stage.handle(Input::Past { after: 0, since, drafts, until: 900 }).unwrap();
}

fn since(stage: &Stage) -> Option<Timestamp> {
    stage.session.record_place().and_then(|place| place.told).map(|told| told.until)
}

fn user_messages(stage: &Stage) -> Vec<&str> {
    let said = |body: &Body| matches!(body, Body::UserMessage { .. });
    stage.events.iter().filter(|event| said(&event.body)).map(|event| event.text()).collect()
}

#[test]
fn a_sleeping_session_takes_in_what_was_said_elsewhere_once() {
    let mut stage = recorded();
    let turn = stage.prompt("here");
    stage.finish(turn, TurnOutcome::Completed);
    stage.gone(Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "released");
    assert!(stage.effects.contains(&Effect::FollowRecord), "{:?}", stage.effects);
    let then = since(&stage);
    read(&mut stage, then, "there");
    assert_eq!(user_messages(&stage), ["here", "there"]);
    assert_eq!(stage.session.imported(), Some(900));
    // The same piece once more does not follow on what is here now.
    read(&mut stage, then, "there");
    assert_eq!(user_messages(&stage), ["here", "there"]);
    stage.check();
}

#[test]
fn what_was_read_before_something_happened_here_is_left_alone() {
    let mut stage = recorded();
    let turn = stage.prompt("here");
    stage.finish(turn, TurnOutcome::Completed);
    let then = since(&stage);
    let turn = stage.prompt("and here");
    assert_eq!(stage.session.record_place(), None, "a turn runs: our own driver tells");
    read(&mut stage, then, "and here");
    stage.finish(turn, TurnOutcome::Completed);
    read(&mut stage, then, "and here");
    assert_eq!(user_messages(&stage), ["here", "and here"]);
}

#[test]
fn an_idle_agent_that_does_not_know_what_was_said_elsewhere_ends_first() {
    let mut stage = recorded();
    let turn = stage.prompt("here");
    stage.finish(turn, TurnOutcome::Completed);
    stage.effects.clear();
    let then = since(&stage);
    read(&mut stage, then, "there");
    assert_eq!(stage.effects, [Effect::Stop]);
    assert_eq!(user_messages(&stage), ["here"], "not yet");
    assert_eq!(stage.session.info().activity, Activity::Sleeping);
    // A prompt that comes now waits for the agent that remembers all of it.
    stage.prompt("and again here");
    assert!(!stage.effects.iter().any(|effect| matches!(effect, Effect::Tell(_))), "{:?}", stage.effects);
    stage.gone(Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "it was told to stop");
    assert!(stage.effects.contains(&Effect::FollowRecord));
    assert!(stage.effects.iter().any(|effect| matches!(effect, Effect::Launch(_))));
}

#[test]
fn a_prompt_that_the_agent_wrote_down_and_never_answered_is_not_there_twice() {
    let mut stage = recorded();
    stage.prompt("lost?");
    stage.gone(Sleep { cause: SleepCause::HubRestarted, ..Sleep::default() }, "the hub was restarted");
    let then = since(&stage);
    read(&mut stage, then, "lost?");
    assert_eq!(user_messages(&stage), ["lost?"]);
    assert_eq!(stage.session.imported(), None);
    // Endings that were written for an agent that is gone are nothing that was heard of it.
    read(&mut stage, then, "said there, before the restart");
    assert_eq!(user_messages(&stage), ["lost?", "said there, before the restart"]);
}

/// OpenCode records its model with the prompt, and the anchor lets that pass together with the turn.
#[test]
fn what_stands_beside_a_prompt_that_was_never_answered_did_not_happen_elsewhere_either() {
    let mut stage = recorded();
    let turn = stage.prompt("stopped at once");
    stage.finish(turn, TurnOutcome::Interrupted);
    stage.effects.clear();
    let events = stage.events.len();
    let then = since(&stage);
    let at = then.unwrap().plus_millis(5);
    let mut drafts = outside(&mut stage, at, "stopped at once");
    let model = || (at, Draft::new(Body::ModelChanged { model: "one/two".to_owned() }));
    drafts.insert(2, model());
    drafts.push(model());
    stage.handle(Input::Past { after: 0, since: then, drafts: drafts.clone(), until: 900 }).unwrap();
    assert_eq!((stage.events.len(), stage.effects.as_slice()), (events, &[][..]), "the agent stays");
    // What follows was said elsewhere, and has its model.
    drafts.extend(outside(&mut stage, at, "there"));
    drafts.push(model());
    stage.gone(Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "released");
    stage.handle(Input::Past { after: 0, since: then, drafts, until: 900 }).unwrap();
    assert_eq!(user_messages(&stage), ["stopped at once", "there"]);
    let models = stage.events.iter().filter(|event| matches!(event.body, Body::ModelChanged { .. }));
    assert_eq!(models.count(), 1);
    stage.check();
}

/// The agent records the prompt later than the hub, and perhaps in other words: a slash command as what it stands for.
#[test]
fn a_turn_that_was_stopped_before_it_was_answered_was_held_here_until_it_was_stopped() {
    let mut stage = recorded();
    let turn = stage.prompt("/init");
    let began = stage.events.last().unwrap().at;
    stage.wait(300);
    stage.finish(turn, TurnOutcome::Interrupted);
    let until = since(&stage).unwrap();
    assert!(until.millis_since(began) >= 300, "the anchor leaves out every turn that began before");
    stage.wait(300);
    stage.prompt("and then?");
    stage.wait(300);
    stage.gone(Sleep { cause: SleepCause::HubRestarted, ..Sleep::default() }, "the hub was restarted");
    assert!(
        since(&stage).unwrap().millis_since(until) < 600,
        "this was written when the agent was long gone"
    );
}

/// Whoever reads the record leaves out what was said here since it was last taken in, and by name, not only by time: a turn may
/// have begun there while one ran here.
#[test]
fn what_was_said_here_is_known_by_name_until_the_record_is_taken_in() {
    let mut stage = recorded();
    let turn = stage.prompt("here");
    stage.finish(turn, TurnOutcome::Completed);
    let said = |stage: &Stage| -> Vec<PromptId> {
        let prompt = |body: &Body| match body {
            Body::UserMessage { prompt, .. } => *prompt,
            _ => None,
        };
        stage.events.iter().filter_map(|event| prompt(&event.body)).collect()
    };
    let told = |stage: &Stage| stage.session.record_place().and_then(|place| place.told).unwrap();
    assert_eq!(told(&stage).prompts, said(&stage));
    assert!(told(&stage).since < told(&stage).until, "since it was opened");

    stage.gone(Sleep { cause: SleepCause::Stopped, ..Sleep::default() }, "released");
    let then = since(&stage);
    read(&mut stage, then, "there");
    stage.command(Command::Revive { from_log: false }).unwrap();
    stage.is_ready();
    assert_eq!(told(&stage).prompts, [], "all that is in the record so far is here");
    let turn = stage.prompt("here again");
    stage.finish(turn, TurnOutcome::Completed);
    assert_eq!(told(&stage).prompts, said(&stage)[1..]);
    stage.check();
}

#[test]
fn nothing_is_read_for_an_agent_that_keeps_no_record() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("here");
    stage.finish(turn, TurnOutcome::Completed);
    assert_eq!(stage.session.record_place(), None);
    stage.gone(Sleep::default(), "it ended");
    assert!(!stage.effects.contains(&Effect::FollowRecord));
}

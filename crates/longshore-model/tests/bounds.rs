//! What one session may hold: asks, prompts, and the texts of its row.

use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::capability::SlashCommand;
use longshore_model::command::{AgentCommand, Command, Prompt, Refusal};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{ItemId, TurnId};
use longshore_model::item::{ToolCall, ToolOutcome, ToolStatus};
use longshore_model::session::{
    ASKS_BYTES, ASKS_LIMIT, Effect, OPEN_ITEMS_LIMIT, OPEN_TEXTS_LIMIT, QUEUE_BYTES,
};

use crate::stage::Stage;

fn ask(stage: &mut Stage, turn: TurnId, command: &str) -> longshore_model::id::ApprovalId {
    let approval = stage.approval();
    let subject = Subject::Command { command: command.to_owned(), cwd: None, always: Vec::new() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce, Decision::Deny] };
    stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn).raw(Some("{}".into())));
    approval
}

#[test]
fn an_agent_that_asks_too_much_is_refused_and_it_is_said_once() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let first = ask(&mut stage, turn, "make");
    for _ in 1..ASKS_LIMIT {
        ask(&mut stage, turn, "make");
    }
    stage.effects.clear();
    let surplus = ask(&mut stage, turn, "make");
    ask(&mut stage, turn, "make");
    assert_eq!(stage.session.info().approvals.len(), ASKS_LIMIT);
    let refused = |effect: &Effect| {
        matches!(effect, Effect::Tell(AgentCommand::Decide { approval, decision })
            if *approval == surplus && decision.decision == Decision::Deny && decision.by == "hub")
    };
    assert!(stage.effects.iter().any(refused), "{:?}", stage.effects);
    let notices = stage.events.iter().filter(|event| matches!(event.body, Body::Notice { .. })).count();
    assert_eq!(notices, 1);

    // With one answered there is room for another.
    let yes = Command::Decide { approval: first, decision: Decision::Deny, message: None, input: None };
    stage.command(yes).unwrap();
    let next = ask(&mut stage, turn, "make");
    assert!(stage.session.info().approvals.iter().any(|open| open.request.approval == next));
    stage.check();
}

#[test]
fn what_an_agent_asks_has_a_bound_in_bytes_and_what_is_over_it_is_refused() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let large = "x".repeat(ASKS_BYTES / 4);
    let asked: Vec<_> = (0..60).map(|_| ask(&mut stage, turn, &large)).collect();
    assert_eq!(stage.session.info().approvals.len(), 4);
    let absurd = ask(&mut stage, turn, &"x".repeat(ASKS_BYTES + 1));
    let refused = |effect: &Effect| match effect {
        Effect::Tell(AgentCommand::Decide { approval, decision }) if decision.decision == Decision::Deny => {
            Some(*approval)
        }
        _ => None,
    };
    let refused: Vec<_> = stage.effects.iter().filter_map(refused).collect();
    assert_eq!(refused, [&asked[4..], &[absurd]].concat());
    let row = serde_json::to_string(&stage.session.row()).unwrap();
    assert!(row.len() < 40_000 && row.contains("characters left out"), "{}", row.len());
    let notices = stage.events.iter().filter(|event| matches!(event.body, Body::Notice { .. })).count();
    assert_eq!(notices, 1);
    stage.check();
}

#[test]
fn prompts_that_wait_have_a_bound_in_bytes_and_one_alone_has_not() {
    let mut stage = Stage::ready();
    stage.prompt("go");
    let large = || Command::Prompt(Prompt { text: "x".repeat(QUEUE_BYTES), ..Prompt::default() });
    stage.command(large()).unwrap();
    assert_eq!(stage.command(large()), Err(Refusal::QueueTooLarge(QUEUE_BYTES)));
}

#[test]
fn a_row_cuts_long_texts_in_the_middle_and_the_session_itself_has_them_whole() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let command = format!("echo {} && rm -rf /", "x".repeat(100_000));
    ask(&mut stage, turn, &command);
    stage.prompt(&"word ".repeat(10_000));
    let (row, whole) = (stage.session.row(), stage.session.info());
    let Subject::Command { command: shown, .. } = &row.approvals[0].request.subject else { panic!() };
    assert!(shown.starts_with("echo x") && shown.ends_with("x && rm -rf /"), "{shown}");
    assert!(shown.contains("characters left out"));
    assert!(serde_json::to_string(&row).unwrap().len() < 20_000);
    let Subject::Command { command: kept, .. } = &whole.approvals[0].request.subject else { panic!() };
    assert_eq!(*kept, command);
    assert_eq!(whole.queue[0].text.len(), 50_000);
    // Whoever has only the row knows that it is not all.
    assert!(row.approvals[0].cut && row.queue[0].cut);
    assert!(!whole.approvals[0].cut && !whole.queue[0].cut);
}

#[test]
fn the_time_that_somebody_took_to_decide_is_not_the_tools() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let item = stage.item();
    stage.said(Draft::new(Body::ToolStarted(ToolCall::unknown())).turn(turn).item(item));
    let approval = stage.approval();
    let subject = Subject::Command { command: "make".to_owned(), cwd: None, always: Vec::new() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn).item(item));
    stage.wait(60_000);
    let yes = Command::Decide { approval, decision: Decision::AllowOnce, message: None, input: None };
    stage.command(yes).unwrap();
    let outcome = ToolOutcome::of(ToolStatus::Completed);
    stage.said(Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item));
    let Body::ToolFinished(ended) = &stage.events.last().unwrap().body else { panic!("no end") };
    assert_eq!(ended.duration_ms, Some(20), "10 ms before it asked and 10 ms after the answer");
}

/// The item of an event that ends a message, and how long what is known of it is.
fn ended_message(event: &longshore_model::event::Event) -> Option<(ItemId, usize)> {
    matches!(event.body, Body::MessageDone { .. }).then(|| (event.item.unwrap(), event.text().len()))
}

#[test]
fn texts_that_never_end_have_a_bound_together() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let piece = "x".repeat(4 << 20);
    let items: Vec<ItemId> = (0..20).map(|_| stage.item()).collect();
    for item in &items {
        stage.said(Draft::new(Body::MessageDelta).turn(turn).item(*item).text(piece.as_str()));
    }
    // One that ends makes room for others.
    let whole = Draft::new(Body::MessageDone { phase: None, partial: false });
    stage.said(whole.turn(turn).item(items[0]).text("whole"));
    let late = stage.item();
    stage.said(Draft::new(Body::MessageDelta).turn(turn).item(late).text(piece.as_str()));
    stage.events.clear();
    stage.finish(turn, longshore_model::lifecycle::TurnOutcome::Interrupted);
    let ended: Vec<_> = stage.events.iter().filter_map(ended_message).collect();
    assert_eq!(ended.len(), items.len());
    assert_eq!(ended.iter().map(|(_, length)| length).sum::<usize>(), OPEN_TEXTS_LIMIT);
    assert!(ended.contains(&(late, piece.len())));
}

#[test]
fn what_one_call_prints_has_a_bound_and_its_result_comes_all_the_same() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let print = |stage: &mut Stage, item: ItemId, piece: &str| {
        stage.said(Draft::new(Body::ToolOutputDelta).turn(turn).item(item).text(piece));
    };
    // What cannot be printed is written with six characters.
    for (piece, times) in [("x".repeat(1 << 20), 16), ("\0".repeat(1 << 20), 3)] {
        let item = stage.item();
        stage.events.clear();
        for _ in 0..100 {
            print(&mut stage, item, &piece);
        }
        let deltas: Vec<&str> = stage
            .events
            .iter()
            .filter(|event| matches!(event.body, Body::ToolOutputDelta))
            .map(|event| event.text())
            .collect();
        assert_eq!(deltas.len(), times + 1);
        assert!(deltas[times].contains("is not kept"), "and that is said");
        let outcome = ToolOutcome::of(ToolStatus::Completed);
        stage.said(Draft::new(Body::ToolFinished(outcome)).turn(turn).item(item).text("the result"));
        assert_eq!(stage.events.last().unwrap().text(), "the result");
    }
    let other = stage.item();
    stage.events.clear();
    print(&mut stage, other, "of another call");
    assert_eq!(stage.events.last().unwrap().text(), "of another call");
}

#[test]
fn of_items_that_never_end_the_oldest_is_ended() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let items: Vec<ItemId> = (0..OPEN_ITEMS_LIMIT + 3).map(|_| stage.item()).collect();
    for item in &items {
        stage.said(Draft::new(Body::MessageStarted).turn(turn).item(*item));
    }
    let ended: Vec<ItemId> = stage.events.iter().filter_map(ended_message).map(|(item, _)| item).collect();
    assert_eq!(ended, items[..3]);
    stage.check();
}

#[test]
fn a_row_stays_small_whatever_an_agent_calls_things() {
    let mut stage = Stage::ready();
    let command = |name: String| SlashCommand { name, description: "d".repeat(100_000) };
    let mut commands = vec![command("x".repeat(1 << 20))];
    commands.extend((0..10_000).map(|at| command(format!("command-{at}"))));
    stage.said(Draft::new(Body::CommandsListed { commands }));
    stage.said(Draft::new(Body::TitleChanged).text("t".repeat(1 << 20)));
    stage.said(Draft::new(Body::ModelChanged { model: "m".repeat(1 << 20) }));
    stage.is_ready_as(Some(&"n".repeat(1 << 20)));
    let row = stage.session.row();
    let length = serde_json::to_string(&row).unwrap().len();
    assert!(length < 64 << 10, "{length}");
    assert!(row.commands.len() > 50 && row.commands[0].name == "command-0", "{}", row.commands.len());
    assert!(row.native.is_none() && row.title.contains("characters left out"));
    stage.check();
}

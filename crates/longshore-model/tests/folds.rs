//! The folds: an event twice is an event once, folding can stop anywhere, and a compacted log folds to the same.

use longshore_model::approval::{ApprovalRequest, Decision, Subject};
use longshore_model::command::{Command, Prompt, When};
use longshore_model::event::{Body, Draft, Event, Growth, NoticeLevel};
use longshore_model::id::ItemId;
use longshore_model::item::{
    FileChange, FileChangeKind, FileDiff, PlanStatus, PlanStep, ToolCall, ToolKind, ToolOutcome, ToolStatus,
};
use longshore_model::lifecycle::{Sleep, TurnEnd, TurnOutcome};
use longshore_model::session::Session;
use longshore_model::timeline::{Content, Item, Timeline};
use proptest::prelude::*;

use crate::parents::pairs;
use crate::stage::Stage;

/// Something that an agent or a person might do next. Items are named by small numbers, so that they are met again.
#[derive(Clone, Debug)]
enum Act {
    Prompt(String, When),
    Message(u8, String),
    MessageDone(u8, String),
    Think(u8, String),
    Thought(u8),
    Run(u8),
    Output(u8, String),
    Ran(u8, ToolStatus),
    Diff(u8, ToolStatus),
    PlanGrows(u8, String),
    Plan(u8),
    Ask,
    Decide,
    Notice,
    Finish(TurnOutcome),
    Die,
    Wake,
}

fn act() -> impl Strategy<Value = Act> {
    let item = 0u8..6;
    let text = "[a-z ]{0,8}";
    let status = prop_oneof![
        Just(ToolStatus::Running),
        Just(ToolStatus::Completed),
        Just(ToolStatus::Failed),
        Just(ToolStatus::Declined)
    ];
    let outcome =
        prop_oneof![Just(TurnOutcome::Completed), Just(TurnOutcome::Failed), Just(TurnOutcome::Interrupted)];
    let when = prop_oneof![Just(When::Queue), Just(When::Steer), Just(When::Interrupt)];
    prop_oneof![
        2 => ("[a-z]{1,9}", when).prop_map(|(text, when)| Act::Prompt(text, when)),
        6 => (item.clone(), text).prop_map(|(item, text)| Act::Message(item, text)),
        2 => (item.clone(), text).prop_map(|(item, text)| Act::MessageDone(item, text)),
        3 => (item.clone(), text).prop_map(|(item, text)| Act::Think(item, text)),
        1 => item.clone().prop_map(Act::Thought),
        2 => item.clone().prop_map(Act::Run),
        3 => (item.clone(), text).prop_map(|(item, text)| Act::Output(item, text)),
        2 => (item.clone(), status.clone()).prop_map(|(item, status)| Act::Ran(item, status)),
        2 => (item.clone(), status).prop_map(|(item, status)| Act::Diff(item, status)),
        2 => (item.clone(), text).prop_map(|(item, text)| Act::PlanGrows(item, text)),
        1 => item.prop_map(Act::Plan),
        1 => Just(Act::Ask),
        1 => Just(Act::Decide),
        1 => Just(Act::Notice),
        2 => outcome.prop_map(Act::Finish),
        1 => Just(Act::Die),
        2 => Just(Act::Wake),
    ]
}

fn play(acts: &[Act]) -> Stage {
    let mut stage = Stage::ready();
    // A kind of item keeps to its own ids, as agents do.
    let items: Vec<Vec<ItemId>> = (0..5).map(|_| (0..6).map(|_| stage.item()).collect()).collect();
    for act in acts {
        let turn = stage.session.info().turn;
        let say = |body, kind: usize, item: u8| Draft::new(body).turn(turn).item(items[kind][item as usize]);
        match act.clone() {
            Act::Prompt(text, when) => {
                let _ = stage.command(Command::Prompt(Prompt { text, when, ..Prompt::default() }));
            }
            Act::Message(item, text) => stage.said(say(Body::MessageDelta, 0, item).text(text)),
            Act::MessageDone(item, text) => {
                stage.said(say(Body::MessageDone { phase: None, partial: false }, 0, item).text(text));
            }
            Act::Think(item, text) => stage.said(say(Body::ReasoningDelta, 1, item).text(text)),
            Act::Thought(item) => {
                stage.said(say(Body::ReasoningDone { partial: false }, 1, item).text("thought"));
            }
            Act::Run(item) => {
                let call = ToolCall {
                    name: "exec".to_owned(),
                    kind: ToolKind::Execute,
                    command: Some("make".to_owned()),
                    cwd: None,
                    input: serde_json::Value::Null,
                };
                stage.said(say(Body::ToolStarted(call), 2, item));
            }
            Act::Output(item, text) => stage.said(say(Body::ToolOutputDelta, 2, item).text(text)),
            Act::Ran(item, status) => {
                stage.said(say(Body::ToolFinished(ToolOutcome::of(status)), 2, item).text("whole"));
            }
            Act::Diff(item, status) => {
                let change = FileChange {
                    path: "a.rs".to_owned(),
                    kind: FileChangeKind::Update,
                    moved_to: None,
                    diff: "@@".to_owned(),
                };
                stage.said(say(Body::FileDiff(FileDiff { status, changes: vec![change] }), 3, item));
            }
            Act::PlanGrows(item, text) => stage.said(say(Body::PlanDelta, 4, item).text(text)),
            Act::Plan(item) => {
                let steps = vec![PlanStep { text: "step".to_owned(), status: PlanStatus::Pending }];
                stage.said(say(Body::PlanUpdated { steps }, 4, item).text("plan"));
            }
            Act::Ask => {
                let approval = stage.approval();
                let subject = Subject::Tool { name: "t".to_owned(), input: serde_json::Value::Null };
                let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
                stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn));
            }
            Act::Decide => {
                if let Some(open) = stage.session.info().approvals.first() {
                    let approval = open.request.approval;
                    let decide = Command::Decide {
                        approval,
                        decision: Decision::AllowOnce,
                        message: None,
                        input: None,
                    };
                    stage.command(decide).unwrap();
                }
            }
            Act::Notice => {
                stage.said(Draft::new(Body::Notice { level: NoticeLevel::Warning }).text("careful"));
            }
            Act::Finish(outcome) => {
                stage.said(Draft::new(Body::TurnFinished(TurnEnd::of(outcome))).turn(turn));
            }
            Act::Die => {
                if stage.session.has_agent() {
                    stage.gone(Sleep::default(), "it died");
                }
            }
            Act::Wake => {
                let _ = stage.command(Command::Revive { from_log: false });
                if stage.session.has_agent() {
                    stage.is_ready();
                }
            }
        }
    }
    stage
}

/// What compaction leaves: deltas go whose item has a final event after them.
fn compacted(events: &[Event]) -> Vec<Event> {
    let is_final = |event: &&Event| event.body.growth() == Growth::Final;
    let superseded = |delta: &Event| {
        let later = events.iter().filter(|event| event.seq > delta.seq);
        delta.item.is_some() && later.filter(is_final).any(|event| event.item == delta.item)
    };
    events
        .iter()
        .filter(|event| event.body.growth() != Growth::Delta || !superseded(event))
        .cloned()
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_machine_stands_where_its_log_says(acts in proptest::collection::vec(act(), 0..60)) {
        play(&acts).check();
    }

    #[test]
    fn what_an_event_follows_from_came_before_it(acts in proptest::collection::vec(act(), 0..60)) {
        let events = play(&acts).events;
        for (event, parent) in pairs(&events) {
            let of_one_thing = event.item == parent.item || event.turn == parent.turn || parent.turn.is_none();
            prop_assert!(of_one_thing, "{event:?} <- {parent:?}");
        }
        let grows = |event: &&Event| event.body.growth() == Growth::Delta;
        prop_assert!(events.iter().filter(grows).all(|delta| delta.parent.is_none()));
    }

    #[test]
    fn an_event_twice_is_an_event_once(acts in proptest::collection::vec(act(), 0..60), again in 0usize..80) {
        let events = play(&acts).events;
        let whole = Timeline::of(&events);
        let again = again.min(events.len());
        let twice = events.iter().chain(&events[again..]);
        prop_assert_eq!(&Timeline::of(twice), &whole);
        let each_twice = events.iter().flat_map(|event| [event, event]);
        prop_assert_eq!(&Timeline::of(each_twice), &whole);
    }

    #[test]
    fn folding_can_stop_and_go_on_anywhere(acts in proptest::collection::vec(act(), 0..60), stop in 0usize..120) {
        let events = play(&acts).events;
        let stop = stop.min(events.len());
        let mut timeline = Timeline::of(&events[..stop]);
        // A client that resumes may be sent a little that it has already.
        for event in &events[stop.saturating_sub(3)..] {
            timeline.apply(event);
        }
        prop_assert_eq!(timeline, Timeline::of(&events));
    }

    /// Whoever keeps a copy of the items, and applies to it what the changes say, has the timeline.
    #[test]
    fn the_changes_of_events_are_the_timeline(acts in proptest::collection::vec(act(), 0..60)) {
        let events = play(&acts).events;
        let mut timeline = Timeline::default();
        let mut copy: Vec<Item> = Vec::new();
        for event in &events {
            let Some(change) = timeline.apply(event) else { continue };
            let same = |item: &Item| item.seq == change.item.seq;
            prop_assert_eq!(change.began, !copy.iter().any(same), "{:?}", event);
            if change.began {
                copy.push(change.item.clone());
            } else {
                let item = copy.iter_mut().find(|item| same(item)).unwrap();
                match change.grew {
                    Some(text) => item.text.push_str(text),
                    None => *item = change.item.clone(),
                }
            }
            prop_assert_eq!(change.settled(), change.item.ended_at.is_some(), "what grows has not ended");
        }
        prop_assert_eq!(copy, timeline.items);
    }

    #[test]
    fn a_window_changes_as_the_whole_does(
        acts in proptest::collection::vec(act(), 0..60), stop in 0usize..120, newest in 0usize..6,
    ) {
        let events = play(&acts).events;
        let mut whole = Timeline::of(&events[..stop.min(events.len())]);
        let mut window = whole.window(newest);
        prop_assert!(window.items.iter().filter(|item| item.ended_at.is_some()).count() <= newest);
        prop_assert!(window.items.iter().filter(|item| item.content == Content::TurnDiff).count() <= newest);
        for event in &events[stop.min(events.len())..] {
            let has = |timeline: &Timeline| timeline.items.iter().any(|item| item.id == event.item);
            if event.item.is_some() && has(&whole) && !has(&window) {
                // An agent speaks once more of what ended long ago.
                break;
            }
            let change = whole.apply(event);
            prop_assert_eq!(window.apply(event), change);
            prop_assert_eq!(window.head, event.seq);
        }
    }

    #[test]
    fn a_compacted_log_folds_to_the_same(acts in proptest::collection::vec(act(), 0..80)) {
        let events = play(&acts).events;
        let compacted = compacted(&events);
        let (mut whole, mut lean) = (Timeline::of(&events), Timeline::of(&compacted));
        // The very last event is never dropped by a log; a list of survivors may end before it.
        lean.head = whole.head;
        prop_assert_eq!(&lean.items, &whole.items);
        whole.head = lean.head;
        let (whole, lean) = (Session::fold(&events).unwrap().info(), Session::fold(&compacted).unwrap().info());
        prop_assert_eq!(&lean.preview, &whole.preview);
        prop_assert_eq!(&lean.queue, &whole.queue);
        prop_assert_eq!(&lean.turn, &whole.turn);
    }

    #[test]
    fn an_event_reads_back_as_it_was_written(acts in proptest::collection::vec(act(), 0..40)) {
        for event in play(&acts).events {
            let json = serde_json::to_string(&event).unwrap();
            prop_assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
        }
    }
}

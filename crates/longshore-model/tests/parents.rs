//! What an event follows from: the one that it answers, or that it brings to its end.

use std::collections::HashMap;

use longshore_model::approval::{
    AnswerAction, ApprovalRequest, Decision, Field, FieldKind, QuestionRequest, Subject,
};
use longshore_model::command::{Command, Prompt, When};
use longshore_model::event::{Body, Draft, Event};
use longshore_model::id::{QuestionId, SessionId};
use longshore_model::item::{ToolCall, ToolOutcome, ToolStatus};
use longshore_model::lifecycle::{Delegation, DelegationEnd, Sleep, TurnOutcome};

use crate::stage::{Stage, kind};

/// Each event that follows from another one, with that one.
pub(crate) fn pairs(events: &[Event]) -> Vec<(&Event, &Event)> {
    let known: HashMap<_, _> = events.iter().map(|event| (event.id(), event)).collect();
    events
        .iter()
        .filter_map(|event| {
            let parent = known[&event.parent?];
            assert!(parent.seq < event.seq, "{} follows from what comes later", kind(event));
            Some((event, parent))
        })
        .collect()
}

fn told(stage: &Stage, from: usize) -> Vec<String> {
    let pairs = pairs(&stage.events);
    let later = pairs.iter().filter(|(event, _)| event.seq.0 as usize > from);
    later.map(|(event, parent)| format!("{} <- {}", kind(event), kind(parent))).collect()
}

#[test]
fn an_end_names_its_beginning_and_an_answer_what_it_answers() {
    let mut stage = Stage::ready();
    let from = stage.events.len();
    let turn = stage.prompt("go");
    let item = stage.item();
    let of_item = |body| Draft::new(body).turn(turn).item(item);
    stage.said(of_item(Body::ToolStarted(ToolCall::unknown())));
    let approval = stage.approval();
    let subject = Subject::Tool { name: "t".to_owned(), input: serde_json::Value::Null };
    let options = vec![Decision::AllowOnce, Decision::Deny];
    stage.said(of_item(Body::ApprovalRequested(ApprovalRequest { approval, subject, options })));
    let decision = Decision::AllowOnce;
    stage.command(Command::Decide { approval, decision, message: None, input: None }).unwrap();
    stage.said(of_item(Body::ToolOutputDelta).text("1"));
    stage.said(of_item(Body::ToolFinished(ToolOutcome::of(ToolStatus::Completed))).text("1"));
    let question = stage.mint(QuestionId::mint);
    let field = Field {
        id: "name".to_owned(),
        label: "Name".to_owned(),
        text: String::new(),
        kind: FieldKind::Text,
        choices: Vec::new(),
        open: false,
        optional: false,
        secret: false,
    };
    stage.said(
        Draft::new(Body::QuestionAsked(QuestionRequest { question, source: None, fields: vec![field] }))
            .turn(turn),
    );
    let answers = [("name".to_owned(), "Ada".into())].into();
    stage.command(Command::Answer { question, action: AnswerAction::Accept, answers }).unwrap();
    let child = stage.mint(SessionId::mint);
    stage.said(of_item(Body::DelegationStarted(Delegation { child, agent: "codex".into() })));
    let end = DelegationEnd { child, outcome: TurnOutcome::Completed };
    stage.said(of_item(Body::DelegationFinished(end)));
    stage.finish(turn, TurnOutcome::Completed);
    assert_eq!(
        told(&stage, from),
        [
            "turn_started <- prompt_queued",
            "user_message <- prompt_queued",
            "approval_decided <- approval_requested",
            "tool_finished <- tool_started",
            "question_answered <- question_asked",
            "delegation_finished <- delegation_started",
            "turn_finished <- turn_started",
        ]
    );
}

#[test]
fn what_is_left_open_ends_with_its_beginning_named_too() {
    let mut stage = Stage::ready();
    let turn = stage.prompt("go");
    let waiting = Prompt { text: "then".to_owned(), when: When::Queue, ..Prompt::default() };
    stage.command(Command::Prompt(waiting)).unwrap();
    let prompt = stage.session.info().queue[0].prompt;
    let from = stage.events.len();
    stage.command(Command::EditPrompt { prompt, text: "later".to_owned() }).unwrap();
    stage.command(Command::CancelPrompt { prompt }).unwrap();
    let item = stage.item();
    stage.said(Draft::new(Body::MessageDelta).turn(turn).item(item).text("We"));
    let approval = stage.approval();
    let subject = Subject::Plan { plan: "1.".to_owned() };
    let request = ApprovalRequest { approval, subject, options: vec![Decision::AllowOnce] };
    stage.said(Draft::new(Body::ApprovalRequested(request)).turn(turn));
    stage.gone(Sleep::default(), "it died");
    assert_eq!(
        told(&stage, from),
        [
            "prompt_edited <- prompt_queued",
            "prompt_cancelled <- prompt_queued",
            "message_done <- message_started",
            "approval_expired <- approval_requested",
            "turn_finished <- turn_started",
        ]
    );
}

//! The driver: what passes through, what is kept, and what an agent may not say.

use longshore_drivers::react::React;
use longshore_drivers::react::wire::{AgentLine, ToAgent};
use longshore_model::anchor::{Answer, Launch, ModelsQuery, SessionsQuery, Start};
use longshore_model::approval::{ApprovalDecision, Decision};
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::delegation::{ChildNews, DelegationRequest, Task};
use longshore_model::driver::{Driver, Input, Output};
use longshore_model::event::{Body, Draft, Raw, RawFault};
use longshore_model::id::{ApprovalId, Context, Ids, PromptId, QueryId, SessionId, TurnId};
use longshore_model::lifecycle::{Opened, TurnOutcome};
use longshore_model::time::Timestamp;
use serde_json::json;
use uuid::Uuid;

const SESSION: SessionId = SessionId(Uuid::from_u128(1));

fn launch(start: Start) -> Launch {
    Launch {
        session: SESSION,
        agent: "react".into(),
        cwd: "/w".to_owned(),
        mode: Mode::Ask,
        model: None,
        effort: None,
        deepest: false,
        mcp_servers: Vec::new(),
        start,
    }
}

fn handle(driver: &mut React, input: Input) -> Output {
    let (mut ids, mut out) = (Ids::seeded(1), Output::default());
    driver.handle(input, &mut Context { now: Timestamp::from_micros(1), ids: &mut ids }, &mut out);
    out
}

fn opened() -> React {
    let mut driver = React::new();
    handle(&mut driver, Input::Open(launch(Start::New)));
    driver
}

fn line(said: &AgentLine) -> Raw {
    said.to_line().unwrap().into()
}

#[test]
fn what_the_agent_is_told_it_can_read() {
    let lines = vec![Raw::from("{\"draft\":{}}"), Raw::from("a \"quoted\"\nline")];
    let mut told =
        vec![ToAgent::Open(Box::new(launch(Start::Lines { lines }))), ToAgent::Models(QueryId(Uuid::nil()))];
    let decision = ApprovalDecision {
        decision: Decision::AllowOnce,
        message: None,
        input: None,
        by: "owner".to_owned(),
    };
    let (turn, prompt) = (TurnId(Uuid::nil()), PromptId(Uuid::nil()));
    let news = ChildNews::Ended { outcome: TurnOutcome::Completed, text: "done".to_owned() };
    let commands = [
        AgentCommand::Prompt { turn, prompt, text: "go".to_owned(), attachments: Vec::new() },
        AgentCommand::Interrupt { turn },
        AgentCommand::Decide { approval: ApprovalId(Uuid::nil()), decision },
        AgentCommand::SetMode(Mode::Full),
        AgentCommand::SetModel("m".to_owned()),
        AgentCommand::Archive(true),
        AgentCommand::Child { call: "c".to_owned(), news },
    ];
    told.extend(commands.into_iter().map(ToAgent::Tell));
    for one in told {
        let line = one.to_line().unwrap();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(ToAgent::of_line(&line).unwrap(), one);
    }
}

#[test]
fn what_it_says_happened_happened() {
    let mut driver = opened();
    let draft = Draft::new(Body::MessageDone { phase: None, partial: false }).text("Hello.");
    let raw = line(&AgentLine::draft(draft.clone()).remember(json!({ "type": "message" })));
    let out = handle(&mut driver, Input::Line(raw.clone()));
    assert_eq!(out.said, [(SESSION, draft.raw(raw))]);
}

/// Agents of other people write these lines, and the log keeps them.
#[test]
fn a_delegation_is_written_as_the_documentation_says() {
    let recall = line(&AgentLine::delegate("a", DelegationRequest::Recall));
    assert_eq!(recall, Raw::from("{\"delegate\":{\"call\":\"a\",\"wish\":\"recall\"}}"));
    let task = Task { agent: "codex".into(), task: "t".to_owned(), cwd: None, mode: None, model: None };
    let begin = line(&AgentLine::delegate("a", DelegationRequest::Begin(task)));
    let expected = "{\"delegate\":{\"call\":\"a\",\"wish\":\"begin\",\"agent\":\"codex\",\"task\":\"t\"}}";
    assert_eq!(begin, Raw::from(expected));
}

#[test]
fn what_is_nothing_to_the_timeline_is_kept() {
    let mut driver = opened();
    let task = Task { agent: "codex".into(), task: "t".to_owned(), cwd: None, mode: None, model: None };
    let request = DelegationRequest::Begin(task);
    for (said, expected) in [
        (line(&AgentLine::history(json!({ "type": "function_call_output" }))), ("history", None)),
        (line(&AgentLine::delegate("a", request.clone())), ("delegate", None)),
        ("{\"new\":1}".into(), ("unknown", None)),
        ("no json".into(), ("malformed", Some(RawFault::Malformed))),
    ] {
        let out = handle(&mut driver, Input::Line(said.clone()));
        let [(_, Draft { body: Body::Raw { kind, fault }, raw, .. })] = &out.said[..] else {
            panic!("{:?}", out.said)
        };
        assert_eq!((kind.as_str(), *fault), expected);
        assert_eq!(raw.as_ref(), Some(&said));
        let delegates =
            if kind == "delegate" { vec![(SESSION, "a".to_owned(), request.clone())] } else { Vec::new() };
        assert_eq!(out.delegates, delegates);
    }
}

#[test]
fn it_does_not_speak_for_people_or_for_the_hub() {
    let mut driver = opened();
    let opened = Opened {
        agent: "react".into(),
        cwd: "/w".to_owned(),
        mode: Mode::Full,
        model: None,
        effort: None,
        title: None,
        mcp_servers: Vec::new(),
        capabilities: Default::default(),
        parent: None,
        forked_from: None,
        from_file: false,
    };
    let decision = ApprovalDecision {
        decision: Decision::AllowOnce,
        message: None,
        input: None,
        by: "owner".to_owned(),
    };
    for body in [
        Body::SessionOpened(Box::new(opened)),
        Body::SessionClosed,
        // What it may do, and those to whom it hands work, is for people to say.
        Body::ModeChanged { mode: Mode::Full },
        Body::ApprovalDecided { approval: ApprovalId(Uuid::nil()), decision },
        Body::UserMessage { prompt: None, attachments: Vec::new(), by: None },
    ] {
        let out = handle(&mut driver, Input::Line(line(&AgentLine::draft(Draft::new(body)))));
        assert!(matches!(&out.said[0].1.body, Body::Raw { kind, .. } if kind == "unfit"), "{:?}", out.said);
    }
}

#[test]
fn it_is_asked_for_models_and_for_nothing_else() {
    let (mut driver, id) = (React::new(), QueryId(Uuid::nil()));
    let out = handle(
        &mut driver,
        Input::Ask { id, query: ModelsQuery { agent: "react".into(), anew: false }.into() },
    );
    assert_eq!(ToAgent::of_line(&out.lines[0]).unwrap(), ToAgent::Models(id));
    let out = handle(&mut driver, Input::Line(line(&AgentLine::models(id, Ok(Vec::new())))));
    assert_eq!(out.answers, [(id, Ok(Answer::Models(Vec::new())))]);
    let out = handle(&mut driver, Input::Line(line(&AgentLine::models(id, Err("down".to_owned())))));
    assert_eq!(out.answers, [(id, Err("down".to_owned()))]);
    let out = handle(
        &mut driver,
        Input::Ask { id, query: SessionsQuery { agent: "react".into(), cursor: None, limit: 1 }.into() },
    );
    assert!(matches!(&out.answers[..], [(_, Err(_))]), "{:?}", out.answers);
}

#[test]
fn any_line_at_all_is_kept() {
    let draft = Draft::new(Body::MessageDelta).turn(TurnId(Uuid::nil())).text("wörds");
    let whole = line(&AgentLine::draft(draft).remember(json!({ "type": "message" })));
    let mut driver = opened();
    for cut in (0..whole.len()).filter(|cut| whole.is_char_boundary(*cut)) {
        for text in [&whole[..cut], &format!("{}{}", &whole[cut..], &whole[..cut])] {
            let out = handle(&mut driver, Input::Line(text.into()));
            assert_eq!(out.said.len(), 1, "{text}");
            assert_eq!(out.said[0].1.raw.as_deref(), Some(text));
        }
    }
}

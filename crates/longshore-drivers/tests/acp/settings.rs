//! Modes and models: ours in the words of each agent.

use std::path::Path;

use longshore_model::anchor::Start;
use longshore_model::approval::Decision;
use longshore_model::capability::Mode;
use longshore_model::command::AgentCommand;
use longshore_model::driver::Output;
use longshore_model::event::{Body, NoticeLevel};
use serde_json::{Value, json};

use super::harness::{
    DriverHarness, NATIVE, approval_in, bodies, greeting, last_draft, lines, only_draft, only_line,
    with_modes,
};

const GEMINI: &[&str] = &["default", "autoEdit", "yolo", "plan"];
const CLAUDE: &[&str] = &["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"];

fn option(id: &str, now: &str, values: &[&str]) -> Value {
    let values: Vec<Value> = values.iter().map(|value| json!({"value": value, "name": value})).collect();
    json!({"id": id, "category": id, "type": "select", "currentValue": now, "options": values})
}

/// What was asked to be set, in a word each.
fn set(out: &Output) -> Vec<String> {
    let said = lines(out);
    let sets =
        said.iter().filter(|line| line["method"].as_str().is_some_and(|method| method.contains("/set_")));
    sets.map(|line| {
        let params = &line["params"];
        let value =
            ["modeId", "modelId", "value"].into_iter().find_map(|name| params[name].as_str()).unwrap();
        let what = params["configId"].as_str().unwrap_or(line["method"].as_str().unwrap());
        format!("{}={value}", what.trim_start_matches("session/"))
    })
    .collect()
}

#[test]
fn a_mode_is_set_in_the_words_of_each_agent() {
    let copilot = |tail: &str| format!("https://agentclientprotocol.com/protocol/session-modes#{tail}");
    let (agent, plan) = (copilot("agent"), copilot("plan"));
    let copilot_says = json!({"sessionId": NATIVE, "configOptions": [
        option("mode", &agent, &[&agent, &plan, &copilot("autopilot")]),
        {"id": "allow_all", "category": "permissions", "currentValue": "off",
         "options": [{"value": "on"}, {"value": "off"}]},
    ]});
    let codex_says = json!({"sessionId": NATIVE, "configOptions": [
        option("mode", "auto", &["read-only", "auto", "full-access"]),
    ]});
    let opencode_says =
        json!({"sessionId": NATIVE, "configOptions": [option("mode", "build", &["build", "plan"])]});
    let cases: [(&str, Value, [&[&str]; 4]); 5] = [
        // plan, ask, auto-edit, full
        (
            "gemini",
            with_modes("default", GEMINI),
            [&["set_mode=plan"], &[], &["set_mode=autoEdit"], &["set_mode=yolo"]],
        ),
        (
            "claude-code-acp",
            with_modes("default", CLAUDE),
            [&["set_mode=plan"], &[], &["set_mode=acceptEdits"], &["set_mode=bypassPermissions"]],
        ),
        ("codex-acp", codex_says, [&["mode=read-only"], &["mode=read-only"], &[], &["mode=full-access"]]),
        ("opencode-acp", opencode_says, [&["mode=plan"], &[], &[], &[]]),
        ("copilot", copilot_says, [&[&format!("mode={plan}")], &[], &[], &["allow_all=on"]]),
    ];
    for (agent, opened, expected) in cases {
        for (mode, expected) in [Mode::Plan, Mode::Ask, Mode::AutoEdit, Mode::Full].into_iter().zip(expected)
        {
            let mut harness = DriverHarness::of(agent);
            harness.open(mode, Start::New);
            harness.answer_ok("initialize", greeting(json!({})));
            let out = harness.answer_ok("session/new", opened.clone());
            assert_eq!(set(&out), expected, "{mode} of {agent}");
            assert!(matches!(bodies(&out).last(), Some(Body::SessionReady(_))), "{mode} of {agent}");
        }
    }
}

#[test]
fn modes_of_an_unknown_agent_are_known_by_their_names() {
    for (offered, mode, expected) in [
        ("https://x.org/modes#Plan", Mode::Plan, true),
        ("read-only", Mode::Plan, true),
        ("accept_edits", Mode::AutoEdit, true),
        ("YOLO", Mode::Full, true),
        ("poetry", Mode::Full, false),
    ] {
        let mut harness = DriverHarness::unknown();
        harness.open(mode, Start::New);
        harness.answer_ok("initialize", greeting(json!({})));
        let out = harness.answer_ok("session/new", with_modes("default", &["default", offered]));
        let expected: Vec<String> = expected.then(|| format!("set_mode={offered}")).into_iter().collect();
        assert_eq!(set(&out), expected, "{offered}");
    }
}

#[test]
fn a_prompt_waits_until_the_mode_is_set() {
    let mut harness = DriverHarness::of("gemini").ready(Mode::Full, with_modes("default", GEMINI));
    assert!(harness.prompt("go").lines.is_empty());
    let out = harness.answer_ok("session/set_mode", json!({}));
    assert_eq!(only_line(&out)["method"], "session/prompt");

    // Whoever stops it while it waits has stopped it.
    let mut harness = DriverHarness::of("gemini").ready(Mode::Full, with_modes("default", GEMINI));
    harness.prompt("go");
    let out = harness.tell(AgentCommand::Interrupt { turn: harness.turn });
    assert!(matches!(only_draft(&out).body, Body::TurnFinished(_)) && out.lines.is_empty());
    assert!(harness.answer_ok("session/set_mode", json!({})).lines.is_empty());

    // An agent that refuses, or says nothing, is told all the same, and so are people.
    let mut harness = DriverHarness::of("gemini").ready(Mode::Full, with_modes("default", GEMINI));
    harness.prompt("go");
    let out = harness.answer_error("session/set_mode", -32603, "not trusted");
    assert_eq!(bodies(&out), [&Body::Notice { level: NoticeLevel::Warning }]);
    assert_eq!(only_line(&out)["method"], "session/prompt");
    let mut harness = DriverHarness::of("gemini").ready(Mode::Full, with_modes("default", GEMINI));
    harness.prompt("go");
    assert_eq!(only_line(&harness.wait(30))["method"], "session/prompt");
}

#[test]
fn a_mode_that_the_agent_lacks_is_stood_in_for() {
    let says = json!({"sessionId": NATIVE, "configOptions": [option("mode", "build", &["build", "plan"])]});
    let ask = |harness: &mut DriverHarness, kind: &str, path: &str| {
        let call = json!({"toolCallId": path, "title": "x", "kind": kind, "locations": [{"path": path}]});
        let options = json!([
            {"optionId": "always", "kind": "allow_always"}, {"optionId": "once", "kind": "allow_once"},
            {"optionId": "no", "kind": "reject_once"},
        ]);
        harness.request(
            json!(path),
            "session/request_permission",
            json!({"toolCall": call, "options": options}),
        )
    };
    // kind, path, whether the mode itself allows it: ask, auto-edit, full
    for (kind, path, allowed) in [
        ("edit", "/w/a.txt", [false, true, true]),
        ("edit", "/w/../a.txt", [false, false, true]),
        ("edit", "/etc/hosts", [false, false, true]),
        ("execute", "/w/a.txt", [false, false, true]),
        ("other", "/w/a.txt", [false, false, true]),
    ] {
        for (mode, allowed) in [Mode::Ask, Mode::AutoEdit, Mode::Full].into_iter().zip(allowed) {
            let mut harness = DriverHarness::of("opencode-acp").ready(mode, says.clone());
            harness.prompt("go");
            let out = ask(&mut harness, kind, path);
            let asks = bodies(&out).iter().any(|body| matches!(body, Body::ApprovalRequested(_)));
            assert_eq!(asks, !allowed, "{kind} {path} in {mode}");
            if allowed {
                assert_eq!(
                    only_line(&out)["result"]["outcome"]["optionId"],
                    "once",
                    "{kind} {path} in {mode}"
                );
                assert!(out.said.last().unwrap().1.raw.is_some());
            } else {
                assert!(approval_in(&out).options.contains(&Decision::AllowOnce));
            }
        }
    }
}

#[test]
fn an_agent_that_cannot_plan_says_so() {
    let mut harness = DriverHarness::unknown();
    harness.open(Mode::Plan, Start::New);
    harness.answer_ok("initialize", greeting(json!({})));
    let out = harness.answer_ok("session/new", json!({"sessionId": NATIVE}));
    assert!(matches!(
        bodies(&out)[..],
        [Body::Notice { level: NoticeLevel::Warning }, Body::SessionReady(_)]
    ));
}

#[test]
fn a_mode_that_the_agent_changes_itself_is_told() {
    let mut harness = DriverHarness::of("gemini").ready(Mode::Ask, with_modes("default", GEMINI));
    let out = harness.update("current_mode_update", json!({"currentModeId": "autoEdit"}));
    assert_eq!(only_draft(&out).body, Body::ModeChanged { mode: Mode::AutoEdit });
    // What is no news, and what is no mode of ours, is kept.
    for id in ["autoEdit", "poetry"] {
        let out = harness.update("current_mode_update", json!({"currentModeId": id}));
        assert!(matches!(only_draft(&out).body, Body::Raw { .. }), "{id}");
    }
    // While we set it ourselves, what it says may be older than that.
    harness.tell(AgentCommand::SetMode(Mode::Full));
    let out = harness.update("current_mode_update", json!({"currentModeId": "default"}));
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));

    // The mode that stands in for another is no change.
    let says = json!({"sessionId": NATIVE, "configOptions": [option("mode", "build", &["build", "plan"])]});
    let mut harness = DriverHarness::of("opencode-acp").ready(Mode::Full, says.clone());
    let same = harness.update("config_option_update", json!({"configOptions": says["configOptions"]}));
    assert!(matches!(only_draft(&same).body, Body::Raw { .. }));
    let plan = json!({"configOptions": [option("mode", "plan", &["build", "plan"])]});
    let out = harness.update("config_option_update", plan);
    assert_eq!(only_draft(&out).body, Body::ModeChanged { mode: Mode::Plan });
}

#[test]
fn a_model_is_an_option_where_there_is_one() {
    let says = json!({"sessionId": NATIVE, "configOptions": [option("model", "a", &["a", "b"])]});
    let mut harness = DriverHarness::unknown();
    harness.open_with(Mode::Ask, Some("b"), Start::New);
    harness.answer_ok("initialize", greeting(json!({})));
    assert_eq!(set(&harness.answer_ok("session/new", says)), ["model=b"]);
    let answer = json!({"configOptions": [option("model", "b", &["a", "b"])]});
    let out = harness.answer_ok("session/set_config_option", answer.clone());
    assert!(matches!(only_draft(&out).body, Body::Raw { .. }));
    // What it tells again is no news; what it changes itself is.
    assert!(matches!(only_draft(&harness.update("config_option_update", answer)).body, Body::Raw { .. }));
    let out =
        harness.update("config_option_update", json!({"configOptions": [option("model", "a", &["a", "b"])]}));
    assert_eq!(only_draft(&out).body, Body::ModelChanged { model: "a".to_owned() });

    let mut says = with_modes("default", GEMINI);
    says["models"] = json!({"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]});
    let mut harness = DriverHarness::of("gemini").ready(Mode::Ask, says);
    assert_eq!(set(&harness.tell(AgentCommand::SetModel("b".to_owned()))), ["set_model=b"]);

    let mut harness = DriverHarness::unknown().ready(Mode::Ask, json!({"sessionId": NATIVE}));
    let out = harness.tell(AgentCommand::SetModel("b".to_owned()));
    assert_eq!(only_draft(&out).body, Body::Notice { level: NoticeLevel::Warning });
}

#[test]
fn what_an_agent_does_not_let_others_choose_is_not_told_as_chosen() {
    let mut harness = DriverHarness::unknown();
    harness.open_with(Mode::Ask, Some("b"), Start::New);
    harness.answer_ok("initialize", greeting(json!({})));
    let out = harness.answer_ok("session/new", json!({"sessionId": NATIVE}));
    let Body::SessionReady(ready) = &last_draft(&out).body else { panic!("{out:?}") };
    assert_eq!(ready.model, None);
    let out = harness.tell(AgentCommand::SetEffort("high".to_owned()));
    let own = Body::EffortChanged { effort: String::new() };
    assert_eq!(bodies(&out), [&Body::Notice { level: NoticeLevel::Warning }, &own]);
}

#[test]
fn what_a_row_can_do_is_said_before_it_runs() {
    use longshore_drivers::acp::{AcpRow, rows};
    for row in rows() {
        let can = row.capabilities();
        assert!(can.modes.contains(&Mode::Ask) && can.modes.contains(&Mode::Full), "{}", row.name);
        assert!(!can.steer && can.interrupt && can.approvals, "{}", row.name);
        assert_eq!(can.modes.contains(&Mode::Plan), row.name != "codex-acp", "{}", row.name);
    }
    let names: Vec<&str> = rows().iter().map(|row| row.name.as_ref()).collect();
    assert_eq!(names, ["gemini", "copilot", "codex-acp", "claude-code-acp", "opencode-acp"]);
    let own = AcpRow::named("mine", "my-agent");
    assert_eq!((own.program.as_ref(), own.capabilities().modes.len()), ("my-agent", 4));
}

#[test]
fn behind_a_script_of_npm_the_program_for_this_machine_is_taken() {
    use longshore_drivers::acp::row;
    let folder = tempfile::tempdir().unwrap();
    let modules = folder.path().join("node_modules");
    let script = modules.join("@zed-industries/codex-acp/bin/codex-acp.js");
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
    let native = modules.join(format!("@zed-industries/codex-acp-{system}-{machine}/bin/codex-acp"));
    std::fs::create_dir_all(script.parent().unwrap()).unwrap();
    std::fs::write(&script, "").unwrap();
    let link = folder.path().join("codex-acp");
    std::os::unix::fs::symlink(&script, &link).unwrap();
    let row = row("codex-acp").unwrap();
    assert_eq!(row.native(&link), link, "there is none");
    std::fs::create_dir_all(native.parent().unwrap()).unwrap();
    std::fs::write(&native, "").unwrap();
    assert_eq!(row.native(&link), native.canonicalize().unwrap());
    assert_eq!(row.native(Path::new("/no/such/file")), Path::new("/no/such/file"));
    let gemini = longshore_drivers::acp::row("gemini").unwrap();
    assert_eq!(gemini.native(&link), link);
}

#[test]
fn a_model_whose_name_is_not_for_people_is_called_by_its_title() {
    let odd = "$runtime|openai|scripted(openai)";
    let models = json!([{"modelId": odd, "name": "scripted"}, {"modelId": "plain-1", "name": "Plain"}]);
    let opened =
        json!({"sessionId": NATIVE, "models": {"currentModelId": "plain-1", "availableModels": models}});
    let mut harness = DriverHarness::unknown();
    harness.open_with(Mode::Ask, Some("scripted"), Start::New);
    harness.answer_ok("initialize", greeting(json!({})));
    let out = harness.answer_ok("session/new", opened);
    assert_eq!(
        only_line(&out)["params"]["modelId"],
        odd,
        "a model that is requested by its title is set by its name"
    );
    let Body::SessionReady(ready) = &last_draft(&out).body else { panic!("{out:?}") };
    assert_eq!(ready.model.as_deref(), Some("scripted"));
    let out = harness.answer_error("session/set_model", -1, "no such model");
    assert_eq!(
        last_draft(&out).body,
        Body::ModelChanged { model: "plain-1".to_owned() },
        "what it really uses"
    );
}

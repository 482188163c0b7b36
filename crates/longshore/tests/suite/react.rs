//! The built-in agent on all three APIs: the whole program, the real tools, a scripted model.

use std::process::Stdio;
use std::time::{Duration, Instant};

use longshore_model::event::{Body, Event};
use longshore_model::id::{Seq, TurnId};
use longshore_model::item::ToolStatus;
use longshore_model::lifecycle::TurnOutcome;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::rig::{Rig, Talk, WITHIN};

async fn begin(agent: &str, mode: &str, steps: Value, prompt: &str) -> (Rig, Talk, TurnId) {
    let rig = Rig::with(steps).await;
    let mut talk = rig.open_with(agent, mode).await;
    let turn = talk.prompt(prompt).await;
    (rig, talk, turn)
}

fn shell(command: Value) -> Value {
    json!({ "call": "shell", "args": { "command": command } })
}

/// What the agent itself said, line by line.
async fn lines(talk: &mut Talk) -> Vec<Value> {
    let page = talk.call("events", json!({ "limit": 1_000, "raw": true })).await.unwrap();
    let events = page["events"].as_array().cloned().unwrap_or_default();
    events.into_iter().map(|event| event["rawEvent"].clone()).filter(|raw| !raw.is_null()).collect()
}

fn notices(talk: &Talk) -> Vec<&str> {
    talk.said(|body| matches!(body, Body::Notice { .. }))
}

/// A file is made, written to, and that is said: the example of the seed.
async fn many_steps(agent: &str) {
    let rig = Rig::with(json!([])).await;
    let file = rig.folder.path().join("tmp/test.txt");
    let path = file.to_str().unwrap();
    let call =
        |id: &str, command: Value| json!({ "call": "shell", "id": id, "args": { "command": command } });
    let last = "Task completed! I created the file and wrote 'Hello World' to it.";
    let steps = json!([
        { "do": [call("call_create_001", json!(["touch", path]))] },
        { "do": [call("call_write_001", json!(format!("echo 'Hello World' > {path}")))] },
        { "do": [{ "say": last }] },
    ]);
    rig.model.replace(longshore_models::script::Script::from_value(steps).unwrap());
    let mut talk = rig.open_with(agent, "full").await;
    let turn = talk.prompt("Create a file and write to it").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Hello World\n");
    assert_eq!(talk.messages(), [last]);
    let history: Vec<Value> = lines(&mut talk)
        .await
        .into_iter()
        .map(|line| line["history"].clone())
        .filter(|item| !item.is_null())
        .collect();
    let shape = |item: &Value| (item["type"].clone(), item["call_id"].clone());
    let shapes: Vec<(Value, Value)> = history.iter().map(shape).collect();
    let expected = [
        (json!("message"), Value::Null),
        (json!("function_call"), json!("call_create_001")),
        (json!("function_call_output"), json!("call_create_001")),
        (json!("function_call"), json!("call_write_001")),
        (json!("function_call_output"), json!("call_write_001")),
        (json!("message"), Value::Null),
    ];
    assert_eq!(shapes, expected, "{history:?}");
    assert_eq!(
        history[0]["content"],
        json!([{ "type": "input_text", "text": "Create a file and write to it" }])
    );
    assert!(history[1]["arguments"].is_string(), "arguments are JSON in a string");
    assert_eq!(history[2]["output"]["success"], true);
    let heard = rig.heard_by_model(3).await;
    assert!(heard.contains("call_create_001") && heard.contains("call_write_001"), "{heard}");
    assert_eq!(rig.model.requests().requests.len(), 3, "the loop ends when nothing is called");
}

async fn three_at_once(agent: &str) {
    let read =
        |name: &str| json!({ "call": "fetch_file", "id": format!("call_{name}"), "args": { "path": name } });
    let rig = Rig::with(json!([])).await;
    for name in ["one", "two", "three"] {
        std::fs::write(rig.work().join(name), format!("the text of {name}")).unwrap();
    }
    let steps = json!([{ "do": [read("one"), read("two"), read("three")] }, { "do": [{ "say": "Read." }] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps).unwrap());
    let mut talk = rig.open_with(agent, "ask").await;
    let turn = talk.prompt("read all").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.heard_by_model(2).await;
    let at = |name: &str| heard.find(&format!("the text of {name}")).unwrap_or_else(|| panic!("{heard}"));
    assert!(
        at("one") < at("two") && at("two") < at("three"),
        "results stand in the order of the calls: {heard}"
    );
    assert_eq!(talk.tools().len(), 3);
}

async fn malformed(agent: &str) {
    let broken = json!({ "call": "shell", "args": "{\"command\": [\"ls\"" });
    let steps = json!([{ "do": [broken, shell(json!("echo fine"))] }, { "do": [{ "say": "I see." }] }]);
    let (rig, mut talk, turn) = begin(agent, "full", steps, "go").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.heard_by_model(2).await;
    assert!(heard.contains("the arguments of shell are no JSON object: EOF while parsing"), "{heard}");
    assert!(heard.contains("fine"), "the other call ran: {heard}");
    let statuses: Vec<_> = talk.tools().into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [Some(ToolStatus::Failed), Some(ToolStatus::Completed)]);
}

async fn failing(agent: &str) {
    let steps = json!([
        { "do": [shell(json!("echo broken >&2; exit 3")), json!({ "call": "no_such_tool", "args": {} })] },
        { "do": [{ "say": "It failed." }] },
    ]);
    let (rig, mut talk, turn) = begin(agent, "full", steps, "go").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.heard_by_model(2).await;
    assert!(heard.contains("broken") && heard.contains('3'), "{heard}");
    assert!(
        heard.contains("no_such_tool") && heard.contains("apply_patch"),
        "it is told which tools there are: {heard}"
    );
    let tools = talk.tools();
    assert_eq!(
        tools.iter().filter(|(_, status)| *status == Some(ToolStatus::Failed)).count(),
        2,
        "{tools:?}"
    );
}

async fn a_minute_interrupted(agent: &str) {
    let marker = format!("sleep 61.{}", std::process::id());
    let steps = json!([{ "do": [shell(json!(format!("echo begun; {marker}")))] }, { "do": [{ "say": "Still here." }] }]);
    let (rig, mut talk, turn) = begin(agent, "full", steps, "go").await;
    talk.until_event("it prints", |event| matches!(event.body, Body::ToolOutputDelta)).await;
    let began = Instant::now();
    talk.call("interrupt", json!({})).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(talk.tools()[0].1, Some(ToolStatus::Cancelled));
    let turn = talk.prompt("are you there?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.heard_by_model(2).await;
    assert!(heard.contains("interrupted by the user"), "{heard}");
    let mut pace = tokio::time::interval(Duration::from_millis(20));
    let gone = async {
        while runs(&marker) {
            pace.tick().await;
        }
    };
    tokio::time::timeout(WITHIN, gone).await.expect("the command still runs");
}

/// Whether a process with these arguments runs somewhere.
fn runs(arguments: &str) -> bool {
    let wanted = arguments.replace(' ', "\0");
    let of = |entry: std::fs::DirEntry| std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| of(entry).starts_with(wanted.as_bytes()))
}

async fn cut_in_the_arguments(agent: &str) {
    let steps = json!([
        { "do": [{ "say": "Hm. " }, { "call": "shell", "args": "{\"command\": \"echo wro", "unfinished": true }, { "cut": true }] },
        { "do": [shell(json!("echo right"))] },
        { "do": [{ "say": "Done." }] },
    ]);
    let (rig, mut talk, turn) = begin(agent, "full", steps, "go").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let tools = talk.tools();
    assert_eq!(tools.len(), 1, "half a call is none: {tools:?}");
    assert!(tools[0].0.contains("right"));
    assert!(
        notices(&talk).iter().any(|text| text.contains("trying again in 0.01 s (1 of 5)")),
        "{}",
        talk.story()
    );
    assert_eq!(rig.model.requests().requests.len(), 3);
}

async fn too_many_requests(agent: &str) {
    let steps = json!([
        { "http": 429, "headers": { "retry-after": "1" } },
        { "http": 503 },
        { "do": [{ "say": "At last." }] },
    ]);
    let began = Instant::now();
    let (_rig, mut talk, turn) = begin(agent, "full", steps, "go").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(began.elapsed() >= Duration::from_secs(1), "it waits as long as it was told");
    let told = notices(&talk);
    assert!(told.iter().any(|text| text.contains("trying again in 1 s (1 of 5)")), "{told:?}");
    assert_eq!(talk.messages(), ["At last."]);
}

async fn compaction(agent: &str) {
    let steps = json!([
        { "when": { "tools": false }, "do": [{ "say": "They talked about herons." }], "repeat": "forever" },
        { "do": [shell(json!("echo a heron"))], "usage": { "input": 2900, "output": 50 } },
        { "do": [{ "say": "Going on." }], "usage": { "input": 100, "output": 10 } },
        { "do": [{ "say": "I know." }], "usage": { "input": 100, "output": 10 } },
    ]);
    let (rig, mut talk, turn) = begin(&format!("{agent}-small"), "full", steps, "look for birds").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(
        notices(&talk).iter().any(|text| text.starts_with("the conversation was summed up")),
        "{}",
        talk.story()
    );
    assert_eq!(talk.messages(), ["Going on."], "the summary is no message");
    let (story, after) = (rig.heard_by_model(2).await, rig.heard_by_model(3).await);
    assert!(story.contains("a heron"), "{story}");
    assert!(after.contains("They talked about herons.") && after.contains("look for birds"), "{after}");
    assert!(
        !after.contains("call_1_0") && !after.contains("toolu_1_0"),
        "what was summed up is not told again: {after}"
    );

    rig.kill_agents();
    talk.until_event("it sleeps", |event| matches!(event.body, Body::SessionSleeping(_))).await;
    let turn = talk.prompt("and?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.heard_by_model(4).await;
    assert!(heard.contains("They talked about herons.") && heard.contains("Going on."), "{heard}");
    assert!(!heard.contains("a heron"), "it starts anew from the summary: {heard}");
}

async fn killed_between_call_and_result(agent: &str) {
    let steps = json!([
        { "do": [{ "reason": "Let me see" }, { "say": "The word is heron." }, shell(json!("echo begun; sleep 30"))] },
        { "do": [{ "say": "It was heron." }] },
    ]);
    let (mut rig, mut talk, _) = begin(agent, "full", steps, "remember a word").await;
    talk.until_event("it prints", |event| matches!(event.body, Body::ToolOutputDelta)).await;
    let session = talk.session;
    rig.kill().await;
    rig.start().await;
    let mut talk = rig.follow(session, Seq::ZERO).await;
    let turn = talk.prompt("what was the word?").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.heard_by_model(2).await;
    for words in
        ["remember a word", "The word is heron.", "interrupted before it finished", "what was the word?"]
    {
        assert!(heard.contains(words), "{words} is missing: {heard}");
    }
    let revived = |event: &Event| matches!(event.body, Body::SessionRevived { from_log: true });
    assert!(talk.events.iter().any(revived), "{}", talk.story());
}

async fn steered(agent: &str) {
    let steps = json!([
        { "do": [shell(json!("echo begun; sleep 1"))] },
        { "do": [{ "say": "As you say." }] },
    ]);
    let (rig, mut talk, turn) = begin(agent, "full", steps, "run").await;
    talk.until_event("it prints", |event| matches!(event.body, Body::ToolOutputDelta)).await;
    assert_eq!(talk.prompt_when("rather do this", "steer").await, turn);
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(rig.heard_by_model(2).await.contains("rather do this"));
}

async fn asked(agent: &str) {
    let steps = json!([
        { "do": [{ "call": "ask_user", "args": { "question": "Which bird?", "options": ["heron", "gull"] } }] },
        { "do": [{ "call": "update_plan", "args": { "plan": [{ "step": "find it", "status": "in_progress" }] } }] },
        { "do": [{ "say": "A heron, then." }] },
    ]);
    let (rig, mut talk, turn) = begin(agent, "ask", steps, "find a bird").await;
    let open = talk.until_question().await;
    let answer = json!({ "question": open.request.question, "answers": { "answer": "heron" } });
    talk.client.call::<Value>("answer", answer).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(rig.heard_by_model(2).await.contains("heron"));
    assert!(
        talk.events
            .iter()
            .any(|event| matches!(&event.body, Body::PlanUpdated { steps } if steps.len() == 1))
    );
}

async fn forked(agent: &str) {
    let steps =
        json!([{ "do": [{ "say": "The word is heron." }] }, { "do": [{ "say": "Heron, says the fork." }] }]);
    let (rig, mut talk, turn) = begin(agent, "ask", steps, "remember a word").await;
    talk.until_turn_ends(turn).await;
    let fork = talk.call("fork", json!({})).await.unwrap();
    let fork = serde_json::from_value(fork["sessionId"].clone()).unwrap();
    let mut fork = rig.follow(fork, Seq::ZERO).await;
    let turn = fork.prompt("what was the word?").await;
    assert_eq!(fork.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", fork.story());
    assert!(rig.heard_by_model(2).await.contains("The word is heron."));
}

async fn forked_before_a_message(agent: &str) {
    let say = |text: &str| json!({ "do": [{ "say": text }] });
    let steps = json!([say("The word is heron."), say("Now it is gull."), say("Heron, says the fork.")]);
    let (rig, mut talk, turn) = begin(agent, "ask", steps, "remember a word").await;
    talk.until_turn_ends(turn).await;
    let turn = talk.prompt("take another word").await;
    talk.until_turn_ends(turn).await;
    let before =
        talk.events.iter().rfind(|event| matches!(event.body, Body::UserMessage { .. })).unwrap().seq;
    let fork = talk.call("fork", json!({ "before": before })).await.unwrap();
    let fork = serde_json::from_value(fork["sessionId"].clone()).unwrap();
    let mut fork = rig.follow(fork, Seq::ZERO).await;
    let turn = fork.prompt("what was the word?").await;
    assert_eq!(fork.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", fork.story());
    let heard = rig.heard_by_model(3).await;
    assert!(heard.contains("The word is heron.") && !heard.contains("gull"), "{heard}");
}

macro_rules! on_every_api {
    ($($case:ident)*) => {
        mod chat { $(#[tokio::test] async fn $case() { super::$case("react").await; })* }
        mod responses { $(#[tokio::test] async fn $case() { super::$case("react-responses").await; })* }
        mod messages { $(#[tokio::test] async fn $case() { super::$case("react-messages").await; })* }
    };
}

on_every_api!(many_steps three_at_once malformed failing a_minute_interrupted cut_in_the_arguments too_many_requests
    compaction killed_between_call_and_result steered asked forked forked_before_a_message);

/// Whoever talks to it without an end costs the machine no more than that; what it runs for people may take what it needs.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn it_has_a_bound_to_its_memory_and_its_commands_have_none() {
    let look = "grep 'Max data size' /proc/$PPID/limits /proc/self/limits";
    let steps = json!([{ "do": [shell(json!(look))] }, { "do": [{ "say": "I see." }] }]);
    let (rig, mut talk, turn) = begin("react", "full", steps, "go").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    let heard = rig.heard_by_model(2).await;
    let words: Vec<&str> = heard.split_whitespace().collect();
    let limits: Vec<&str> =
        words.windows(3).filter(|three| three[..2] == ["data", "size"]).map(|three| three[2]).collect();
    assert!(limits.contains(&"2147483648") && limits.contains(&"unlimited"), "{limits:?} of {heard}");
}

#[tokio::test]
async fn it_tells_its_models() {
    let rig = Rig::with(json!({ "models": ["scripted", "other"], "steps": [] })).await;
    let settings = json!({ "base_url": format!("{}/v1", rig.root), "model": "other" });
    let mut agent = rig
        .longshore()
        .arg("react")
        .env("LONGSHORE_REACT", settings.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let id = "01990000-0000-7000-8000-000000000001";
    let mut stdin = agent.stdin.take().unwrap();
    stdin.write_all(format!("{}\n", json!({ "models": id })).as_bytes()).await.unwrap();
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(WITHIN, lines.next_line()).await.unwrap().unwrap().unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let models: Vec<&str> = said["models"]["models"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|model| model["id"].as_str())
        .collect();
    assert_eq!(
        (&said["models"]["id"], models),
        (&json!(id), vec!["other", "scripted"]),
        "the one that is set is first"
    );
    drop(stdin);
    let ended = tokio::time::timeout(WITHIN, agent.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "it ends when the hub hangs up: {ended}");
}

#[tokio::test]
async fn it_is_not_there_when_nothing_says_where_a_model_is() {
    let mut rig = Rig::with(json!([])).await;
    rig.kill().await;
    std::fs::write(rig.folder.path().join("longshore/config.toml"), "").unwrap();
    let doctor = rig.longshore().arg("doctor").env_remove("ANTHROPIC_API_KEY").output().await.unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("[agents.react]"), "{said}");
    let lost = rig.longshore().arg("react").env_remove("ANTHROPIC_API_KEY").output().await.unwrap();
    let said = String::from_utf8_lossy(&lost.stderr).into_owned();
    assert!(!lost.status.success() && said.contains("nothing says where a model is"), "{said}");
}

#[tokio::test]
async fn what_is_wrong_with_the_service_is_said() {
    let steps =
        json!([{ "http": 401, "body": { "error": { "message": "bad key", "code": "invalid_api_key" } } }]);
    let (_rig, mut talk, turn) = begin("react", "ask", steps, "go").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed);
    let end = talk.events.iter().find_map(|event| match &event.body {
        Body::TurnFinished(end) => end.error.clone(),
        _ => None,
    });
    assert_eq!(end.unwrap().message, "bad key");
}

#[tokio::test]
async fn what_is_missing_is_told_with_the_section_that_it_is_missing_in() {
    let mut rig = Rig::with(json!([])).await;
    let settings = format!("[agents.other]\ndriver = \"react\"\nbase_url = \"{}/nowhere/v1\"\n", rig.root());
    rig.start_with(&settings).await;
    let mut talk = rig.open_with("other", "ask").await;
    let turn = talk.prompt("go").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed, "{}", talk.story());
    let told = notices(&talk);
    assert!(told.iter().any(|text| text.contains("no model is set under [agents.other]")), "{told:?}");
    assert!(talk.story().contains("set `model` under [agents.other]"), "{}", talk.story());
}

#[tokio::test]
async fn an_address_that_is_none_fails_the_first_turn_at_once_and_names_the_setting() {
    let mut rig = Rig::with(json!([])).await;
    rig.start_with("[agents.other]\ndriver = \"react\"\nbase_url = \"localhost:9/v1\"\nmodel = \"m\"\n")
        .await;
    let mut talk = rig.open_with("other", "ask").await;
    let turn = talk.prompt("go").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed, "{}", talk.story());
    let told = "base_url cannot be used: localhost:9/v1 is no address of a service; it looks like http://";
    let failed = |event: &&Event| matches!(event.body, Body::TurnFinished(_)) && event.text().contains(told);
    assert_eq!(talk.events.iter().filter(failed).count(), 1, "{}", talk.story());
}

#[tokio::test]
async fn doctor_asks_the_server_also_where_a_model_is_set() {
    let mut rig = Rig::with(json!([])).await;
    let settings = |name: &str, url: &str| {
        format!("[agents.{name}]\ndriver = \"react\"\nbase_url = \"{url}\"\nmodel = \"m\"\n")
    };
    let dead = settings("dead", "http://127.0.0.1:9/v1");
    let listless = settings("listless", &format!("{}/nowhere/v1", rig.root()));
    rig.start_with(&format!("{dead}{listless}{}", settings("mistyped", "localhost:9/v1"))).await;
    let doctor = rig.longshore().arg("doctor").output().await.unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("✗ dead: its model's server does not answer: "), "{said}");
    assert!(said.contains("✗ mistyped: ") && said.contains("base_url cannot be used"), "{said}");
    assert!(said.contains(" listless: ") && !said.contains("✗ listless"), "it has no list: {said}");
}

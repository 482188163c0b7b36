//! The verbs of every day: which of them start the hub, what they read, what they change, and how they end.

use std::process::{Output, Stdio};

use longshore_model::event::{Body, Event};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

use super::rig::{Rig, Talk, WITHIN};

pub(super) async fn longshore(rig: &Rig, arguments: &[&str]) -> Output {
    told(rig, arguments, "", &[]).await
}

/// A verb with something in its stdin, and more in its surroundings.
pub(super) async fn told(rig: &Rig, arguments: &[&str], input: &str, env: &[(&str, &str)]) -> Output {
    let mut command = rig.longshore();
    command.args(arguments).envs(env.iter().copied()).stdin(Stdio::piped());
    let mut running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = running.stdin.take().unwrap();
    // Not everybody reads it.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    tokio::time::timeout(WITHIN, running.wait_with_output()).await.expect("it did not end").unwrap()
}

pub(super) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(super) fn json_of(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap_or_else(|_| panic!("{}{}", out(output), err(output)))
}

/// How the hub answers to a pairing code.
pub(super) async fn consumed(url: &str, body: &str) -> u16 {
    let host = url.strip_prefix("http://").unwrap();
    let mut tcp = tokio::net::TcpStream::connect(host).await.unwrap();
    let request = format!(
        "POST /pair/consume HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    tcp.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Where a hub that is started by the way listens.
pub(super) const ANYWHERE: (&str, &str) = ("LONGSHORE_BIND", "127.0.0.1:0");

#[tokio::test]
async fn every_verb_that_needs_the_hub_starts_it_and_says_so_in_one_line() {
    // The doctor starts every agent, and some ask the model something of their own then.
    let script = json!([
        { "when": { "contains": "more" }, "do": [{ "say": "Again." }], "repeat": "forever" },
        { "do": [{ "say": "Hello." }], "repeat": "forever" },
    ]);
    let mut rig = Rig::with(script).await;
    assert!(longshore(&rig, &["run", "codex", "hi", "--mode", "full"]).await.status.success());
    let hub_log = std::fs::read_to_string(rig.hub_log()).unwrap();
    assert!(!hub_log.contains("brought up to date"), "a fresh log is no news: {hub_log}");
    assert!(longshore(&rig, &["down"]).await.status.success());
    rig.gone().await;
    for verb in ["down", "doctor"] {
        let asked = told(&rig, &[verb], "", &[ANYWHERE]).await;
        assert!(!err(&asked).contains("started the hub"), "{verb} starts no hub: {}", err(&asked));
    }
    let listed = told(&rig, &["ls"], "", &[ANYWHERE]).await;
    assert!(out(&listed).contains("hi"), "{}{}", out(&listed), err(&listed));
    let said = err(&listed);
    assert!(said.starts_with("started the hub in the background: http://127.0.0.1:"), "{said}");
    assert!(said.lines().count() == 1 && said.contains("longshore open"), "{said}");
    assert!(!said.contains('#'), "a code is for a person who sits there, and for no file: {said}");

    // The sessions wake with the next prompt, whatever the first words are.
    assert!(longshore(&rig, &["down"]).await.status.success());
    let woken = told(&rig, &["prompt", "-", "more"], "", &[ANYWHERE]).await;
    assert!(out(&woken).contains("Again."), "{}{}", out(&woken), err(&woken));
    assert!(longshore(&rig, &["down"]).await.status.success());
    let named = told(&rig, &["ls"], "", &[("LONGSHORE_URL", "http://127.0.0.1:9")]).await;
    assert_eq!(named.status.code(), Some(6), "{}", err(&named));
    assert!(
        err(&named).contains("LONGSHORE_URL") && !err(&named).contains("longshore up"),
        "{}",
        err(&named)
    );
}

#[tokio::test]
async fn a_hub_is_left_in_the_background_and_a_browser_is_let_in_once() {
    let mut rig = Rig::with(json!([])).await;
    assert!(longshore(&rig, &["down"]).await.status.success());
    rig.gone().await;
    let up = longshore(&rig, &["up", "--detach", "--bind", "127.0.0.1:0", "--json"]).await;
    assert!(up.status.success(), "{}", err(&up));
    let url = json_of(&up)["url"].as_str().unwrap().to_owned();
    let again = longshore(&rig, &["up", "--detach"]).await;
    assert_eq!(again.status.code(), Some(5), "{}", err(&again));

    let (browser, opened) = (rig.folder.path().join("browser"), rig.folder.path().join("opened"));
    std::fs::write(
        &browser,
        format!("#!/bin/sh\nprintf %s \"$1\" > {}.new\nmv {0}.new {0}\n", opened.display()),
    )
    .unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o700)).unwrap();
    let open = told(&rig, &["open", "--json"], "", &[("BROWSER", browser.to_str().unwrap())]).await;
    assert_eq!(json_of(&open)["opened"], true, "{}", err(&open));
    let link = json_of(&open)["url"].as_str().unwrap().to_owned();
    let (before, code) = link.split_once("/pair?enter#").expect("a link that signs in");
    assert_eq!((before, code.len()), (url.as_str(), 24), "nobody can guess it: {link}");

    // What the browser is started with holds no code: everybody can read that.
    let mut pace = tokio::time::interval(std::time::Duration::from_millis(20));
    let shown = async {
        loop {
            pace.tick().await;
            if let Ok(said) = std::fs::read_to_string(&opened) {
                return said;
            }
        }
    };
    let shown = tokio::time::timeout(WITHIN, shown).await.expect("no browser was started");
    assert!(!shown.contains(code), "{shown}");
    let page = shown.strip_prefix("file://").unwrap();
    assert!(std::fs::read_to_string(page).unwrap().contains(&link));
    assert_eq!(std::fs::metadata(page).unwrap().permissions().mode() & 0o777, 0o600);

    for _ in 0..12 {
        let guess = json!({ "code": "AAAAAAAA" }).to_string();
        assert_ne!(consumed(&url, &guess).await, 200);
    }
    let used = json!({ "code": code }).to_string();
    assert_eq!(consumed(&url, &used).await, 200, "whoever guesses here keeps nobody out");

    let printed = told(&rig, &["open"], "", &[]).await;
    assert!(out(&printed).trim().starts_with(&format!("{url}/pair?enter#")), "{}", out(&printed));
    assert!(longshore(&rig, &["down"]).await.status.success());
}

#[tokio::test]
async fn a_prompt_is_read_from_a_pipe_and_a_dash_is_the_latest_session() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "One." }] }, { "do": [{ "say": "Two." }] }, { "do": [{ "say": "Three." }] },
    ]))
    .await;
    assert!(longshore(&rig, &["run", "codex", "first", "--mode", "full"]).await.status.success());
    let piped = told(&rig, &["prompt", "-", "-"], "fix it\nall of it\n", &[]).await;
    assert!(out(&piped).contains("> fix it\n  all of it\n"), "{}{}", out(&piped), err(&piped));
    let long = "word ".repeat(60_000);
    let piped = told(&rig, &["prompt", "-"], &long, &[]).await;
    assert!(piped.status.success(), "{}", err(&piped));
    let echoed = out(&piped);
    assert!(echoed.len() < 10_000 && echoed.contains("left out"), "{} bytes", echoed.len());
    let empty = told(&rig, &["prompt", "-"], " \n", &[]).await;
    assert_eq!(empty.status.code(), Some(2), "{}", err(&empty));
    for verb in ["show", "export", "queue"] {
        let named = longshore(&rig, &[verb, "-"]).await;
        assert!(named.status.success(), "{verb} -: {}", err(&named));
    }
    let nothing = longshore(&rig, &["search", "nowheretobefound"]).await;
    assert_eq!(nothing.status.code(), Some(1), "{}", out(&nothing));
    nothing_is_named_by_an_empty_word(&rig).await;
}

/// A variable that is not set in a script must not stand for the latest session.
async fn nothing_is_named_by_an_empty_word(rig: &Rig) {
    for arguments in [
        vec!["delete", "", "--yes"],
        vec!["delete", " ", "--yes"],
        vec!["close", ""],
        vec!["archive", ""],
        vec!["archive", "", "--undo"],
        vec!["rename", "", "gone"],
        vec!["fork", ""],
        vec!["prompt", "", "hi"],
        vec!["interrupt", ""],
        vec!["show", ""],
        vec!["mode", "", "plan"],
        vec!["queue", "drop", "-", ""],
        vec!["queue", "discard", ""],
        vec!["approve", ""],
        vec!["answer", "", "yes"],
        vec!["devices", "revoke", ""],
        vec!["search", ""],
        vec!["search", "One", "-n", "0"],
        vec!["ls", "-n", "0"],
        vec!["usage", "--days", "0"],
        vec!["queue", "move", "-", "1", "0"],
    ] {
        let output = longshore(rig, &arguments).await;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}{}", out(&output), err(&output));
    }
    let sessions = json_of(&longshore(rig, &["ls", "--json"]).await);
    let sessions = sessions["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!((&sessions[0]["title"], &sessions[0]["mode"]), (&json!("first"), &json!("full")));
}

#[tokio::test]
async fn what_the_api_has_has_a_verb() {
    let rig = Rig::with(json!([
        { "do": [{ "say": "One." }] },
        { "do": [{ "call": "exec_command", "args": { "cmd": "touch one" } }] },
        { "do": [{ "say": "Done." }] },
    ]))
    .await;
    assert!(longshore(&rig, &["run", "codex", "first", "--mode", "ask"]).await.status.success());
    let ended = |output: &Output| (output.status.code(), format!("{}{}", out(output), err(output)));
    for (arguments, words) in [
        (vec!["rename", "-", "red\u{1b}[31m title"], "now called red"),
        (vec!["rename", "-", "Another", "title"], "now called Another title"),
        (vec!["mode", "-", "plan"], "mode plan"),
        (vec!["mode", "-"], "plan"),
        (vec!["mode", "-", "ask"], "mode ask"),
        (vec!["inbox"], ""),
        (vec!["usage", "--by", "agent"], "codex"),
        (vec!["wait", "-"], "idle"),
        (vec!["ls", "--status", "idle"], "Another title"),
    ] {
        let (code, told) = ended(&longshore(&rig, &arguments).await);
        assert!(code == Some(0) && told.contains(words), "{arguments:?}: {code:?} {told}");
        assert!(!told.contains('\u{1b}'), "{arguments:?}: {told:?}");
    }
    let wrong = longshore(&rig, &["mode", "plan"]).await;
    assert!(wrong.status.code() == Some(2) && err(&wrong).contains("mode - plan"), "{}", err(&wrong));

    // Something waits: it is in the inbox, `wait` says so, and the session's name is enough to allow it.
    assert!(longshore(&rig, &["prompt", "-", "make it", "--detach"]).await.status.success());
    let waits = longshore(&rig, &["wait", "-"]).await;
    assert_eq!(ended(&waits).0, Some(7), "{:?}", ended(&waits));
    let inbox = json_of(&longshore(&rig, &["inbox", "--json"]).await);
    let session = inbox["approvals"][0]["session"].as_str().unwrap().to_owned();
    assert!(out(&longshore(&rig, &["inbox"]).await).starts_with("approval\t"));
    let needs = longshore(&rig, &["ls", "--status", "needs-you"]).await;
    assert!(out(&needs).contains(&session), "{}", out(&needs));
    assert!(out(&longshore(&rig, &["ls", "--status", "waiting"]).await).contains(&session));
    let (code, told) = ended(&longshore(&rig, &["prompt", "-", "and then", "--detach"]).await);
    assert_eq!(code, Some(0), "{told}");
    for (arguments, words) in [
        (vec!["queue", "-"], "1  and then"),
        (vec!["queue", "edit", "-", "1", "and later"], "changed"),
        (vec!["queue"], "1  and later"),
        (vec!["queue", "drop", "-", "1"], "removed"),
        (vec!["queue"], "no prompt is queued"),
    ] {
        let (code, told) = ended(&longshore(&rig, &arguments).await);
        assert!(code == Some(0) && told.contains(words), "{arguments:?}: {code:?} {told}");
    }
    let approved = longshore(&rig, &["approve", "--json"]).await;
    assert_eq!((approved.status.code(), err(&approved)), (Some(0), String::new()));
    assert!(json_of(&approved).is_object());
    assert_eq!(ended(&longshore(&rig, &["wait", &session]).await).0, Some(0));
    assert!(rig.work().join("one").exists());
    let forked = longshore(&rig, &["fork", &session]).await;
    assert!(out(&forked).contains("forked into"), "{}", err(&forked));
    let (code, again) = ended(&longshore(&rig, &["fork"]).await);
    let origin = format!("`longshore fork {}` makes another fork", &session[28..]);
    assert!(code == Some(5) && again.contains(&origin), "the latest is the fork: {again}");
    for (arguments, words) in [
        (vec!["archive", session.as_str()], "archived"),
        (vec!["archive", session.as_str(), "--undo"], "unarchived"),
        (vec!["close", session.as_str()], "ended"),
    ] {
        let (code, told) = ended(&longshore(&rig, &arguments).await);
        assert!(code == Some(0) && told.contains(words), "{arguments:?}: {code:?} {told}");
    }
    let late = longshore(&rig, &["wait", "-", "--timeout", "0"]).await;
    assert!(matches!(late.status.code(), Some(0 | 124)), "{}", err(&late));
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_opens_no_session() {
    let rig = Rig::with(json!([])).await;
    let file = rig.work().join("file");
    std::fs::write(&file, "").unwrap();
    let run = longshore(&rig, &["run", "codex", "hi", "--cwd", file.to_str().unwrap()]).await;
    assert!(run.status.code() == Some(2) && err(&run).contains("it is a file"), "{}", err(&run));
    let gone = rig.work().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let mut command = rig.longshore();
    // A shell in a folder that somebody else removed.
    let script = format!("rmdir {} && exec {} run codex hi", gone.display(), env!("CARGO_BIN_EXE_longshore"));
    let mut shell = tokio::process::Command::new("sh");
    let variables = command
        .as_std_mut()
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    shell.env_clear().envs(variables.collect::<Vec<_>>()).current_dir(&gone).args(["-c", &script]);
    let run = tokio::time::timeout(WITHIN, shell.stdin(Stdio::null()).output()).await.unwrap().unwrap();
    assert!(run.status.code() == Some(2) && err(&run).contains("the current folder"), "{}", err(&run));
    assert_eq!(out(&longshore(&rig, &["ls"]).await), "");
}

#[tokio::test]
async fn a_tool_that_began_before_anybody_watched_has_its_name_at_its_end() {
    let rig = Rig::with(json!([
        { "do": [{ "call": "exec_command", "args": { "cmd": "echo begin; while [ ! -e go ]; do sleep 0.1; done; echo end", "yield_time_ms": 30000 } }] },
        { "do": [{ "say": "First." }] },
        { "do": [{ "say": "Second." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "run it").await;
    talk.until_event("the command runs", |event| event.text().contains("begin")).await;
    let watching = watch(&rig, &mut talk).await;
    std::fs::write(rig.work().join("go"), "").unwrap();
    let shown = shown(watching).await;
    assert!(shown.contains("Run  echo begin") && !shown.contains("A tool"), "{shown}");
}

#[tokio::test]
async fn a_tool_that_began_long_before_anybody_watched_has_its_name_as_well() {
    let until = |file: &str| format!("while [ ! -e {file} ]; do sleep 0.1; done");
    let run = |cmd: String, within: u32| json!({ "call": "exec_command", "args": { "cmd": cmd, "yield_time_ms": within } });
    let mut talks: Vec<Value> = (0..130).map(|at| json!({ "say": format!("Word {at}.") })).collect();
    talks.push(run(until("go"), 30_000));
    let rig = Rig::with(json!([
        // Codex goes on while this one runs.
        { "do": [run(format!("echo begin; {}; echo end", until("go")), 250)] },
        { "do": talks },
        { "do": [{ "say": "First." }] },
        { "do": [run(until("seen"), 30_000)] },
        { "do": [{ "say": "Second." }] },
    ]))
    .await;
    let mut talk = rig.talk("full", "run it").await;
    let is_last =
        |event: &Event| matches!(event.body, Body::MessageDone { .. }) && event.text() == "Word 129.";
    talk.until_event("all of it was said", is_last).await;
    let watching = watch(&rig, &mut talk).await;
    std::fs::write(rig.work().join("go"), "").unwrap();
    talk.until("the first command ends", |talk| talk.tools()[0].1.is_some()).await;
    std::fs::write(rig.work().join("seen"), "").unwrap();
    let shown = shown(watching).await;
    assert!(shown.contains("Run  echo begin") && !shown.contains("A tool"), "{shown}");
}

/// Says something while a turn runs, and watches.
async fn watch(rig: &Rig, talk: &mut Talk) -> Child {
    let mut watching = rig.longshore();
    let watching = watching.args(["prompt", "-", "and then"]).stdout(Stdio::piped()).spawn().unwrap();
    talk.until_event(
        "it is queued",
        |event| matches!(event.body, Body::PromptQueued { .. } if event.text() == "and then"),
    )
    .await;
    watching
}

/// What was shown, once that has ended.
async fn shown(watching: Child) -> String {
    out(&tokio::time::timeout(WITHIN, watching.wait_with_output()).await.expect("it did not end").unwrap())
}

#[tokio::test]
async fn a_session_is_released_and_at_last_deleted_but_never_by_accident() {
    let rig = Rig::with(json!([{ "do": [{ "say": "Remember heron." }] }])).await;
    assert!(longshore(&rig, &["run", "codex", "a word", "--mode", "full"]).await.status.success());
    // What `show` says is what works: as long as our process holds the conversation, Codex refuses its own command.
    let hand_back = async || {
        let shown = out(&longshore(&rig, &["show"]).await);
        let line = shown.lines().find_map(|line| line.strip_prefix("hand back "));
        line.unwrap_or_else(|| panic!("no way back: {shown}")).to_owned()
    };
    let first = hand_back().await;
    let words: Vec<&str> = first.strip_prefix("longshore ").expect(&first).split(' ').collect();
    let shown = json_of(&longshore(&rig, &["show", "--json"]).await);
    assert_eq!((words[0], &shown["release"]), ("release", &json!(true)), "{shown}");
    let released = longshore(&rig, &words).await;
    let line = shown["handBack"]["line"].as_str().unwrap();
    assert_eq!(hand_back().await, line);
    assert_eq!(json_of(&longshore(&rig, &["show", "--json"]).await)["release"], false);
    let told = out(&released);
    assert!(told.contains("released") && told.contains("codex resume"), "{told}{}", err(&released));
    for (status, listed) in [("idle", 0), ("sleeping", 1)] {
        let rows = json_of(&longshore(&rig, &["ls", "--status", status, "--json"]).await);
        assert_eq!(rows["sessions"].as_array().unwrap().len(), listed, "{status}: the words of the list");
    }
    let nothing = longshore(&rig, &["resume", "-"]).await;
    assert_eq!(nothing.status.code(), Some(5), "{}", err(&nothing));
    assert!(out(&longshore(&rig, &["resume", "--all"]).await).contains("no session was interrupted"));
    let id = json_of(&longshore(&rig, &["ls", "--json"]).await)["sessions"][0]["sessionId"].clone();
    let id = id.as_str().unwrap();
    let unmeant = longshore(&rig, &["delete", id]).await;
    assert!(unmeant.status.code() == Some(2) && err(&unmeant).contains("--yes"), "{}", err(&unmeant));
    for yes in [&["delete", "-"][..], &["delete", "-", "--yes"]] {
        let latest = longshore(&rig, yes).await;
        let told = err(&latest);
        assert!(latest.status.code() == Some(2) && told.contains("a word"), "it is named: {told}");
    }
    assert!(longshore(&rig, &["search", "heron"]).await.status.success());
    let closed = longshore(&rig, &["close", "-"]).await;
    assert!(out(&closed).contains("(a word): ended"), "{}{}", out(&closed), err(&closed));
    let ended = longshore(&rig, &["ls", "--status", "ended", "--json"]).await;
    assert_eq!(json_of(&ended)["sessions"][0]["sessionId"], *id, "{}", out(&ended));
    let deleted = longshore(&rig, &["delete", id, "--yes"]).await;
    assert!(out(&deleted).contains("deleted"), "{}{}", out(&deleted), err(&deleted));
    assert_eq!(out(&longshore(&rig, &["ls"]).await), "");
    assert_eq!(longshore(&rig, &["search", "heron"]).await.status.code(), Some(1));
}

#[tokio::test]
async fn a_prompt_that_waits_is_taken_back_by_ctrl_c_and_the_turn_of_others_goes_on() {
    let slow = json!({ "say": "It goes on. ".repeat(400), "delay_ms": 40 });
    let rig = Rig::with(json!([{ "do": [slow] }])).await;
    let mut talk = rig.open("full").await;
    let first = talk.prompt("deploy").await;
    talk.until_event("it works", |event| matches!(event.body, Body::MessageDelta)).await;
    let id = talk.session.to_string();
    let queued = |event: &Event| matches!(event.body, Body::PromptQueued { .. });
    let prompt = async |words: &'static str| {
        let mut command = rig.longshore();
        command.args(["prompt", &id, words]).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let ended = async |running: Child| {
        tokio::time::timeout(WITHIN, running.wait_with_output()).await.expect("it did not end").unwrap()
    };
    let mine = prompt("mine").await;
    talk.until_event("mine waits", queued).await;
    // It has to listen to signals before it is sent one.
    talk.until("mine waits", |talk| talk.events.iter().filter(|event| queued(event)).count() == 2).await;
    let pid = rustix::process::Pid::from_raw(mine.id().unwrap() as i32).unwrap();
    until_it_catches(mine.id().unwrap()).await;
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mine = ended(mine).await;
    assert!(
        mine.status.code() == Some(130)
            && err(&mine).starts_with("queued: it runs when")
            && err(&mine).contains("taken back"),
        "{}{}",
        out(&mine),
        err(&mine)
    );
    let held = prompt("held").await;
    talk.until("held waits", |talk| talk.events.iter().filter(|event| queued(event)).count() == 3).await;
    assert_eq!(talk.end_of(first), None, "the turn of others goes on: {}", talk.story());
    talk.call("interrupt", json!({})).await.unwrap();
    let held = ended(held).await;
    assert!(
        held.status.code() == Some(130)
            && out(&held).contains("· your prompt is held: owner stopped the turn; `longshore queue send"),
        "{}{}",
        out(&held),
        err(&held)
    );
}

/// Waits until a process catches SIGINT.
async fn until_it_catches(pid: u32) {
    let catches = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask =
            status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0").trim().to_owned();
        u64::from_str_radix(&mask, 16).is_ok_and(|mask| mask & 0b10 != 0)
    };
    super::rig::until("it listens to signals", catches).await;
}

#[tokio::test]
async fn a_question_is_answered_by_a_choice_its_number_or_not_at_all() {
    let question = json!({ "questions": [{
        "id": "color", "header": "Colour", "question": "Which colour?",
        "options": [{ "label": "Blue", "description": "calm" }, { "label": "Red", "description": "loud" }],
    }] });
    let rig = Rig::with(json!([
        { "do": [{ "call": "request_user_input", "args": question }] },
        { "do": [{ "say": "Painted." }] },
    ]))
    .await;
    let mut talk = rig.talk("plan", "paint it").await;
    let open = talk.until_question().await;
    let inbox = out(&longshore(&rig, &["inbox"]).await);
    assert!(inbox.starts_with("answer\t") && inbox.contains("Which colour?"), "{inbox}");
    let wrong = longshore(&rig, &["answer", "ffffffff", "Red"]).await;
    assert_eq!(wrong.status.code(), Some(3), "{}", err(&wrong));
    let unsaid = longshore(&rig, &["answer"]).await;
    assert!(
        err(&unsaid).contains("Which colour?") || err(&unsaid).contains("Colour"),
        "the only one that waits is meant: {}",
        err(&unsaid)
    );
    let many = longshore(&rig, &["answer", "-", "Red", "Blue"]).await;
    assert_eq!(many.status.code(), Some(2), "{}", err(&many));
    let answered = longshore(&rig, &["answer", &open.request.question.to_string(), "2"]).await;
    assert_eq!(out(&answered).trim(), "answered", "{}", err(&answered));
    let red = |event: &Event| matches!(&event.body, Body::QuestionAnswered { answer, .. } if answer.answers.values().any(|said| said == "Red"));
    talk.until_event("the answer", red).await;
}

//! How a hub comes to be: one for a home, where it was before, with a token that is one.

use std::process::Stdio;

use serde_json::json;

use super::first_minute::at_rest;
use super::leftovers::RUDE;
use super::rig::{Rig, WITHIN, until};
use super::verbs::{ANYWHERE, err, json_of, longshore, out, told};

#[tokio::test]
async fn a_hub_that_is_started_by_the_way_listens_as_up_was_told_to() {
    let rig = at_rest().await;
    for (more, scheme) in [(&["--tls"][..], "https"), (&[], "http")] {
        let words = ["up", "--detach", "--json", "--bind", "127.0.0.1:0"];
        let up = longshore(&rig, &[&words, more].concat()).await;
        let url = json_of(&up)["url"].as_str().unwrap().to_owned();
        assert!(url.starts_with(&format!("{scheme}://127.0.0.1:")), "{url}");
        for _ in 0..2 {
            assert!(longshore(&rig, &["down"]).await.status.success());
            let listed = longshore(&rig, &["ls"]).await;
            let again = format!("started the hub in the background: {scheme}://127.0.0.1:");
            assert!(err(&listed).starts_with(&again), "{}{}", out(&listed), err(&listed));
        }
        assert!(longshore(&rig, &["down"]).await.status.success());
    }
}

#[tokio::test]
async fn a_home_has_one_hub_whoever_deletes_the_lock_and_however_many_start() {
    let rig = Rig::with(json!([])).await;
    std::fs::remove_file(rig.folder.path().join("longshore/data/lock")).unwrap();
    for words in [&["up", "--bind", "127.0.0.1:0"][..], &["up", "--detach"]] {
        let second = longshore(&rig, words).await;
        assert_eq!(second.status.code(), Some(5), "{}", err(&second));
        assert!(
            err(&second).contains(&format!("a hub is already running, at {}", rig.url)),
            "{}",
            err(&second)
        );
    }

    let rig = at_rest().await;
    let start = || {
        let mut hub = rig.longshore();
        hub.args(["up", "--bind", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(Stdio::null());
        hub.env("LONGSHORE_TOKEN", "").kill_on_drop(true).spawn().unwrap()
    };
    let mut hubs: Vec<_> = (0..4).map(|_| start()).collect();
    let mut codes = Vec::new();
    let all_but_one = async {
        let mut pace = tokio::time::interval(std::time::Duration::from_millis(20));
        while hubs.len() > 1 {
            pace.tick().await;
            hubs.retain_mut(|hub| {
                let ended = hub.try_wait().unwrap();
                codes.extend(ended.map(|status| status.code()));
                ended.is_none()
            });
        }
    };
    tokio::time::timeout(WITHIN, all_but_one).await.expect("one hub, and not more");
    assert_eq!(codes, [Some(5); 3]);
    let note = rig.folder.path().join("longshore/data/hub.json");
    until("the one that is left is up", || note.exists()).await;
    // Each of them would have made a token.
    for verb in ["ls", "down"] {
        let done = told(&rig, &[verb], "", &[("LONGSHORE_TOKEN", "")]).await;
        assert!(done.status.success(), "{verb}: {}", err(&done));
    }
}

#[tokio::test]
async fn a_run_whose_hub_is_gone_says_what_brings_it_back() {
    let words = "word ".repeat(400);
    let script = json!([{ "do": [{ "say": words, "delay_ms": 20 }] }, { "do": [{ "say": "On." }], "repeat": "forever" }]);
    let mut rig = Rig::with(script).await;
    let mut run = rig.longshore();
    let run =
        run.args(["run", "codex", "talk", "--mode", "full"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().unwrap();
    rig.heard_by_model(1).await;
    rig.kill().await;
    let ended = tokio::time::timeout(WITHIN, run.wait_with_output()).await.expect("it did not end").unwrap();
    assert_eq!(ended.status.code(), Some(6), "{}", err(&ended));
    let said = err(&ended);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, hint) = said.split_once("`longshore resume ").unwrap_or_else(|| panic!("{said}"));
    let session = hint.split_once('`').unwrap().0;
    let resumed = longshore(&rig, &["resume", session]).await;
    assert!(resumed.status.success(), "{}", err(&resumed));
    assert!(longshore(&rig, &["down"]).await.status.success());
}

#[tokio::test]
async fn verbs_that_start_a_hub_at_once_leave_none_behind_that_comes_up_later() {
    let rig = at_rest().await;
    for _ in 0..3 {
        let list = || told(&rig, &["ls"], "", &[ANYWHERE]);
        let (one, two, three) = tokio::join!(list(), list(), list());
        for listed in [one, two, three] {
            assert!(listed.status.success(), "{}", err(&listed));
        }
        let down = longshore(&rig, &["down"]).await;
        assert!(down.status.success(), "{}", err(&down));
        let down = longshore(&rig, &["down"]).await;
        assert_eq!(down.status.code(), Some(6), "another hub came up: {}{}", out(&down), err(&down));
    }
}

#[tokio::test]
async fn why_a_hub_does_not_start_by_the_way_is_told_with_its_code() {
    let rig = at_rest().await;
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = taken.local_addr().unwrap().to_string();
    // The second time there is a token, which whoever listens there is asked for.
    for code in [5, 6] {
        let refused = told(&rig, &["ls"], "", &[("LONGSHORE_TOKEN", ""), ("LONGSHORE_BIND", &at)]).await;
        let said = err(&refused);
        assert_eq!(refused.status.code(), Some(code), "{said}");
        assert!(said.contains(&at) && said.contains("--bind"), "{said}");
    }
    for bind in ["nonsense", "127.0.0.1", "127.0.0.1:99999"] {
        let refused = told(&rig, &["up"], "", &[("LONGSHORE_BIND", bind)]).await;
        let said = err(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(bind) && said.contains("--bind"), "{said}");
    }
    for verb in [&["ls"][..], &["up", "--detach"]] {
        let refused = told(&rig, verb, "", &[ANYWHERE, ("LONGSHORE_TLS_CERT", "cert.pem")]).await;
        let said = err(&refused);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("one of them is missing") && said.contains("hint: set both"), "{said}");
    }
}

#[tokio::test]
async fn a_hub_that_is_started_by_the_way_changes_nothing_of_what_up_was_told() {
    let rig = at_rest().await;
    let note = rig.folder.path().join("longshore/data/listen.json");
    assert!(longshore(&rig, &["up", "--detach", "--bind", "127.0.0.2:0"]).await.status.success());
    let before = std::fs::read_to_string(&note).unwrap();
    assert!(before.contains("127.0.0.2:0"), "{before}");
    for bind in [ANYWHERE.1, ""] {
        assert!(longshore(&rig, &["down"]).await.status.success());
        let listed = told(&rig, &["ls"], "", &[("LONGSHORE_BIND", bind)]).await;
        let at = if bind.is_empty() { "http://127.0.0.2:" } else { "http://127.0.0.1:" };
        assert!(err(&listed).contains(at), "{bind}: {}", err(&listed));
        assert_eq!(std::fs::read_to_string(&note).unwrap(), before);
    }
    assert!(longshore(&rig, &["down"]).await.status.success());
}

#[tokio::test]
async fn a_hub_without_a_log_holds_the_home_as_any_other() {
    let rig = Rig::with(json!([])).await;
    let second = longshore(&rig, &["up", "--ephemeral", "--bind", "127.0.0.1:0"]).await;
    assert_eq!(second.status.code(), Some(5), "{}", err(&second));
    assert!(longshore(&rig, &["ls"]).await.status.success());
}

#[tokio::test]
async fn a_hub_is_stopped_whatever_was_deleted_under_it() {
    let rig = at_rest().await;
    let of_file = [("LONGSHORE_TOKEN", ""), ANYWHERE];
    for gone in [&["lock", "hub.json"][..], &["token"], &["lock", "hub.json", "token"]] {
        let listed = told(&rig, &["ls"], "", &of_file).await;
        assert!(listed.status.success(), "{gone:?}: {}", err(&listed));
        for name in gone {
            std::fs::remove_file(rig.folder.path().join("longshore/data").join(name)).unwrap();
        }
        let second = told(&rig, &["up", "--detach"], "", &of_file).await;
        assert!(err(&second).contains("(process "), "{gone:?}: {}", err(&second));
        let down = told(&rig, &["down"], "", &of_file).await;
        assert!(down.status.success(), "{gone:?}: {}", err(&down));
        let down = told(&rig, &["down"], "", &of_file).await;
        assert_eq!(down.status.code(), Some(6), "{gone:?}: {}{}", out(&down), err(&down));
    }
}

#[tokio::test]
async fn a_hub_that_cannot_say_where_it_is_names_the_file_and_so_does_doctor() {
    let rig = at_rest().await;
    let note = rig.folder.path().join("longshore/data/hub.json");
    std::fs::create_dir(&note).unwrap();
    let up = longshore(&rig, &["up", "--bind", "127.0.0.1:0"]).await;
    assert_eq!(up.status.code(), Some(1), "{}", err(&up));
    assert!(err(&up).contains(&*note.to_string_lossy()), "{}", err(&up));
    let doctor = told(&rig, &["doctor"], "", &[ANYWHERE]).await;
    let line = format!("✗ hub: not running, and it cannot start: {}", note.display());
    assert!(doctor.status.code() == Some(1) && out(&doctor).contains(&line), "{}", out(&doctor));
    std::fs::remove_dir(&note).unwrap();
    let doctor = told(&rig, &["doctor"], "", &[ANYWHERE]).await;
    assert!(out(&doctor).contains("✓ hub: not running; the next verb"), "{}", out(&doctor));
}

#[tokio::test]
async fn a_hub_that_is_told_to_stop_by_several_stops_as_for_one() {
    let mut rig = Rig::with(json!([])).await;
    rig.start_with(RUDE).await;
    let mut talk = rig.open_with("rude", "full").await;
    talk.prompt("be slow to stop").await;
    let rude = rig.work().join("rude.txt");
    until("the agent runs", || rude.exists()).await;
    let pid = rustix::process::Pid::from_raw(rig.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let log = rig.hub_log();
    until("the hub stops", || std::fs::read_to_string(&log).unwrap().contains("stopping: ")).await;
    let (one, other) = tokio::join!(longshore(&rig, &["down"]), longshore(&rig, &["down"]));
    for down in [one, other] {
        assert!(down.status.success(), "{}", err(&down));
    }
    rig.gone().await;
    let note = rig.folder.path().join("longshore/data/hub.json");
    assert!(!note.exists(), "the hub ended before it was done");
}

#[tokio::test]
async fn a_program_at_the_address_of_a_killed_hub_keeps_nobody_from_starting_one() {
    let rig = at_rest().await;
    assert!(longshore(&rig, &["up", "--detach", "--bind", "127.0.0.1:0"]).await.status.success());
    let note = rig.folder.path().join("longshore/data/hub.json");
    let text = std::fs::read_to_string(&note).unwrap();
    assert!(longshore(&rig, &["down"]).await.status.success());
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut left: serde_json::Value = serde_json::from_str(&text).unwrap();
    left["url"] = format!("http://{}", stranger.local_addr().unwrap()).into();
    std::fs::write(&note, left.to_string()).unwrap();
    let listed = longshore(&rig, &["ls"]).await;
    assert!(err(&listed).starts_with("started the hub in the background"), "{}", err(&listed));
    assert!(longshore(&rig, &["down"]).await.status.success());
}

#[tokio::test]
async fn a_hub_whose_note_is_deleted_is_named_and_can_be_stopped() {
    let rig = at_rest().await;
    assert!(longshore(&rig, &["up", "--detach", "--bind", "127.0.0.1:0"]).await.status.success());
    std::fs::remove_file(rig.folder.path().join("longshore/data/hub.json")).unwrap();
    let listed = longshore(&rig, &["ls", "--json"]).await;
    assert_eq!(listed.status.code(), Some(6), "{}", err(&listed));
    let error: serde_json::Value = serde_json::from_str(err(&listed).trim()).unwrap();
    assert_eq!(error["error"]["code"], "no_hub", "{error}");
    assert!(error["error"]["message"].as_str().unwrap().contains("hub.json"), "{error}");
    assert!(error["error"]["hint"].as_str().unwrap().contains("longshore down"), "{error}");
    assert!(longshore(&rig, &["down"]).await.status.success());
}

//! How a hub comes to be: one for a home, where it was before, with a token that is one.

use std::process::Stdio;

use serde_json::json;

use super::first_minute::at_rest;
use super::rig::{Rig, WITHIN, until};
use super::verbs::{err, json_of, longshore, out, told};

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
        assert!(err(&second).contains(&format!("a hub is up already, at {}", rig.url)), "{}", err(&second));
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
async fn a_token_that_is_none_is_said_with_what_to_do_and_starts_no_hub() {
    let rig = at_rest().await;
    let token = rig.folder.path().join("longshore/data/token");
    let of_file = [("LONGSHORE_TOKEN", "")];
    std::fs::write(&token, "\n").unwrap();
    for verb in [&["ls"][..], &["token"], &["up", "--bind", "127.0.0.1:0"]] {
        let refused = told(&rig, verb, "", &of_file).await;
        assert_eq!(refused.status.code(), Some(2), "{verb:?}: {}{}", out(&refused), err(&refused));
        assert!(err(&refused).contains("is empty") && err(&refused).contains("rm "), "{}", err(&refused));
    }
    std::fs::remove_file(&token).unwrap();
    let listed = told(&rig, &["ls"], "", &of_file).await;
    assert!(listed.status.success(), "{}", err(&listed));
    assert!(told(&rig, &["down"], "", &of_file).await.status.success());
}

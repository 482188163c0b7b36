//! The owner's token: what is taken for one, in its file and in the environment, and a hub whose token is lost.

use std::path::Path;

use super::first_minute::at_rest;
use super::rig::Rig;
use super::verbs::{ANYWHERE, err, longshore, out, told};

const OF_FILE: (&str, &str) = ("LONGSHORE_TOKEN", "");

fn make_pipe(at: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(at).status().unwrap().success());
}

/// A hub, and every verb that reads the token, refuse it and say what to do.
async fn is_refused(rig: &Rig, token: (&str, &str), words: [&str; 2]) {
    for verb in [&["ls"][..], &["token"], &["up", "--bind", "127.0.0.1:0"]] {
        let refused = told(rig, verb, "", &[token]).await;
        assert_eq!(refused.status.code(), Some(2), "{token:?} {verb:?}: {}{}", out(&refused), err(&refused));
        assert!(words.iter().all(|word| err(&refused).contains(word)), "{token:?}: {}", err(&refused));
    }
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

#[tokio::test]
async fn whatever_stands_in_the_place_of_the_token_holds_nobody_up() {
    let rig = at_rest().await;
    let token = rig.folder.path().join("longshore/data/token");
    let _ = std::fs::remove_file(&token);
    make_pipe(&token);
    is_refused(&rig, OF_FILE, ["not a regular file", "`rm "]).await;
    std::fs::remove_file(&token).unwrap();
    std::fs::create_dir(&token).unwrap();
    is_refused(&rig, OF_FILE, ["is a folder", "`rm -r "]).await;
    std::fs::remove_dir(&token).unwrap();
    std::fs::write(&token, "x".repeat(5 << 20)).unwrap();
    is_refused(&rig, OF_FILE, ["more than 4096 bytes", "`rm "]).await;
}

#[tokio::test]
async fn a_pipe_in_the_place_of_a_small_file_holds_nobody_up() {
    let rig = at_rest().await;
    let data = rig.folder.path().join("longshore/data");
    for name in ["hub.json", "verified.json"] {
        let _ = std::fs::remove_file(data.join(name));
        make_pipe(&data.join(name));
    }
    for verb in [&["ls"][..], &["agents"], &["down"]] {
        let done = told(&rig, verb, "", &[ANYWHERE]).await;
        assert!(done.status.success(), "{verb:?}: {}", err(&done));
    }
    let config = rig.folder.path().join("longshore/config.toml");
    for file in [data.join("listen.json"), data.join("hub.log"), config] {
        let _ = std::fs::remove_file(&file);
        make_pipe(&file);
        let refused = told(&rig, &["ls"], "", &[ANYWHERE]).await;
        let said = err(&refused);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains(file.to_str().unwrap()) && said.contains("not a regular file"), "{said}");
        std::fs::remove_file(&file).unwrap();
    }
}

#[tokio::test]
async fn a_variable_that_is_no_token_is_refused_and_a_short_one_where_others_reach_the_hub() {
    let rig = at_rest().await;
    for bad in [" ", "two words", "two\nlines", "bell\u{7}", "schl\u{fc}ssel"] {
        is_refused(&rig, ("LONGSHORE_TOKEN", bad), ["LONGSHORE_TOKEN", "unset"]).await;
    }
    let short = [("LONGSHORE_TOKEN", "s3cret")];
    let named = ["--bind", "127.0.0.1:0", "--public-url", "https://hub.example"];
    for reached in [&["--bind", "0.0.0.0:0", "--tls"][..], &named] {
        for how in [&["up"][..], &["up", "--detach"]] {
            let words = [how, reached].concat();
            let refused = told(&rig, &words, "", &short).await;
            assert_eq!(refused.status.code(), Some(2), "{words:?}: {}", err(&refused));
            assert!(
                err(&refused).contains("too short") && err(&refused).contains("unset"),
                "{}",
                err(&refused)
            );
        }
    }
    let up = told(&rig, &["up", "--detach", "--bind", "127.0.0.1:0"], "", &short).await;
    assert!(up.status.success(), "{}", err(&up));
    for verb in ["ls", "down"] {
        let done = told(&rig, &[verb], "", &short).await;
        assert!(done.status.success(), "{verb}: {}", err(&done));
    }
}

#[tokio::test]
async fn a_hub_whose_token_is_lost_is_named_and_stopped_and_no_token_is_made_beside_it() {
    let rig = at_rest().await;
    let token = rig.folder.path().join("longshore/data/token");
    let of_file = [OF_FILE, ANYWHERE];
    assert!(told(&rig, &["ls"], "", &of_file).await.status.success());
    std::fs::remove_file(&token).unwrap();
    for verb in ["ls", "token"] {
        let refused = told(&rig, &[verb], "", &of_file).await;
        assert_eq!(refused.status.code(), Some(5), "{verb}: {}{}", out(&refused), err(&refused));
        assert!(
            err(&refused).contains("a hub runs at ") && err(&refused).contains("longshore down"),
            "{}",
            err(&refused)
        );
        assert!(!token.exists(), "{verb} has made a token");
    }
    std::fs::write(&token, "").unwrap();
    let down = told(&rig, &["down"], "", &of_file).await;
    assert!(down.status.success(), "{}", err(&down));
    std::fs::remove_file(&token).unwrap();
    assert!(told(&rig, &["ls"], "", &of_file).await.status.success());
    assert!(longshore(&rig, &["down"]).await.status.success());
}

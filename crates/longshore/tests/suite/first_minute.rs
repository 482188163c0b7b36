//! The first minute at a terminal: whoever starts a hub there is let in by a link, and a phone by a picture.

use serde_json::json;

use super::rig::Rig;
use super::terminal::Terminal;
use super::verbs::{ANYWHERE, consumed, longshore};

/// A home in which no hub runs.
pub(super) async fn at_rest() -> Rig {
    let mut rig = Rig::with(json!([])).await;
    assert!(longshore(&rig, &["down"]).await.status.success());
    rig.gone().await;
    rig
}

/// The link among the words lets one browser in, and no second one.
async fn lets_one_in(shown: &str) {
    let link = shown.split_whitespace().find(|word| word.contains("/pair?enter#"));
    let link = link.unwrap_or_else(|| panic!("no link:\n{shown}"));
    let (url, code) = link.split_once("/pair?enter#").unwrap();
    let used = json!({ "code": code }).to_string();
    assert_eq!(consumed(url, &used).await, 200, "{shown}");
    assert_ne!(consumed(url, &used).await, 200, "it is good once");
}

/// Whether a picture for a phone's camera is shown.
fn has_picture(shown: &str) -> bool {
    shown.lines().filter(|line| line.contains("▀▀") || line.contains("▄▄") || line.contains("██")).count()
        > 12
}

#[tokio::test]
async fn whoever_starts_a_hub_at_a_terminal_is_let_in_and_so_is_a_phone() {
    let rig = at_rest().await;
    let reached = ["--bind", "127.0.0.1:0", "--public-url", "https://hub.example"];
    for detached in [false, true] {
        let words: Vec<&str> =
            ["up"].into_iter().chain(reached).chain(detached.then_some("--detach")).collect();
        let mut person = Terminal::with(&rig, &words, &[]);
        person.until("longshore is up at ").await;
        person.until("others    https://hub.example   (a phone: scan this").await;
        person.until("stop it   ").await;
        assert!(has_picture(&person.shown), "{detached}:\n{}", person.shown);
        lets_one_in(&person.shown).await;
        assert!(longshore(&rig, &["down"]).await.status.success());
        let (code, shown) = person.ends().await;
        assert_eq!(code, Some(0), "{shown}");
    }
    // Where no phone gets to there is nothing to scan.
    let mut person = Terminal::with(&rig, &["up", "--bind", "127.0.0.1:0"], &[]);
    person.until("stop it   ").await;
    assert!(!has_picture(&person.shown) && !person.shown.contains("others"), "{}", person.shown);
    assert!(longshore(&rig, &["down"]).await.status.success());
    person.ends().await;
}

#[tokio::test]
async fn a_hub_that_is_started_on_the_way_lets_in_whoever_sits_there() {
    let rig = at_rest().await;
    let person = Terminal::with(&rig, &["ls"], &[ANYWHERE]);
    let (code, shown) = person.ends().await;
    assert!(
        code == Some(0) && shown.contains("started the hub in the background: http://127.0.0.1:"),
        "{shown}"
    );
    lets_one_in(&shown).await;
    assert!(longshore(&rig, &["down"]).await.status.success());
}

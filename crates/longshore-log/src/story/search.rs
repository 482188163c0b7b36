//! The story of search: words that it finds, and queries that break nothing.

use longshore_model::event::Body;
use longshore_model::item::{ToolCall, ToolKind, ToolOutcome, ToolStatus};

use super::sample::{Talk, append, at, item};
use crate::Stores;
use crate::search::{MATCH_BEGIN, MATCH_END};

pub(super) async fn words_are_found(log: &Stores) {
    let mut talk = Talk::new(22);
    let call = ToolCall {
        name: "exec_command".into(),
        kind: ToolKind::Execute,
        command: Some("cargo test -p porpoise".into()),
        cwd: None,
        input: serde_json::Value::Null,
    };
    let hay = "hay ".repeat(60);
    let outcome = Body::ToolFinished(ToolOutcome::of(ToolStatus::Failed));
    let user = Body::UserMessage { prompt: None, attachments: Vec::new(), by: None };
    let frames = vec![
        talk.say(user, None, "Please run the tests of src/main.rs", None),
        talk.say(Body::MessageDelta, Some(item(22)), "a walrus", None),
        talk.say(Body::ToolStarted(call), Some(item(23)), "Runs the tests", None),
        talk.say(outcome, Some(item(23)), &format!("{hay}thread \u{0} panicked: narwhal\n{hay}"), None),
    ];
    append(&*log.journal, talk.batch(frames)).await.unwrap();

    let found = async |query: &str| {
        let hits = log.catalog.search(query.into(), 10).await.unwrap();
        assert!(hits.iter().all(|hit| hit.session == talk.session));
        let mut seqs: Vec<u64> = hits.iter().map(|hit| hit.seq.0).collect();
        seqs.sort();
        seqs
    };
    assert_eq!(found("TESTS").await, [1, 3]);
    assert_eq!(found("tests porp").await, [3], "every word must be there, the last may be unfinished");
    assert_eq!(found("porp tests").await, [0; 0], "only the last may be unfinished");
    assert_eq!(found("src/main.rs").await, [1]);
    assert_eq!(found("main/src").await, [0; 0], "joined words stand side by side");
    assert_eq!(found("narwhal").await, [4], "also behind a NUL");
    assert_eq!(found("walrus").await, [0; 0], "a delta is not indexed, its final event will be");

    let hit = log.catalog.search("narwhal".into(), 10).await.unwrap().remove(0);
    assert_eq!((hit.item, hit.at), (Some(item(23)), at(4)));
    assert!(hit.snippet.contains(&format!("{MATCH_BEGIN}narwhal{MATCH_END}")), "{}", hit.snippet);
    assert!(hit.snippet.len() < 200 && hit.snippet.starts_with('…'), "{}", hit.snippet);
    assert_eq!(log.catalog.search("tests".into(), 1).await.unwrap().len(), 1);
}

pub(super) async fn no_query_breaks_the_search(log: &Stores) {
    let long = "word ".repeat(10_000);
    let deep = "(".repeat(5_000);
    let hostile = [
        "",
        " ",
        "\"",
        "\"\"",
        "'",
        "*",
        "^",
        "-",
        "a*",
        "\"tests",
        "tests\"",
        "tests AND",
        "NOT tests",
        "tests OR",
        "NEAR(tests run, 3)",
        "text:tests",
        "{text} : tests",
        "- tests",
        "^tests",
        "tests + run",
        "(tests",
        "tests)",
        "\u{0}",
        "te\u{0}sts",
        "'; DROP TABLE events; --",
        "%",
        "_",
        "\\",
        "\u{2068}",
        "é",
        "漢字",
        "🚢",
        &long,
        &deep,
    ];
    for query in hostile {
        let hits = log.catalog.search(query.into(), usize::MAX).await;
        assert!(hits.is_ok(), "{query:?}: {hits:?}");
    }
    assert_eq!(log.catalog.search("\"tests\"".into(), 10).await.unwrap().len(), 2, "quotes are no syntax");
    assert_eq!(log.catalog.search("te\u{0}sts".into(), 10).await.unwrap().len(), 0);
}

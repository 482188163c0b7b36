//! Prompts: taken once, queued, rewritten, put in order, taken back.

use longshore_model::command::{AgentCommand, AttachmentSource};
use longshore_model::id::PromptId;
use serde_json::{Value, json};

use crate::rig::Rig;

fn texts(session: &Value) -> Vec<String> {
    let queue = session["queue"].as_array().cloned().unwrap_or_default();
    queue.iter().map(|waiting| waiting["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_same_key_twice_is_one_prompt() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let place = format!("/api/v1/sessions/{session}/prompts");
    let say = json!({ "content": "hello", "key": "k1" });
    let first = rig.call("POST", &place).json(&say).send().await.ok(202);
    let again = rig.call("POST", &place).json(&say).send().await.ok(202);
    assert_eq!(first, again);
    assert!(first["turn"].is_string() && first["prompt"].is_string() && first["seq"].is_u64(), "{first}");
    let mut socket = rig.socket().await;
    let over_socket = json!({ "session": session, "content": "hello", "key": "k1" });
    assert_eq!(socket.call("prompt", over_socket).await, Ok(first), "over the socket too");
    assert!(matches!(rig.command().await, AgentCommand::Prompt { text, .. } if text == "hello"));
    assert!(rig.left().is_empty(), "the agent hears it once");
}

#[tokio::test]
async fn parts_bring_words_and_attachments() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let parts = json!({ "content": [
        { "type": "text", "text": "what is on" },
        { "type": "attachment", "name": "a.png", "mediaType": "image/png", "data": "AAAA" },
        { "type": "attachment", "mediaType": "text/plain", "path": "/w/notes" },
        { "type": "text", "text": "these?" },
    ] });
    let place = format!("/api/v1/sessions/{session}/prompts");
    rig.call("POST", &place).json(&parts).send().await.ok(202);
    let AgentCommand::Prompt { text, attachments, .. } = rig.command().await else { panic!("no prompt") };
    assert_eq!(text, "what is on\nthese?");
    assert_eq!(attachments[0].source, AttachmentSource::Data("AAAA".to_owned()));
    assert_eq!(attachments[1].source, AttachmentSource::Path("/w/notes".to_owned()));

    let asked = json!({ "agent": "plain", "cwd": "/w" });
    let plain = rig.call("POST", "/api/v1/sessions").json(&asked).send().await.ok(201);
    let place = format!("/api/v1/sessions/{}/prompts", plain["sessionId"].as_str().unwrap());
    assert_eq!(
        rig.call("POST", &place).json(&parts).send().await.problem(),
        (422, "not_supported".to_owned())
    );
}

#[tokio::test]
async fn what_is_no_prompt_is_refused_with_its_reason() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let place = format!("/api/v1/sessions/{session}/prompts");
    for content in [json!(""), json!(" \n"), json!([]), json!([{ "type": "text", "text": "" }])] {
        let reply = rig.call("POST", &place).json(&json!({ "content": content })).send().await;
        assert_eq!(reply.problem(), (422, "empty_prompt".to_owned()), "{content}");
    }
    for (body, says) in [
        ("{\"content\":\"a\"", "EOF"),
        ("", "EOF"),
        ("{}", "missing field `content`"),
        ("{\"content\":\"a\",\"wenn\":\"steer\"}", "unknown field `wenn`"),
        ("{\"content\":\"a\",\"when\":\"later\"}", "unknown variant `later`"),
        ("{\"content\":7}", "`content` is a text, or a list of"),
        ("{\"content\":[{\"type\":\"video\"}]}", "`content` is a text, or a list of"),
        ("{\"content\":\"a\",\"key\":\"\"}", "`key` is empty"),
        ("\u{0}", "expected value"),
    ] {
        let reply = rig.call("POST", &place).body("application/json", body).send().await;
        assert_eq!(reply.problem(), (400, "invalid_request".to_owned()), "{body}");
        assert!(reply.json()["title"].as_str().unwrap().contains(says), "{body}: {}", reply.text());
    }
    let form = rig.call("POST", &place).body("application/x-www-form-urlencoded", "content=a").send().await;
    assert_eq!(form.problem(), (400, "invalid_request".to_owned()), "no form of a foreign page");
    assert!(rig.left().is_empty(), "the agent heard nothing of it");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_before_it_is_sent() {
    let mut rig = Rig::new().await;
    let session = rig.ready().await;
    let place = format!("/api/v1/sessions/{session}/prompts");
    let announced = rig.call("POST", &place).header("content-type", "application/json");
    let reply = announced.header("content-length", "33554433").send().await;
    assert_eq!(reply.problem(), (413, "too_large".to_owned()));
    assert_eq!(reply.json()["details"]["limit"], 32 << 20);

    // One that does not say how large it is.
    let piece = "x".repeat(1 << 20);
    let mut body = String::new();
    for _ in 0..32 {
        body.push_str(&format!("{:x}\r\n{piece}\r\n", piece.len()));
    }
    // The byte too many is the last one, so that the hub has read all there is when it says no.
    body.push_str("1\r\nx");
    let chunked = rig.call("POST", &place).body("application/json", body);
    let mut chunked = chunked.header("transfer-encoding", "chunked");
    chunked.forget("content-length");
    assert_eq!(chunked.send().await.problem(), (413, "too_large".to_owned()));

    let large = json!({ "content": "y".repeat(20 << 20) });
    rig.call("POST", &place).json(&large).send().await.ok(202);
}

#[tokio::test]
async fn waiting_prompts_are_rewritten_put_in_order_and_taken_back() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let place = format!("/api/v1/sessions/{session}");
    let mut waiting = Vec::new();
    for text in ["one", "two", "three", "four"] {
        let say = rig.call("POST", format!("{place}/prompts")).json(&json!({ "content": text }));
        waiting.push(say.send().await.ok(202)["prompt"].as_str().unwrap().parse::<PromptId>().unwrap());
    }
    let [one, two, three, four] = waiting[..] else { panic!() };
    let edited =
        rig.call("PATCH", format!("{place}/prompts/{two}")).json(&json!({ "text": "zwei" })).send().await;
    assert_eq!(texts(&edited.ok(200)), ["one", "zwei", "three", "four"]);
    let cancelled = rig.call("DELETE", format!("{place}/prompts/{one}")).send().await;
    assert_eq!(texts(&cancelled.ok(200)), ["zwei", "three", "four"]);
    let ordered = rig.call("PATCH", &place).json(&json!({ "queue": [four, three] })).send().await;
    assert_eq!(texts(&ordered.ok(200)), ["four", "three", "zwei"]);

    let gone = rig.call("DELETE", format!("{place}/prompts/{one}")).send().await;
    assert_eq!(gone.problem(), (404, "unknown_prompt".to_owned()));
    let empty =
        rig.call("PATCH", format!("{place}/prompts/{two}")).json(&json!({ "text": " " })).send().await;
    assert_eq!(empty.problem(), (422, "empty_prompt".to_owned()));

    let mut socket = rig.socket().await;
    let edit = json!({ "session": session, "prompt": two, "text": "deux" });
    assert_eq!(texts(&socket.call("editPrompt", edit).await.unwrap()), ["four", "three", "deux"]);
    let cancel = json!({ "session": session, "prompt": two });
    assert_eq!(texts(&socket.call("cancelPrompt", cancel.clone()).await.unwrap()), ["four", "three"]);
    assert_eq!(socket.refused("cancelPrompt", cancel).await, "unknown_prompt");

    rig.finish(session, turn).await;
    assert!(matches!(rig.command().await, AgentCommand::Prompt { text, .. } if text == "four"));
}

#[tokio::test]
async fn a_prompt_steers_or_interrupts_when_it_says_so() {
    let mut rig = Rig::new().await;
    let (session, turn) = rig.working().await;
    let place = format!("/api/v1/sessions/{session}/prompts");
    let steer = json!({ "content": "not there", "when": "steer" });
    let steered = rig.call("POST", &place).json(&steer).send().await.ok(202);
    assert_eq!(steered["turn"], json!(turn));
    assert!(matches!(rig.command().await, AgentCommand::Steer { text, .. } if text == "not there"));
    let stop = json!({ "content": "stop, rather this", "when": "interrupt" });
    rig.call("POST", &place).json(&stop).send().await.ok(202);
    assert_eq!(rig.command().await, AgentCommand::Interrupt { turn });
}

#[tokio::test]
async fn a_full_queue_says_so() {
    let mut rig = Rig::new().await;
    let (session, _) = rig.working().await;
    let place = format!("/api/v1/sessions/{session}/prompts");
    let mut socket = rig.socket().await;
    for n in 0..100 {
        let say = json!({ "session": session, "content": format!("prompt {n}") });
        socket.call("prompt", say).await.unwrap();
    }
    let one_more = rig.call("POST", &place).json(&json!({ "content": "one more" })).send().await;
    assert_eq!(one_more.problem(), (409, "queue_full".to_owned()));
    assert_eq!(one_more.json()["retry"], true);
}

#[tokio::test]
async fn what_no_agent_can_read_is_refused_before_it_is_in_the_log() {
    let mut rig = Rig::new().await;
    let (session, _) = rig.working().await;
    let attachment = json!({ "type": "attachment", "mediaType": "image/png", "data": "!!!" });
    let prompt = json!({ "content": [attachment] });
    let sent = rig.call("POST", format!("/api/v1/sessions/{session}/prompts")).json(&prompt).send().await;
    assert_eq!(sent.problem(), (400, "invalid_request".to_owned()));
    let open = json!({ "agent": "codex", "cwd": "/w", "prompt": prompt["content"] });
    let opened = rig.call("POST", "/api/v1/sessions").json(&open).send().await;
    assert_eq!(opened.problem(), (400, "invalid_request".to_owned()));
    assert_eq!(
        rig.call("GET", "/api/v1/sessions").send().await.ok(200)["sessions"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn a_prompt_has_one_place_in_the_queue() {
    let mut rig = Rig::new().await;
    let (session, _) = rig.working().await;
    let mut socket = rig.socket().await;
    let waits = socket.call("prompt", json!({ "session": session, "content": "later" })).await.unwrap();
    let twice = json!({ "queue": [waits["prompt"], waits["prompt"]] });
    let ordered = rig.call("PATCH", format!("/api/v1/sessions/{session}")).json(&twice).send().await;
    assert_eq!(ordered.problem(), (400, "invalid_request".to_owned()));
}

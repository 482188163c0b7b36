//! The chunks protocol with real agents: what its front end does, from the first message to a hub that was killed.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::rig::{Rig, TOKEN, WITHIN};

/// A front end with one conversation.
struct FrontEnd<'a> {
    rig: &'a Rig,
    client: reqwest::Client,
    conversation: String,
}

/// An answer as it comes.
struct Answer {
    response: reqwest::Response,
    text: String,
}

impl Answer {
    /// Everything so far, once these words are in it.
    async fn until(&mut self, words: &str) {
        let waiting = async {
            while !self.text.contains(words) {
                let piece = self.response.chunk().await.unwrap().expect("the body ended early");
                self.text.push_str(std::str::from_utf8(&piece).unwrap());
            }
        };
        tokio::time::timeout(WITHIN, waiting).await.unwrap_or_else(|_| panic!("no `{words}`: {}", self.text));
    }

    /// All objects, once the body has ended.
    async fn end(mut self) -> Vec<Value> {
        let waiting = async {
            while let Some(piece) = self.response.chunk().await.unwrap() {
                self.text.push_str(std::str::from_utf8(&piece).unwrap());
            }
        };
        tokio::time::timeout(WITHIN, waiting).await.expect("the body does not end");
        serde_json::Deserializer::from_str(&self.text).into_iter().map(Result::unwrap).collect()
    }
}

fn said(objects: &[Value]) -> String {
    objects.iter().map(|object| object["message"].as_str().unwrap()).collect()
}

fn events(objects: &[Value]) -> Vec<&str> {
    let calls = objects.iter().flat_map(|object| object["tool_calls"].as_array().unwrap());
    calls
        .filter(|call| call["stream_part"].is_null())
        .map(|call| call["event_type"].as_str().unwrap())
        .collect()
}

impl<'a> FrontEnd<'a> {
    async fn open(rig: &'a Rig, agent: &str) -> Self {
        let mut front = Self {
            rig,
            client: longshore_models::http::client(WITHIN).build().unwrap(),
            conversation: String::new(),
        };
        let body = json!({
            "user_id": "u", "title": "Untitled", "status": "active", "project_ids": [rig.work()], "agent_ids": [agent],
        });
        let made = front.request(Method::POST, "?hidden=true").json(&body).send().await.unwrap();
        let made: Value = made.error_for_status().unwrap().json().await.unwrap();
        front.conversation = format!("/{}", made["conversation_id"].as_str().unwrap());
        front
    }

    fn request(&self, method: Method, rest: &str) -> reqwest::RequestBuilder {
        let url =
            format!("{}/with-token/{TOKEN}/api/v1/conversations{}{rest}", self.rig.url, self.conversation);
        self.client.request(method, url)
    }

    async fn get(&self, rest: &str) -> (StatusCode, Value) {
        let response = self.request(Method::GET, rest).send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    /// A message, as a browser sends it: it asks first whether something runs.
    async fn send(&self, text: &str, name: &str) -> Answer {
        assert_eq!(self.get("/active-session").await.0, StatusCode::NOT_FOUND);
        self.message(text, name).await
    }

    async fn message(&self, text: &str, name: &str) -> Answer {
        let body = format!(
            "--B\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\n{text}\r\n--B\r\n\
             Content-Disposition: form-data; name=\"node_ids\"\r\n\r\n[]\r\n--B--\r\n"
        );
        let request = self.request(Method::POST, &format!("/message?stream=true&session_id={name}"));
        let request = request.header("content-type", "multipart/form-data; boundary=B").body(body);
        let response = request.send().await.unwrap().error_for_status().unwrap();
        Answer { response, text: String::new() }
    }

    async fn resume(&self, name: &str) -> Answer {
        let request = self.request(Method::POST, &format!("/resume/{name}?cursor=0-0"));
        let response = request.send().await.unwrap().error_for_status().unwrap();
        Answer { response, text: String::new() }
    }

    async fn history(&self) -> Vec<(String, String)> {
        let (_, all) = self.get("/messages?start=0&limit=1000").await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        all.as_array().unwrap().iter().map(|one| (text(&one["type"]), text(&one["content"]))).collect()
    }

    /// Somebody else allows what waits.
    async fn allow(&self) {
        let mut client = self.rig.client().await;
        let waiting: Value = client.call("approvals", json!({})).await.unwrap();
        let approval = &waiting["approvals"][0]["approval"];
        let decide = json!({ "approval": approval, "decision": "allow_once" });
        let _: Value = client.call("decide", decide).await.unwrap();
    }
}

#[tokio::test]
async fn a_front_end_talks_to_codex_over_a_hub_that_is_killed() {
    let run = json!({ "call": "exec_command", "args": { "cmd": "echo made > made && cat made", "yield_time_ms": 30_000 } });
    let slow = json!({ "say": "a word at a time, and then another one", "chunks": 400, "delay_ms": 300 });
    let mut rig = Rig::with(json!([
        { "do": [{ "reason": "Thinking about hello" }, { "say": "Hello from the script.", "chunks": 4, "delay_ms": 5 }] },
        { "do": [run] },
        { "do": [{ "say": "It is made." }] },
        { "do": [slow] },
        { "do": [slow] },
        { "do": [{ "say": "Here again." }] },
    ]))
    .await;
    let conversation;
    {
        let front = FrontEnd::open(&rig, "codex").await;
        let first = front.send("hi", "conversation:current_user_id:1").await.end().await;
        assert_eq!(said(&first), "Hello from the script.");
        let thoughts: String = first.iter().filter_map(|object| object["thinking"].as_str()).collect();
        assert_eq!(thoughts, "Thinking about hello");

        let mut second = front.send("make it", "conversation:current_user_id:2").await;
        second.until("waits for an approval").await;
        let (_, active) = front.get("/active-session").await;
        assert_eq!(active["sessionId"], "conversation:current_user_id:2");
        let resumed = front.resume("conversation:current_user_id:2").await;
        front.allow().await;
        let (second, resumed) = (second.end().await, resumed.end().await);
        assert_eq!(said(&second), said(&resumed));
        assert!(
            said(&second).contains("echo made > made") && said(&second).ends_with("It is made."),
            "{second:?}"
        );
        let events = events(&second);
        assert_eq!((events.first(), events.last()), (Some(&"call"), Some(&"result")), "{second:?}");
        assert!(rig.work().join("made").exists());

        let mut third = front.send("slowly", "conversation:current_user_id:3").await;
        third.until("a").await;
        third.until("\"message\":\"a").await;
        let stop = front.request(Method::POST, "/stop").json(&json!({})).send().await.unwrap();
        assert_eq!(stop.status(), StatusCode::OK);
        assert!(said(&third.end().await).ends_with("*The turn was stopped.*"));
        let history = front.history().await;
        let kinds: Vec<&str> = history.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds, ["HUMAN", "AI_GENERATED"].repeat(3), "{history:?}");

        let mut fourth = front.send("slowly again", "conversation:current_user_id:4").await;
        fourth.until("\"message\":\"a").await;
        conversation = front.conversation.clone();
    }
    rig.kill().await;
    rig.start().await;
    let front =
        FrontEnd { rig: &rig, client: longshore_models::http::client(WITHIN).build().unwrap(), conversation };
    // The client sends the same again: it gets the turn that was cut, and the agent no second prompt.
    let again = front.message("slowly again", "conversation:current_user_id:4").await.end().await;
    assert!(said(&again).starts_with('a'), "{again:?}");
    assert_eq!(front.history().await.len(), 8, "no message was sent twice");
    let last = front.send("and now?", "conversation:current_user_id:5").await.end().await;
    assert_eq!(said(&last), "Here again.");
    let log = std::fs::read_to_string(rig.hub_log()).unwrap();
    assert!(!log.contains(TOKEN), "the token of the path is in no log");
}

#[tokio::test]
async fn a_front_end_talks_to_claude() {
    let rig = Rig::with(json!([
        { "do": [{ "call": "Bash", "args": { "command": "echo made > made", "description": "make it" } }] },
        { "do": [{ "say": "It is made.", "chunks": 3, "delay_ms": 5 }] },
    ]))
    .await;
    let front = FrontEnd::open(&rig, "claude").await;
    let mut answer = front.send("make it", "conversation:current_user_id:1").await;
    answer.until("waits for an approval").await;
    front.allow().await;
    let objects = answer.end().await;
    assert!(said(&objects).ends_with("It is made."), "{objects:?}");
    assert_eq!(events(&objects).last(), Some(&"result"), "{objects:?}");
    assert!(rig.work().join("made").exists());
    assert_eq!(front.history().await.len(), 2);
}

//! An agent that is a server for all sessions, and a driver for it that does what it is told.

use std::net::SocketAddr;
use std::sync::Arc;

use longshore_drivers::discover::{AgentSettings, Finding, Surroundings};
use longshore_drivers::spec::{Agent, AgentSpec, Channel, Invocation, Purpose, Server};
use longshore_model::anchor::{AgentQuestion, Answer};
use longshore_model::capability::{Capabilities, ModelInfo};
use longshore_model::command::AgentCommand;
use longshore_model::driver::{Driver, Http, Input, Method, Output, Request, Response};
use longshore_model::event::{Body, Draft};
use longshore_model::id::{Context, QueryId, SessionId};
use longshore_model::lifecycle::Ready;
use longshore_model::time::Timestamp;

use super::{Rig, example};

impl Rig {
    /// An anchor whose agent `fake` is a server.
    pub(crate) fn server(change: impl FnOnce(&mut longshore_drivers::anchor::AnchorConfig)) -> Self {
        Self::with(serde_json::Value::Null, 64, |config| {
            let path = Some(example("fake-server"));
            let settings = AgentSettings { path, ..AgentSettings::default() };
            config.settings.insert("fake".to_owned(), settings);
            config.agents = vec![Arc::new(FakeServer) as Agent];
            change(config);
        })
    }
}

#[derive(Debug)]
struct FakeServer;

impl AgentSpec for FakeServer {
    fn name(&self) -> &str {
        "fake"
    }

    fn title(&self) -> &str {
        "Fake"
    }

    fn install(&self) -> &str {
        "make fake"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn find(&self, settings: &AgentSettings, _: &Surroundings) -> Finding {
        Finding { path: settings.path.clone(), remark: None }
    }

    fn invocation(&self, purpose: Purpose<'_>) -> Invocation {
        assert!(matches!(purpose, Purpose::Machine), "{purpose:?}");
        Invocation::default()
    }

    fn channel(&self, _: &AgentSettings) -> Channel {
        Channel::Http(Server {
            user: "fake",
            password: "FAKE_PASSWORD",
            listening,
            events: "/events",
            says_nothing: |message| message == "nothing",
        })
    }

    fn shared(&self) -> bool {
        true
    }

    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Switchboard::default())
    }
}

fn listening(line: &str) -> Option<SocketAddr> {
    line.strip_prefix("fake server listening on http://")?.parse().ok()
}

/// Asks what prompts say, as in `POST /say hello`, and says every answer and event to all sessions. A prompt `end`
/// ends its session; `later ...` is a request that may take as long as it takes.
#[derive(Default)]
struct Switchboard {
    sessions: Vec<SessionId>,
    asked: Option<QueryId>,
    requests: u64,
}

impl Switchboard {
    fn say(&self, text: &str, out: &mut Output) {
        for session in &self.sessions {
            out.say(*session, Draft::new(Body::MessageDelta).text(text));
        }
    }

    fn request(&mut self, session: Option<SessionId>, words: &str, out: &mut Output) {
        let (patient, words) = match words.strip_prefix("later ") {
            Some(words) => (true, words),
            None => (false, words),
        };
        let mut words = words.splitn(3, ' ');
        let method = match words.next() {
            Some("POST") => Method::Post,
            _ => Method::Get,
        };
        let path = words.next().unwrap_or("/").to_owned();
        self.requests += 1;
        let body = words.next().map(str::to_owned);
        out.requests.push(Request { id: self.requests, session, method, path, body, patient });
    }
}

impl Driver for Switchboard {
    fn handle(&mut self, input: Input, _: &mut Context<'_>, out: &mut Output) {
        match input {
            Input::Open(launch) => {
                self.sessions.push(launch.session);
                let ready =
                    Ready { native: Some("n".to_owned()), version: None, model: None, transcript: None };
                out.say(launch.session, Draft::new(Body::SessionReady(ready)));
            }
            Input::Ask { id, query } => {
                self.asked = Some(id);
                assert!(matches!(query, AgentQuestion::Models(_)));
                self.request(None, "GET /models", out);
            }
            Input::Line(raw) => assert!(listening(&raw).is_some()),
            Input::Garbled { fault, .. } => self.say(&format!("garbled {fault:?}"), out),
            Input::Tell { session, command: AgentCommand::Prompt { text, .. } } => match text.as_str() {
                "end" => out.ended.push((session, "it had enough".to_owned())),
                "finish" => out.finished = Some("all had enough".to_owned()),
                words => self.request(Some(session), words, out),
            },
            Input::Tell { .. } | Input::WorkDone { .. } | Input::Ended { .. } | Input::Tick => {}
            Input::Http(Http::Connected) => self.say("connected", out),
            Input::Http(Http::Disconnected) => self.say("disconnected", out),
            Input::Http(Http::Event(raw)) => self.say(&format!("event {raw}"), out),
            Input::Http(Http::Response { result, .. }) => {
                let text = match result {
                    Ok(Response { status, body }) => {
                        format!("{status} {}", body.chars().take(40).collect::<String>())
                    }
                    Err(why) => why,
                };
                if let Some(id) = self.asked.take() {
                    let model = ModelInfo {
                        id: text,
                        title: String::new(),
                        description: String::new(),
                        default: true,
                        efforts: Vec::new(),
                    };
                    return out.answers.push((id, Ok(Answer::Models(vec![model]))));
                }
                self.say(&text, out);
            }
            Input::Close { session } => self.sessions.retain(|open| *open != session),
        }
    }

    fn deadline(&self) -> Option<Timestamp> {
        None
    }
}

//! Whole sessions, cut at every event: what the app has by then is legal, and in the end it has everything once.

use longshore_model::event::Event;
use longshore_model::id::Seq;
use longshore_model::info::SessionInfo;
use longshore_model::time::Timestamp;
use longshore_model::timeline::{Content, Timeline};
use serde_json::{Value, json};

use self::app::App;
use super::{MissedEvents, frames_of, history, open_permissions, snapshot, withdraws};
use crate::mobile::wire::ServerFrame;

#[path = "../../../tests/mobile/app.rs"]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod app;

const VECTORS: [(&str, &str); 7] = [
    ("asked", include_str!("../../../../longshore-model/tests/vectors/asked.json")),
    ("cut", include_str!("../../../../longshore-model/tests/vectors/cut.json")),
    ("edited", include_str!("../../../../longshore-model/tests/vectors/edited.json")),
    ("plain", include_str!("../../../../longshore-model/tests/vectors/plain.json")),
    ("retried", include_str!("../../../../longshore-model/tests/vectors/retried.json")),
    ("shared", include_str!("../../../../longshore-model/tests/vectors/shared.json")),
    ("tool", include_str!("../../../../longshore-model/tests/vectors/tool.json")),
];

fn events_of(vector: &str) -> Vec<Event> {
    let vector: Value = serde_json::from_str(vector).unwrap();
    serde_json::from_value(vector["events"].clone()).unwrap()
}

fn info_of(events: &[Event]) -> SessionInfo {
    let at = json!(Timestamp::from_micros(1));
    serde_json::from_value(json!({
        "provider": "codex", "sessionId": events[0].session, "title": "", "status": "idle", "createdAt": at,
        "updatedAt": at, "activity": "idle", "cwd": "/w", "mode": "ask", "capabilities": {}, "head": 1, "usage": {},
        "archived": false,
    }))
    .unwrap()
}

/// An app, and all that it is sent.
struct AppStage {
    app: App,
    info: SessionInfo,
    timeline: Timeline,
}

impl AppStage {
    fn take(&mut self, frame: &ServerFrame) {
        self.app.take(&serde_json::from_str(&frame.to_text(Timestamp::from_micros(1))).unwrap());
    }

    /// An app that had the history up to this event.
    fn with_history(events: &[Event], end: usize) -> Self {
        let (info, now) = (info_of(events), Timeline::of(events));
        let seq = end.checked_sub(1).map_or(Seq::ZERO, |last| events[last].seq);
        let mut missed = MissedEvents::default();
        events[end..].iter().for_each(|event| missed.take(event));
        let timeline = now.begun_by(seq);
        let mut sent = Self { app: App::default(), info, timeline };
        let agents = vec![snapshot(&sent.info)];
        let agent_id = sent.info.session_id.to_string();
        sent.take(&ServerFrame::Connected { device_id: "d".to_owned(), agents, server_signature: None });
        let messages = history(&sent.info, &sent.timeline, &missed);
        let pending_permissions = open_permissions(&now, "codex");
        sent.take(&ServerFrame::AgentHistory { agent_id, messages, pending_permissions });
        sent
    }

    fn live(&mut self, event: &Event, is_missed: bool) {
        let change = self.timeline.apply(event);
        for frame in frames_of(&self.info, event, change, is_missed) {
            self.take(&frame);
        }
        if withdraws(event) && !is_missed {
            let pending_permissions = open_permissions(&self.timeline, "codex");
            let agent_id = self.info.session_id.to_string();
            self.take(&ServerFrame::AgentHistory { agent_id, messages: Vec::new(), pending_permissions });
        }
    }

    fn agent(&self) -> &app::AppAgent {
        self.app.agent(&self.info.session_id.to_string())
    }
}

/// What the app must have of a session, once each.
fn expected(timeline: &Timeline) -> Vec<String> {
    let mut all = Vec::new();
    for item in &timeline.items {
        let has_ended = item.ended_at.is_some() && !item.text.is_empty();
        if matches!(item.content, Content::UserMessage { .. }) {
            all.push(format!("user: {}", item.text));
        } else if matches!(item.content, Content::Message { .. }) && has_ended {
            all.push(format!("assistant: {}", item.text));
        } else if matches!(item.content, Content::Reasoning { .. }) && has_ended {
            all.push(format!("thinking: {}", item.text));
        }
    }
    all
}

fn cards(timeline: &Timeline) -> usize {
    let is_card = |content: &Content| {
        matches!(
            content,
            Content::Tool { .. }
                | Content::Diff { .. }
                | Content::Plan { .. }
                | Content::Question { .. }
                | Content::Delegation { .. }
        )
    };
    timeline.items.iter().filter(|item| is_card(&item.content)).count()
}

#[test]
fn wherever_a_history_ends_the_app_has_everything_once() {
    for (name, vector) in VECTORS {
        let events = events_of(vector);
        let whole = Timeline::of(&events);
        for end in 0..=events.len() {
            let mut sent = AppStage::with_history(&events, end);
            events[end..].iter().for_each(|event| sent.live(event, true));
            let said = sent.agent().said();
            for words in expected(&whole) {
                let wanted = expected(&whole).iter().filter(|other| **other == words).count();
                let times = said.iter().filter(|said| **said == words).count();
                assert_eq!(times, wanted, "{name}, cut at {end}: {words} in {said:#?}");
            }
            let shown = said.iter().filter(|said| said.starts_with("tool: ")).count();
            assert_eq!(shown, cards(&whole), "{name}, cut at {end}: {said:#?}");
            let waits = open_permissions(&whole, "codex").len();
            assert_eq!(sent.agent().asked.len(), waits, "{name}, cut at {end}");
        }
    }
}

#[test]
fn whatever_happened_so_far_the_app_can_show_it() {
    for (name, vector) in VECTORS {
        let events = events_of(vector);
        let mut sent = AppStage::with_history(&events[..1], 1);
        for (at, event) in events.iter().enumerate().skip(1) {
            sent.live(event, false);
            let now = Timeline::of(&events[..=at]);
            let (agent, open) = (sent.agent(), open_permissions(&now, "codex"));
            assert_eq!(agent.asked.len(), open.len(), "{name} after {at}");
            let growing = now
                .items
                .iter()
                .any(|item| item.ended_at.is_none() && matches!(item.content, Content::Message { .. }));
            assert!(agent.bubble.is_empty() || growing, "{name} after {at}: {}", agent.bubble);
            let ended = |item: &&longshore_model::timeline::Item| item.ended_at.is_none();
            assert!(agent.running() <= now.items.iter().filter(ended).count(), "{name} after {at}");
        }
    }
}

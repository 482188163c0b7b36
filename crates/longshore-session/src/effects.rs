//! Carries out the effects of a session, once its events are durable.

use std::sync::Arc;

use longshore_model::anchor::{Launch, Start, ToAnchor};
use longshore_model::session::Effect;
use tracing::warn;

use crate::actor::{Actor, AgentHere};
use crate::agent_memory::lines_of;
use crate::hub::Hub;
use crate::transcript::story_of;

impl Actor {
    pub(crate) async fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Launch(launch) => self.launch(launch).await,
            Effect::LaunchFromLog(mut launch) => {
                let running = self.session.as_ref().and_then(|session| session.turn());
                match story_of(&*self.hub.journal, self.id, running).await {
                    Ok(story) => launch.start = story.map_or(Start::New, |story| Start::Told { story }),
                    Err(error) => warn!(session = %self.id, %error, "cannot read the story back"),
                }
                self.launch(launch).await;
            }
            Effect::LaunchFromLines(mut launch) => {
                match lines_of(&*self.hub.journal, self.id).await {
                    Ok(lines) if lines.is_empty() => launch.start = Start::New,
                    Ok(lines) => launch.start = Start::Lines { lines },
                    Err(error) => warn!(session = %self.id, %error, "cannot read the lines back"),
                }
                self.launch(launch).await;
            }
            Effect::Tell(command) => self.hub.to_anchor(ToAnchor::Tell { session: self.id, command }).await,
            Effect::Stop => self.hub.to_anchor(ToAnchor::Stop { session: self.id }).await,
            Effect::FollowRecord => {
                let hub = Hub { inner: Arc::clone(&self.hub) };
                let session = self.id;
                // On a task of its own: this session must be free to answer where it stands.
                tokio::spawn(async move { hub.follow_record(session).await });
            }
            Effect::LookAtGit => {
                if let Some(session) = &self.session {
                    self.hub.look_at_git(self.id, session.cwd().to_owned());
                }
            }
        }
    }

    async fn launch(&mut self, mut launch: Launch) {
        self.agent = AgentHere::Yes;
        let parent = self.session.as_ref().and_then(|session| session.parent());
        launch.deepest = self.hub.is_deepest(parent).await;
        self.hub.to_anchor(ToAnchor::Open(launch)).await;
    }
}

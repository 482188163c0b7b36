//! The input of a person who watches: prompts, and commands behind a slash.

use anyhow::Result;
use longshore_model::capability::{Mode, ModelInfo};
use longshore_model::id::{PromptId, TurnId};
use longshore_model::info::SessionInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Echo, Live, TypedPrompt, Until};
use crate::cli::responder::Responder;
use crate::cli::set;
use crate::cli::slash::{self, Slash};
use crate::render::human::plural;
use crate::render::{clean, fitted, held, remark};

#[derive(Deserialize)]
struct SentPromptReply {
    prompt: PromptId,
    turn: TurnId,
}

impl Live {
    /// A line: a command, an answer when something waits, otherwise a prompt. Says whether the person leaves.
    pub(super) async fn line(&mut self, line: &str) -> Result<bool> {
        match &self.hand {
            Responder::Person(_) | Responder::Elsewhere => self.screen.typed(line)?,
            Responder::Itself { .. } => self.screen.answered(line)?,
        }
        self.interrupted = false;
        let slash = match self.until {
            Until::Left => slash::parse(line, &self.commands),
            Until::Turn(_) => Slash::Words(line.to_owned()),
        };
        match slash {
            Slash::Quit => return Ok(true),
            Slash::Words(words) => {
                if self.answered(&words).await? || words.trim().is_empty() || self.until != Until::Left {
                    return Ok(false);
                }
                let in_place = self.screen.has_line() && self.turn.is_none();
                self.say(&words, "queue", if in_place { Echo::InPlace } else { Echo::Above }).await?;
            }
            Slash::Wrong(_) if !self.asks.is_empty() && self.answered(line).await? => {}
            Slash::Wrong(why) => self.note(&why)?,
            Slash::Help => {
                for line in slash::help(&self.commands) {
                    self.tell(&format!("  {line}"))?;
                }
            }
            Slash::Stop => self.stop().await?,
            Slash::Steer(words) => self.say(&words, "steer", Echo::Above).await?,
            Slash::Now(words) => self.say(&words, "interrupt", Echo::Above).await?,
            Slash::Queue => self.queue().await?,
            Slash::Send => self.send_held().await?,
            Slash::Discard => self.send_command("discardQueue", json!({})).await?,
            Slash::Mode(Some(mode)) => self.send_command("update", json!({ "mode": mode })).await?,
            Slash::Mode(None) => {
                let modes: Vec<String> =
                    self.before.capabilities.modes.iter().map(ToString::to_string).collect();
                self.note(&format!("mode: {}; possible: {}", self.mode, modes.join(", ")))?;
            }
            Slash::Model(Some(model)) => self.send_command("update", json!({ "model": model })).await?,
            Slash::Model(None) => self.models().await?,
            Slash::Effort(effort) => self.effort(effort).await?,
            Slash::Resume => self.send_command("resume", json!({})).await?,
        }
        if !self.asks.is_empty() && !self.screen.is_asking() {
            self.ask_person()?;
        }
        Ok(false)
    }

    /// Says something to the agent, and keeps in mind where the screen shows it.
    pub(super) async fn say(&mut self, words: &str, when: &str, echo: Echo) -> Result<()> {
        let params = json!({ "session": self.session, "content": words, "when": when });
        match self.client.call::<SentPromptReply>("prompt", params).await {
            Ok(SentPromptReply { prompt, turn }) => {
                self.said.push(TypedPrompt { prompt, turn, echo });
                Ok(())
            }
            refused => self.told_of(refused),
        }
    }

    pub(super) async fn stop(&mut self) -> Result<()> {
        if self.turn.is_some() {
            self.client.send("interrupt", json!({ "session": self.session })).await?;
        }
        Ok(())
    }

    /// The next of the agent's modes. Not to ask any more is no key's business.
    pub(super) async fn next_mode(&mut self) -> Result<()> {
        let modes: Vec<Mode> =
            self.before.capabilities.modes.iter().copied().filter(|mode| *mode != Mode::Full).collect();
        let at = modes.iter().position(|mode| *mode == self.mode);
        let next = at.map_or(0, |at| (at + 1) % modes.len().max(1));
        match modes.get(next) {
            Some(mode) if *mode != self.mode => self.send_command("update", json!({ "mode": mode })).await,
            Some(_) | None => self.note("this agent has no other mode"),
        }
    }

    /// Sends a command to the session. An event shows its effect.
    async fn send_command(&mut self, method: &str, mut params: Value) -> Result<()> {
        params["session"] = json!(self.session);
        let done = self.client.call::<Value>(method, params).await;
        self.told_of(done)
    }

    async fn info(&mut self) -> Result<SessionInfo> {
        self.client.call("session", json!({ "session": self.session })).await
    }

    async fn send_held(&mut self) -> Result<()> {
        match held(&self.info().await?) {
            0 => self.note("no prompt is held"),
            _ => self.send_command("sendQueued", json!({ "all": true })).await,
        }
    }

    async fn queue(&mut self) -> Result<()> {
        let info = self.info().await?;
        if info.queue.is_empty() {
            return self.note("no prompt is queued");
        }
        for (at, prompt) in info.queue.iter().enumerate() {
            let mark = if prompt.held { "[held] " } else { "" };
            self.note(&format!("{}. {mark}{}", at + 1, prompt.text))?;
        }
        match held(&info) {
            0 => Ok(()),
            _ => self.note("the turn was stopped: /send sends every held prompt, /discard empties the queue"),
        }
    }

    async fn effort(&mut self, effort: Option<String>) -> Result<()> {
        if let Some(effort) = effort {
            return self.send_command("update", json!({ "effort": effort })).await;
        }
        let info = self.info().await?;
        let models = set::models(&mut self.client, &info.provider).await.unwrap_or_default();
        let now = info.effort.as_deref().unwrap_or("default");
        let efforts = ModelInfo::efforts_of(&models, info.model.as_deref()).join(", ");
        self.note(&match efforts.is_empty() {
            true => format!("effort: {now}"),
            false => format!("effort: {now}; possible: {efforts}"),
        })
    }

    async fn models(&mut self) -> Result<()> {
        let info = self.info().await?;
        let models = set::models(&mut self.client, &info.provider).await.unwrap_or_default();
        self.note(&format!("model: {}", info.model.as_deref().unwrap_or("default")))?;
        for model in models {
            self.note(&format!("/model {}   {}", model.id, model.title))?;
        }
        Ok(())
    }

    /// Says something in lines that fit.
    pub(super) fn tell(&mut self, text: &str) -> Result<()> {
        Ok(self.screen.print(&format!("{}\n", fitted(text, self.screen.style.width)))?)
    }

    fn note(&mut self, text: &str) -> Result<()> {
        Ok(self.screen.print(&remark(text, &self.screen.style))?)
    }

    /// What stands over the line while nothing goes on.
    pub(super) fn at_rest(&self) -> String {
        let queued = match self.said.len() {
            0 => String::new(),
            many => format!(" · {}", plural(many, "prompt")),
        };
        let agent = clean::clean(&self.before.provider).into_owned();
        let text = format!("{agent} · mode {}{queued} · /help", self.mode);
        crate::render::dimmed(&text, &self.screen.style)
    }
}

//! The results of `longshore verify` in the data folder, and what they say about the installed agents.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use longshore_drivers::discover::{AgentAnnotations, NEWER_THAN};
use longshore_model::capability::{AgentInfo, Verified};
use longshore_model::time::Timestamp;

use super::private;
use crate::config::Places;
use crate::render::{AgentStanding, human};
use crate::scenario::RecordedAgent;
use crate::small_file;

/// By the name of the agent.
type AllVerified = BTreeMap<String, Verified>;

/// What is remembered. A file that cannot be read says nothing.
fn read(places: &Places) -> AllVerified {
    let text = small_file::read_text(&places.verified()).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Remembers what was found of an agent.
pub(super) fn remember(places: &Places, agent: &str, verified: Verified) -> Result<()> {
    let mut all = read(places);
    all.insert(agent.to_owned(), verified);
    let path = places.verified();
    let written = private::put(&path, serde_json::to_string_pretty(&all)?.as_bytes());
    written.with_context(|| format!("cannot save the result in {}", path.display()))
}

/// What is to be told of each agent that is here, by its name. Of one that is of the very version that was recorded, and
/// that nobody has verified, there is nothing to tell.
pub(super) fn standings(agents: &[AgentInfo], now: Timestamp) -> BTreeMap<String, AgentStanding> {
    let here = agents.iter().filter(|agent| agent.path.is_some());
    here.filter_map(|agent| Some((agent.name.to_string(), standing(agent, now)?))).collect()
}

fn standing(agent: &AgentInfo, now: Timestamp) -> Option<AgentStanding> {
    let version = agent.version.as_deref().unwrap_or("an unknown version");
    let again = format!("run `longshore verify {}`", agent.name);
    let Some(verified) = &agent.verified else {
        let is_same =
            |recorded: RecordedAgent| recorded.version.is_none_or(|then| Some(then) == agent.version);
        let recorded = RecordedAgent::of(&agent.name).is_some_and(is_same);
        return (!recorded)
            .then(|| AgentStanding { good: false, text: format!("{version} was never verified: {again}") });
    };
    let when = human::ago(now.millis_since(verified.at));
    if verified.version != agent.version {
        let before = verified.version.as_deref().unwrap_or("another version");
        let text = format!("{version} was never verified, only {before}, {when}: {again}");
        return Some(AgentStanding { good: false, text });
    }
    let found = match (verified.differs.is_empty(), verified.compared == verified.played) {
        (true, true) => "all as recorded".to_owned(),
        (true, false) => format!(
            "all {} scenarios work, {} were compared with a recording",
            verified.played, verified.compared
        ),
        (false, _) => format!("differs: {}; {again}", verified.differs.join(", ")),
    };
    let good = verified.differs.is_empty();
    Some(AgentStanding { good, text: format!("verified with {version}, {when}: {found}") })
}

/// Has a hub tell what was verified, and keeps it from warning everybody of a version that does all that is expected of it.
pub(super) fn annotations(places: Places) -> AgentAnnotations {
    AgentAnnotations::by(move |agents| tell(agents, read(&places)))
}

fn tell(agents: &mut [AgentInfo], mut all: AllVerified) {
    for agent in agents {
        agent.verified = all.remove(&*agent.name);
        let sound = |found: &Verified| found.version == agent.version && found.differs.is_empty();
        if agent.verified.as_ref().is_some_and(sound) {
            agent.remark = agent.remark.take().filter(|remark| !is_about_version(remark));
        }
    }
}

/// Whether a remark says no more than that a version is newer than those that were tested. Who has verified it knows more.
pub(super) fn is_about_version(remark: &str) -> bool {
    remark.contains(NEWER_THAN)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claude(version: &str) -> AgentInfo {
        let info = json!({
            "name": "claude", "title": "Claude Code", "install": "npm i", "capabilities": {},
            "path": "/bin/claude", "version": version,
        });
        serde_json::from_value(info).unwrap()
    }

    fn verified(differs: &[&str], compared: usize) -> Verified {
        let differs = differs.iter().map(|name| (*name).to_owned()).collect();
        Verified {
            version: Some("2.1.325".to_owned()),
            at: Timestamp::from_micros(0),
            played: 18,
            compared,
            differs,
        }
    }

    #[test]
    fn what_was_verified_is_told_with_its_version_and_its_day() {
        let now = Timestamp::from_micros(3 * 24 * 3_600 * 1_000_000);
        let told = |version: &str, verified: Option<Verified>| {
            let agent = AgentInfo { verified, ..claude(version) };
            standing(&agent, now).map(|standing| (standing.good, standing.text))
        };
        let says = |good: bool, text: &str| Some((good, text.to_owned()));
        assert_eq!(
            told("2.1.325", Some(verified(&[], 18))),
            says(true, "verified with 2.1.325, 3d ago: all as recorded")
        );
        assert_eq!(
            told("2.1.325", Some(verified(&["plan", "edit"], 18))),
            says(false, "verified with 2.1.325, 3d ago: differs: plan, edit; run `longshore verify claude`")
        );
        assert_eq!(
            told("2.1.325", Some(verified(&[], 0))),
            says(
                true,
                "verified with 2.1.325, 3d ago: all 18 scenarios work, 0 were compared with a recording"
            )
        );
        assert_eq!(
            told("2.1.326", Some(verified(&[], 18))),
            says(false, "2.1.326 was never verified, only 2.1.325, 3d ago: run `longshore verify claude`")
        );
        assert_eq!(
            told("2.1.325", None),
            says(false, "2.1.325 was never verified: run `longshore verify claude`")
        );
        let recorded = RecordedAgent::of("claude").unwrap().version.unwrap();
        assert_eq!(told(&recorded, None), None, "this one was recorded");
    }

    #[test]
    fn a_hub_warns_of_a_new_version_until_it_is_verified() {
        let newer = format!("2.1.325{NEWER_THAN}2.1.197");
        let remark = |version: &str, remark: &str, found: Verified| {
            let mut agents = [AgentInfo { remark: Some(remark.to_owned()), ..claude(version) }];
            tell(&mut agents, [("claude".to_owned(), found.clone())].into());
            assert_eq!(agents[0].verified.as_ref(), Some(&found), "whatever was found is told");
            agents[0].remark.take()
        };
        assert_eq!(remark("2.1.325", &newer, verified(&[], 18)), None);
        assert_eq!(remark("2.1.325", &newer, verified(&["plan"], 18)).as_ref(), Some(&newer), "it differs");
        assert_eq!(
            remark("2.1.326", &newer, verified(&[], 18)).as_ref(),
            Some(&newer),
            "that is another one"
        );
        assert!(remark("2.1.325", "it is slow", verified(&[], 18)).is_some(), "that is something else");
    }

    #[test]
    fn it_is_remembered_agent_by_agent() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        assert_eq!(read(&places), AllVerified::default());
        remember(&places, "claude", verified(&["plan"], 18)).unwrap();
        remember(&places, "codex", verified(&[], 18)).unwrap();
        remember(&places, "claude", verified(&[], 18)).unwrap();
        let all = read(&places);
        assert_eq!((all.len(), &all["claude"], &all["codex"]), (2, &verified(&[], 18), &verified(&[], 18)));
        std::fs::write(places.verified(), "{ no json").unwrap();
        assert_eq!(read(&places), AllVerified::default());
    }
}

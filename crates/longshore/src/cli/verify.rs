//! `longshore verify`: plays every scenario with an installed agent, and reports differences from its
//! recording.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use longshore_drivers::discover::{AgentSettings, Surroundings, Versions};
use longshore_drivers::offline::OfflinePlace;
use longshore_drivers::table;
use longshore_model::capability::Verified;
use serde::Serialize;
use serde_json::json;

use super::exit::{Fault, INTERRUPTED};
use super::model::ServiceApi;
use super::terminal::{now, put_line, say};
use super::up::asked_to_stop;
use super::verified;
use crate::config::{Config, Places};
use crate::render::clean::clean;
use crate::scenario::{
    InstalledAgent, Played, RecordedAgent, Scenario, Shape, StagedAgent, WhyNot, differences, scenario,
    scenarios,
};

/// Test an installed agent with every scenario, and report differences from its recorded behaviour.
#[derive(Debug, Args)]
#[command(
    after_help = "The agent needs no account: it runs on a scripted model, in a private home and work tree.\n\
    See docs/verify.md."
)]
pub(super) struct Verify {
    /// The agent, as `longshore agents` names it
    agent: String,
    /// Run only these scenarios
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Compare with this file instead of Longshore's own recording
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Write the agent's behaviour to this file, for a later --expect
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Put Longshore's gateway between the agent and a model that speaks only this API: chat, responses or messages
    #[arg(long, value_enum, value_name = "API", hide_possible_values = true)]
    gateway: Option<ServiceApi>,
}

/// What came of one scenario.
#[derive(Debug, Serialize)]
struct ScenarioResult {
    scenario: String,
    /// None when it was not played.
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_played: Option<String>,
    /// Whether it was compared with a recording.
    compared: bool,
    /// Whether it could be played if somebody said how.
    #[serde(skip)]
    left_out: bool,
    #[serde(skip)]
    shape: Option<Shape>,
    #[serde(skip)]
    version: Option<String>,
}

impl Verify {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        tokio::select! {
            done = self.verify(as_json) => done,
            () = asked_to_stop()? => Ok(ExitCode::from(INTERRUPTED)),
        }
    }

    async fn verify(self, as_json: bool) -> Result<ExitCode> {
        let began = Instant::now();
        let (mut found, below) = find(&self.agent).await?;
        found.gateway = self.gateway.map(Into::into);
        let recorded = self.recorded(&found)?;
        let chosen = self.chosen()?;
        let wide = chosen.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
        let mut rows: Vec<ScenarioResult> = Vec::new();
        let mut staged = StagedAgent::new(&found, &below);
        for scenario in chosen {
            // One that does not even open would be waited for in every scenario.
            let broken = rows.first().is_some_and(|row| row.scenario == "open" && row.shape.is_none());
            let row = match broken.then_some("the agent does not start") {
                Some(why) => ScenarioResult::of(scenario).not_played(why),
                None => play(&mut staged, scenario, recorded.as_ref()).await,
            };
            if !as_json && rows.is_empty() {
                say(self.heading(&found, &row, recorded.as_ref()))?;
            }
            if !as_json && row.not_played.is_none() {
                say(row.text(wide))?;
            }
            // What goes wrong in one scenario is not to spoil the next one.
            if row.ok == Some(false) {
                staged.strike().await;
            }
            rows.push(row);
        }
        staged.strike().await;
        // Others may verify at the same time.
        drop(std::fs::remove_dir(&below));
        if let Some(path) = &self.write {
            write(path, &found, &rows)?;
        }
        let result = Tally::of(&rows);
        if self.scenarios.is_empty()
            && self.expect.is_none()
            && self.gateway.is_none()
            && result.left_out == 0
        {
            let verified = Verified {
                version: found.version.clone(),
                at: now(),
                played: result.played,
                compared: result.compared,
                differs: result.differ.iter().map(|name| (*name).to_owned()).collect(),
            };
            verified::remember(&Places::find()?, found.agent.name(), verified)?;
        }
        let seconds = began.elapsed().as_secs_f64();
        if as_json {
            let version = recorded.as_ref().and_then(|recorded| recorded.version.clone());
            put_line(json!({
                "agent": found.agent.name(), "version": version_of(&found, &rows), "recorded": version,
                "compared_with": recorded.as_ref().map(|recorded| &recorded.agent), "played": result.played,
                "ok": result.is_good(), "seconds": (seconds * 10.0).round() / 10.0, "scenarios": rows,
            }))?;
        } else {
            say(not_played(&found, &rows) + &result.summary(&found, seconds))?;
        }
        Ok(if result.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn recorded(&self, found: &InstalledAgent) -> Result<Option<RecordedAgent>> {
        let Some(path) = &self.expect else { return Ok(found.recorded()) };
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let recorded = RecordedAgent::parse(&text);
        Ok(Some(recorded.with_context(|| {
            format!("{} is not a file that `longshore verify --write` wrote", path.display())
        })?))
    }

    /// Which agent it is, and what it is compared with.
    fn heading(
        &self,
        found: &InstalledAgent,
        first: &ScenarioResult,
        recorded: Option<&RecordedAgent>,
    ) -> String {
        let version = first.version.as_ref().or(found.version.as_ref());
        let version = version.map(|version| format!(" {}", clean(version))).unwrap_or_default();
        let compared = match (&self.expect, recorded) {
            (Some(path), _) => format!("compared with {}", path.display()),
            (None, Some(recorded)) => match (recorded.agent == found.agent.name(), &recorded.version) {
                (true, Some(then)) => format!("recorded with {then}"),
                (true, None) => "as it was recorded".to_owned(),
                (false, Some(then)) => format!("compared with {} {then}, as recorded", recorded.agent),
                (false, None) => format!("compared with {}, as recorded", recorded.agent),
            },
            (None, None) => "never recorded: only the scenarios' own checks apply".to_owned(),
        };
        format!("{}{version}, {compared}", found.agent.title())
    }

    fn chosen(&self) -> Result<Vec<&'static Scenario>> {
        match self.scenarios.is_empty() {
            true => Ok(scenarios().iter().collect()),
            false => self.scenarios.iter().map(|name| named(name)).collect(),
        }
    }
}

/// A scenario of this name.
pub(super) fn named(name: &str) -> Result<&'static Scenario> {
    let known = || scenarios().iter().map(|scenario| scenario.name.as_str()).collect::<Vec<_>>().join(", ");
    let hint = || format!("the scenarios are {}", known());
    Ok(scenario(name).ok_or_else(|| Fault::not_found(format!("no scenario is called `{name}`"), hint()))?)
}

/// An agent that is installed here, and the folder below which it is tried: not below the system's temporary folder, where
/// Codex does not lay down its programs.
pub(super) async fn find(name: &str) -> Result<(InstalledAgent, PathBuf)> {
    let places = Places::find()?;
    let config = Config::load(&places)?;
    let agents = table::all(&config.agents)?;
    let Some(agent) = agents.iter().find(|agent| agent.name() == name) else {
        let known = agents.iter().map(|agent| agent.name()).collect::<Vec<_>>().join(", ");
        return Err(Fault::not_found(
            format!("no agent is called `{name}`"),
            format!("the agents are {known}"),
        )
        .into());
    };
    let settings = config.agents.get(name).cloned().unwrap_or_default();
    let around = Surroundings::of_this_process();
    let mut info = Versions::default().describe(agent, &settings, &around).await;
    if info.path.is_none()
        && let Some(offline) =
            agent.offline(OfflinePlace { folder: Path::new("/"), model: "http://127.0.0.1" })
    {
        // The built-in agent is always here; what may be missing is a model, which it is given.
        let set = AgentSettings { env: offline.env, ..settings.clone() };
        info = Versions::default().describe(agent, &set, &around).await;
    }
    let missing = || {
        let why = info.remark.as_ref().map(|remark| format!(": {remark}")).unwrap_or_default();
        Fault::not_found(format!("{} is not set up{why}", info.title), info.install.clone())
    };
    let found = InstalledAgent::new(agent.clone(), &info, settings, around).ok_or_else(missing)?;
    places.make_data()?;
    Ok((found, places.data.join("trials")))
}

async fn play(
    staged: &mut StagedAgent<'_>,
    scenario: &'static Scenario,
    recorded: Option<&RecordedAgent>,
) -> ScenarioResult {
    let row = ScenarioResult::of(scenario);
    if let Some(why) = staged.found().why_not(scenario) {
        return ScenarioResult { left_out: why == WhyNot::NoModel, ..row.not_played(&why.to_string()) };
    }
    let expected = recorded.and_then(|recorded| recorded.scenarios.get(&scenario.name));
    let compared = expected.is_some();
    let (differs, shape, version) = match staged.play(scenario).await {
        Ok(Played { fault: Some(fault), version, .. }) => (vec![fault], None, version),
        Ok(Played { shape, version, fault: None }) => {
            let differs = expected.map(|expected| differences(expected, &shape)).unwrap_or_default();
            (differs, Some(shape), version)
        }
        Err(error) => (vec![format!("{error:#}")], None, None),
    };
    ScenarioResult { ok: Some(differs.is_empty()), differs, compared, shape, version, ..row }
}

/// The version that the agent says it is of, or else its program.
fn version_of(found: &InstalledAgent, rows: &[ScenarioResult]) -> Option<String> {
    rows.iter().find_map(|row| row.version.clone()).or_else(|| found.version.clone())
}

/// Those that were not played are told of at once, reason by reason.
fn not_played(found: &InstalledAgent, rows: &[ScenarioResult]) -> String {
    let mut reasons: Vec<&str> = rows.iter().filter_map(|row| row.not_played.as_deref()).collect();
    reasons.dedup();
    let mut text = String::new();
    for (at, why) in reasons.iter().enumerate() {
        if reasons[..at].contains(why) {
            continue;
        }
        let left = rows.iter().filter(|row| row.not_played.as_deref() == Some(*why));
        let names: Vec<&str> = left.map(|row| row.scenario.as_str()).collect();
        text.push_str(&format!("- did not run: {}\n  {why}\n", names.join(", ")));
        if *why == WhyNot::NoModel.to_string() {
            let name = found.agent.name();
            text.push_str(&format!("  set `verify_env` under [agents.{name}]: see docs/verify.md\n"));
        }
    }
    text
}

/// What all of it comes to.
struct Tally<'a> {
    played: usize,
    left_out: usize,
    compared: usize,
    differ: Vec<&'a str>,
}

impl<'a> Tally<'a> {
    fn of(rows: &'a [ScenarioResult]) -> Self {
        let differ = rows.iter().filter(|row| row.ok == Some(false));
        Self {
            played: rows.iter().filter(|row| row.ok.is_some()).count(),
            left_out: rows.iter().filter(|row| row.left_out).count(),
            compared: rows.iter().filter(|row| row.ok.is_some() && row.compared).count(),
            differ: differ.map(|row| row.scenario.as_str()).collect(),
        }
    }

    /// What was not tried is not good.
    fn is_good(&self) -> bool {
        self.played > 0 && self.left_out == 0 && self.differ.is_empty()
    }

    fn summary(&self, found: &InstalledAgent, seconds: f64) -> String {
        let Self { played, left_out, compared, differ } = self;
        let agent = found.agent.name();
        match (differ.first(), played - compared) {
            (_, _) if *played == 0 => format!("no scenario ran, so nothing is known about {agent}"),
            (Some(first), _) => format!(
                "{played} scenarios ran in {seconds:.0} s, {} differ\n\
                 `longshore record {agent} {first}` records the messages, for you to read or to attach to a report",
                differ.len(),
            ),
            (None, _) if *left_out > 0 => {
                let all = played + left_out;
                format!("{played} of {all} scenarios ran in {seconds:.0} s: this does not verify {agent}")
            }
            (None, 0) => format!("{played} scenarios ran in {seconds:.0} s, all as recorded"),
            (None, _) if *compared == 0 => {
                format!(
                    "{played} scenarios ran in {seconds:.0} s, none compared with a recording: all their own checks passed"
                )
            }
            (None, rest) => format!(
                "{played} scenarios ran in {seconds:.0} s: {compared} as recorded; {rest} never recorded, with all their own checks passed"
            ),
        }
    }
}

/// Whether the agent is this program.
fn is_ours(found: &InstalledAgent) -> bool {
    std::env::current_exe().is_ok_and(|program| program == found.path)
}

fn write(path: &PathBuf, found: &InstalledAgent, rows: &[ScenarioResult]) -> Result<()> {
    let shape = |row: &ScenarioResult| Some((row.scenario.clone(), row.shape.clone()?));
    let recorded = RecordedAgent {
        agent: found.agent.name().to_owned(),
        // One that comes with this program is of no version of its own.
        version: if is_ours(found) { None } else { version_of(found, rows) },
        scenarios: rows.iter().filter_map(shape).collect(),
    };
    std::fs::write(path, recorded.text()).with_context(|| format!("cannot write {}", path.display()))
}

impl ScenarioResult {
    fn of(scenario: &Scenario) -> Self {
        Self {
            scenario: scenario.name.clone(),
            ok: None,
            differs: Vec::new(),
            not_played: None,
            compared: false,
            left_out: false,
            shape: None,
            version: None,
        }
    }

    fn not_played(self, why: &str) -> Self {
        Self { not_played: Some(why.to_owned()), ..self }
    }

    /// A line for each difference. What an agent said may be anything, and a terminal must not obey it.
    fn text(&self, wide: usize) -> String {
        let (sign, said) = match self.differs.is_empty() {
            true if self.compared => ("✓", vec!["as recorded".to_owned()]),
            true => ("✓", vec!["passes its own checks; never recorded".to_owned()]),
            false => ("✗", self.differs.clone()),
        };
        let line = |(at, said): (usize, &String)| match at {
            0 => format!("{sign} {:wide$}  {}", self.scenario, clean(said)),
            _ => format!("  {:wide$}  {}", "", clean(said)),
        };
        said.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    }
}

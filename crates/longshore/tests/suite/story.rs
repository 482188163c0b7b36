//! One story, told with every agent: the same steps, the same expectations, each agent's own tools.

use longshore_drivers as drivers;
use longshore_model::capability::Mode;
use longshore_model::event::{Body, Event};
use longshore_model::id::TurnId;
use longshore_model::item::{FileChange, ToolStatus};
use longshore_model::lifecycle::TurnOutcome;
use longshore_model::timeline::Content;
use serde_json::{Value, json};

use super::rig::{Rig, Talk, processes_with, until};

/// An agent of the story, and how its model asks it to do things.
pub(super) struct StoryAgent {
    pub(super) name: &'static str,
    /// Run a command.
    pub(super) run: fn(&str) -> Value,
    /// Make a file of this path with this line in it.
    pub(super) write: fn(&str, &str) -> Value,
    /// Where it differs from the others.
    pub(super) ways: AgentTraits,
    /// The only API that its model speaks, if there is a gateway between the two.
    pub(super) through: Option<&'static str>,
}

/// What not every agent does.
#[derive(Clone, Copy)]
pub(super) struct AgentTraits {
    /// It asks its model what to do after a no. Others end the turn there.
    goes_on_after_no: bool,
    /// It tells what a command printed.
    tells_output: bool,
    /// It tells what it used.
    tells_usage: bool,
    /// It asks before it does something. Others do what their mode allows, and have no mode in which they would ask.
    asks: bool,
    /// Its messages come in pieces.
    streams: bool,
    /// It tells how a file changes, and not only which.
    tells_diffs: bool,
    /// It keeps a memory of its own. The log is the memory of those that do not.
    keeps_memory: bool,
}

const ALL: AgentTraits = AgentTraits {
    goes_on_after_no: true,
    tells_output: true,
    tells_usage: true,
    asks: true,
    streams: true,
    tells_diffs: true,
    keeps_memory: true,
};

impl StoryAgent {
    /// The mode in which the story is told: the most careful one in which everything can be done.
    fn mode(&self) -> &'static str {
        if self.ways.asks { "ask" } else { "full" }
    }
}

pub(super) const CODEX: StoryAgent = StoryAgent {
    name: "codex",
    run: drivers::codex::CALLS.run,
    write: drivers::codex::CALLS.write,
    ways: ALL,
    through: None,
};

pub(super) const CODEX_EXEC: StoryAgent = StoryAgent {
    name: "codex-exec",
    ways: AgentTraits { asks: false, streams: false, tells_diffs: false, ..ALL },
    ..CODEX
};

pub(super) const CLAUDE: StoryAgent = StoryAgent {
    name: "claude",
    run: drivers::claude::CALLS.run,
    write: drivers::claude::CALLS.write,
    ways: ALL,
    through: None,
};

/// The last Claude Code that calls back where it is told to.
pub(super) const CLAUDE_SOCKET: StoryAgent = StoryAgent { name: "claude-socket", ..CLAUDE };

/// A Claude Code that is newer than the one that was recorded, as an agent of the settings.
pub(super) const CLAUDE_NEXT: StoryAgent = StoryAgent { name: "claude-next", ..CLAUDE };

/// Agents of the settings that speak ACP, and of which nothing else is known.
pub(super) const CLAUDE_AGENT_ACP: StoryAgent = StoryAgent { name: "claude-agent-acp", ..CLAUDE };

pub(super) const QWEN: StoryAgent = StoryAgent {
    name: "qwen",
    run: |command| json!({ "call": "run_shell_command", "args": { "command": command, "description": "do it", "is_background": false } }),
    write: drivers::acp::GEMINI_CALLS.write,
    ways: ALL,
    through: None,
};

pub(super) const GEMINI: StoryAgent = StoryAgent {
    name: "gemini",
    run: drivers::acp::GEMINI_CALLS.run,
    write: drivers::acp::GEMINI_CALLS.write,
    ways: AgentTraits { tells_output: false, ..ALL },
    through: None,
};

pub(super) const COPILOT: StoryAgent = StoryAgent {
    name: "copilot",
    run: drivers::acp::COPILOT_CALLS.run,
    write: drivers::acp::COPILOT_CALLS.write,
    ways: AgentTraits { goes_on_after_no: false, ..ALL },
    through: None,
};

pub(super) const CODEX_ACP: StoryAgent = StoryAgent {
    name: "codex-acp",
    ways: AgentTraits { goes_on_after_no: false, tells_usage: false, ..ALL },
    ..CODEX
};

pub(super) const CLAUDE_CODE_ACP: StoryAgent = StoryAgent {
    name: "claude-code-acp",
    ways: AgentTraits { goes_on_after_no: false, tells_usage: false, ..ALL },
    ..CLAUDE
};

pub(super) const OPENCODE: StoryAgent = StoryAgent {
    name: "opencode",
    run: drivers::opencode::CALLS.run,
    write: drivers::opencode::CALLS.write,
    ways: ALL,
    through: None,
};

pub(super) const OPENCODE_ACP: StoryAgent = StoryAgent {
    name: "opencode-acp",
    ways: AgentTraits { goes_on_after_no: false, tells_usage: false, ..ALL },
    ..OPENCODE
};

pub(super) const REACT: StoryAgent = StoryAgent {
    name: "react",
    run: drivers::react::CALLS.run,
    write: drivers::react::CALLS.write,
    ways: AgentTraits { keeps_memory: false, ..ALL },
    through: None,
};

pub(super) const REACT_RESPONSES: StoryAgent = StoryAgent { name: "react-responses", ..REACT };

pub(super) const REACT_MESSAGES: StoryAgent = StoryAgent { name: "react-messages", ..REACT };

/// A title or a summary that an agent asks for beside its turns must not take a step of the story.
pub(super) fn steps(story: Value) -> Value {
    let mut all =
        vec![json!({ "when": { "tools": false }, "do": [{ "say": "A title" }], "repeat": "forever" })];
    all.extend(story.as_array().unwrap().iter().cloned());
    json!(all)
}

async fn begin(cast: &StoryAgent, story: Value, prompt: &str) -> (Rig, Talk, TurnId) {
    let rig = Rig::through(cast.through, steps(story)).await;
    let mut talk = rig.open_with(cast.name, cast.mode()).await;
    let turn = talk.prompt(prompt).await;
    (rig, talk, turn)
}

/// An agent that does not ask is not opened for somebody who wants to be asked, who is told why.
async fn refuses_to_ask(cast: &StoryAgent, story: Value) {
    let rig = Rig::through(cast.through, steps(story)).await;
    let mut client = rig.client().await;
    let open = json!({ "agent": cast.name, "cwd": rig.work(), "mode": "ask", "prompt": "make it" });
    let refused = client.call::<Value>("open", open).await.unwrap_err().to_string();
    let can = rig.open_with(cast.name, cast.mode()).await.info().await.capabilities;
    assert!(!can.approvals && !can.modes.contains(&Mode::Ask), "{can:?}");
    let modes: Vec<String> = can.modes.iter().map(ToString::to_string).collect();
    assert!(refused.contains(&format!("its modes are {}", modes.join(", "))), "{refused}");
    assert!(rig.model.requests().requests.is_empty(), "the model is not asked");
    assert!(!rig.work().join("made.txt").exists());
}

/// Waits until the agent is at work on a turn, which is its `count`th.
async fn until_at_work(cast: &StoryAgent, rig: &Rig, talk: &mut Talk, turn: TurnId, count: usize) {
    if cast.ways.streams {
        talk.until("it speaks", |talk| {
            let speaks = |event: &Event| event.turn == Some(turn) && matches!(event.body, Body::MessageDelta);
            talk.events.iter().any(speaks)
        })
        .await;
    } else {
        // Nothing of what it does shows before it has done it.
        rig.heard_by_model(count).await;
    }
}

/// Says yes to whatever is asked until the turn ends.
async fn allow_all(talk: &mut Talk, turn: TurnId) -> TurnOutcome {
    let mut allowed = 0;
    loop {
        talk.until("it asks or ends", |talk| {
            let asked = talk.events.iter().filter(|event| matches!(event.body, Body::ApprovalRequested(_)));
            asked.count() > allowed || talk.end_of(turn).is_some()
        })
        .await;
        if let Some(outcome) = talk.end_of(turn) {
            return outcome;
        }
        for open in talk.info().await.approvals {
            let _ = talk.decide(&open, "allow_once").await;
        }
        allowed = talk.events.iter().filter(|event| matches!(event.body, Body::ApprovalRequested(_))).count();
    }
}

pub(super) async fn plain(cast: &StoryAgent) {
    let story =
        json!([{ "do": [{ "reason": "Let me think" }, { "say": "Hello, a heron.", "delay_ms": 5 }] }]);
    let (_rig, mut talk, turn) = begin(cast, story, "hail").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages(), ["Hello, a heron."], "{}", talk.story());
    let info = talk.info().await;
    assert_eq!(info.capabilities.streaming, cast.ways.streams);
    let streamed = talk.said(|body| matches!(body, Body::MessageDelta)).concat();
    assert_eq!(streamed, if cast.ways.streams { "Hello, a heron." } else { "" });
    assert!(info.native.is_some(), "{info:?}");
    assert_eq!(info.usage.output.is_some(), cast.ways.tells_usage, "what is unknown is unknown: {info:?}");
    assert_eq!((info.title.as_str(), info.preview.as_deref()), ("hail", Some("Hello, a heron.")));
}

pub(super) async fn allowed(cast: &StoryAgent) {
    let story =
        json!([{ "do": [(cast.run)("echo made > made.txt; cat made.txt")] }, { "do": [{ "say": "Done." }] }]);
    let (rig, mut talk, turn) = begin(cast, story, "make it").await;
    if cast.ways.asks {
        let asked = talk.until_asked(1).await;
        assert!(!rig.work().join("made.txt").exists(), "nothing runs before the answer");
        talk.decide(&asked[0], "allow_once").await.unwrap();
    }
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(rig.work().join("made.txt").exists(), "{}", talk.story());
    let (text, status) = talk.tools().remove(0);
    assert_eq!(status, Some(ToolStatus::Completed), "{}", talk.story());
    assert_eq!(text.contains("made"), cast.ways.tells_output, "{}", talk.story());
}

pub(super) async fn denied(cast: &StoryAgent) {
    let story = json!([{ "do": [(cast.run)("echo x > made.txt")] }, { "do": [{ "say": "Then not." }] }]);
    if !cast.ways.asks {
        return refuses_to_ask(cast, story).await;
    }
    let (rig, mut talk, turn) = begin(cast, story, "make it").await;
    let asked = talk.until_asked(1).await;
    talk.decide(&asked[0], "deny").await.unwrap();
    let outcome = talk.until_turn_ends(turn).await;
    assert!(!rig.work().join("made.txt").exists());
    let (_, status) = talk.tools().remove(0);
    assert_eq!(status, Some(ToolStatus::Declined), "{}", talk.story());
    let went_on = talk.messages().contains(&"Then not.");
    assert_eq!(went_on, cast.ways.goes_on_after_no, "{}", talk.story());
    assert_ne!(outcome, TurnOutcome::Failed, "a no is no failure\n{}", talk.story());
}

pub(super) async fn edit(cast: &StoryAgent) {
    let rig = Rig::through(cast.through, json!([])).await;
    let path = rig.work().join("heron.txt");
    let story = json!([{ "do": [(cast.write)(path.to_str().unwrap(), "grey heron")] }, { "do": [{ "say": "Written." }] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps(story)).unwrap());
    let mut talk = rig.open_with(cast.name, cast.mode()).await;
    let turn = talk.prompt("write it").await;
    if cast.ways.asks {
        let asked = talk.until_asked(1).await;
        assert!(!path.exists());
        talk.decide(&asked[0], "allow_once").await.unwrap();
    }
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "grey heron\n");
    let changes: Vec<FileChange> = talk
        .timeline
        .items
        .iter()
        .flat_map(|item| match &item.content {
            Content::Tool { changes, .. } | Content::Diff { changes, .. } => changes.clone(),
            _ => Vec::new(),
        })
        .collect();
    let of_it: Vec<_> = changes.iter().filter(|change| change.path.ends_with("heron.txt")).collect();
    assert!(!of_it.is_empty(), "{changes:?}\n{}", talk.story());
    let told = of_it.iter().any(|change| change.diff.contains("+grey heron"));
    assert_eq!(told, cast.ways.tells_diffs, "{changes:?}\n{}", talk.story());
}

pub(super) async fn parallel(cast: &StoryAgent) {
    let story = json!([
        { "do": [(cast.run)("echo x > a.txt"), (cast.run)("echo x > b.txt")] },
        { "do": [{ "say": "Both." }] },
    ]);
    let (rig, mut talk, turn) = begin(cast, story, "make both").await;
    assert_eq!(allow_all(&mut talk, turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert!(rig.work().join("a.txt").exists() && rig.work().join("b.txt").exists());
    let done = talk.tools().into_iter().filter(|(_, status)| *status == Some(ToolStatus::Completed)).count();
    assert_eq!(done, 2, "{}", talk.story());
}

pub(super) async fn interrupt(cast: &StoryAgent) {
    let story = json!([
        { "do": [{ "say": "word ".repeat(400), "delay_ms": 20 }] },
        { "do": [{ "say": "Next." }] },
    ]);
    let (rig, mut talk, turn) = begin(cast, story, "talk").await;
    until_at_work(cast, &rig, &mut talk, turn, 1).await;
    talk.call("interrupt", json!({})).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    let turn = talk.prompt("go on").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages().last(), Some(&"Next."));
}

/// A person who stops an agent stops what it runs: the process is gone, and what it was to do is never done.
pub(super) async fn stop(cast: &StoryAgent) {
    let rig = Rig::through(cast.through, json!([])).await;
    let (begun, done) = (rig.work().join("begun.txt"), rig.work().join("done.txt"));
    // Some agents end a command child by child: what follows a sleep that was ended is not to be taken for its end.
    let command = format!("echo up > {} && sleep 45 && echo yes > {}", begun.display(), done.display());
    let story = json!([{ "do": [(cast.run)(&command)] }, { "do": [{ "say": "Next." }] }]);
    rig.model.replace(longshore_models::script::Script::from_value(steps(story)).unwrap());
    let mut talk = rig.open_with(cast.name, cast.mode()).await;
    let turn = talk.prompt("run it").await;
    if cast.ways.asks {
        let asked = talk.until_asked(1).await;
        talk.decide(&asked[0], "allow_once").await.unwrap();
    }
    until("the command runs", || begun.exists()).await;
    assert!(!processes_with(&done).is_empty());
    talk.call("interrupt", json!({})).await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    until("the command is gone", || processes_with(&done).is_empty()).await;
    assert!(!done.exists(), "{}", talk.story());
    let turn = talk.prompt("go on").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    // Whatever ended later has its name, and belongs to its turn.
    for item in &talk.timeline.items {
        if let Content::Tool { call, .. } = &item.content {
            assert!(item.turn.is_some() && !call.name.is_empty(), "{item:?}\n{}", talk.story());
        }
    }
}

pub(super) async fn queue(cast: &StoryAgent) {
    let story = json!([
        { "do": [{ "say": "One.", "chunks": 4, "delay_ms": 60 }] },
        { "do": [{ "say": "Two." }] },
        { "do": [{ "say": "Three." }] },
    ]);
    let (_rig, mut talk, _) = begin(cast, story, "first").await;
    talk.prompt("second").await;
    let last = talk.prompt("third").await;
    assert_eq!(talk.until_turn_ends(last).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages(), ["One.", "Two.", "Three."], "{}", talk.story());
}

pub(super) async fn model_error(cast: &StoryAgent) {
    let story =
        json!([{ "http": 400, "body": { "error": { "message": "no such heron" } }, "repeat": "forever" }]);
    let (_rig, mut talk, turn) = begin(cast, story, "hail").await;
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed, "{}", talk.story());
    let said = talk
        .events
        .iter()
        .any(|event| matches!(event.body, Body::TurnFinished(_)) && event.text().contains("heron"));
    assert!(said, "the error is told in the model's words\n{}", talk.story());
}

pub(super) async fn revive(cast: &StoryAgent) {
    let story = json!([
        { "do": [{ "say": "The word is heron." }] },
        { "do": [{ "say": "word ".repeat(400), "delay_ms": 20 }] },
        { "do": [{ "say": "It was heron." }] },
    ]);
    let (rig, mut talk, turn) = begin(cast, story, "remember a word").await;
    talk.until_turn_ends(turn).await;
    // An agent writes its memory in its own time; what is killed before that has nothing to remember.
    if cast.ways.keeps_memory {
        rig.until_on_disk("The word is heron.").await;
    }
    let turn = talk.prompt("talk").await;
    until_at_work(cast, &rig, &mut talk, turn, 2).await;
    rig.kill_agents();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Failed, "{}", talk.story());
    let turn = talk.prompt("what was the word?").await;
    // One that was killed before it had written all down says that it has forgotten, and goes on from the log.
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Completed, "{}", talk.story());
    assert_eq!(talk.messages().last(), Some(&"It was heron."));
    assert!(rig.model_heard(&["what was the word?", "The word is heron."]), "it remembers, or is told");
}

pub(super) async fn cancel(cast: &StoryAgent) {
    let story = json!([{ "do": [(cast.run)("echo x > made.txt")] }, { "do": [{ "say": "Never said." }] }]);
    if !cast.ways.asks {
        return refuses_to_ask(cast, story).await;
    }
    let (rig, mut talk, turn) = begin(cast, story, "make it").await;
    let asked = talk.until_asked(1).await;
    talk.decide(&asked[0], "cancel").await.unwrap();
    assert_eq!(talk.until_turn_ends(turn).await, TurnOutcome::Interrupted, "{}", talk.story());
    assert!(!rig.work().join("made.txt").exists());
    assert_eq!(talk.info().await.approvals, []);
}

/// The story of one agent: a test for each of its steps.
macro_rules! story {
    ($agent:ident, $cast:expr) => {
        mod $agent {
            story!(@ $cast, plain allowed denied edit parallel interrupt stop queue model_error revive cancel);
        }
    };
    (@ $cast:expr, $($step:ident)*) => {$(
        #[tokio::test]
        async fn $step() {
            super::$step(&$cast).await;
        }
    )*};
}

story!(codex, super::CODEX);
story!(codex_exec, super::CODEX_EXEC);
story!(claude, super::CLAUDE);
story!(claude_socket, super::CLAUDE_SOCKET);
story!(claude_next, super::CLAUDE_NEXT);
story!(claude_agent_acp, super::CLAUDE_AGENT_ACP);
story!(qwen, super::QWEN);
story!(gemini, super::GEMINI);
story!(copilot, super::COPILOT);
story!(codex_acp, super::CODEX_ACP);
story!(claude_code_acp, super::CLAUDE_CODE_ACP);
story!(opencode, super::OPENCODE);
story!(opencode_acp, super::OPENCODE_ACP);
story!(react, super::REACT);
story!(react_responses, super::REACT_RESPONSES);
story!(react_messages, super::REACT_MESSAGES);

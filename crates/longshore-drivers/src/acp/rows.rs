//! The known ACP agents: their names, how Longshore starts them, and how they differ.
//!
//! Every difference between two agents is data in a row. The driver knows no agent by name.

use std::borrow::Cow;
use std::collections::BTreeMap;

use longshore_model::approval::Decision;
use longshore_model::capability::{Capabilities, Mode};
use serde_json::{Value, json};

use crate::account::Account;

/// A setting and its value. `mode` is the agent's own mode. Other names are the agent's own options.
pub type SettingPair = (&'static str, &'static str);

/// One agent.
#[derive(Clone, Debug)]
pub struct AcpRow {
    /// The agent's name: `gemini`.
    pub name: Cow<'static, str>,
    /// The agent's name for people.
    pub title: Cow<'static, str>,
    /// The program of the agent.
    pub program: Cow<'static, str>,
    /// The npm package with the native program for one machine, without the name of the machine.
    pub native_package: Option<&'static str>,
    /// The arguments with which the program speaks ACP.
    pub arguments: &'static [&'static str],
    /// Additional environment variables.
    pub environment: &'static [(&'static str, &'static str)],
    /// The command that installs the agent.
    pub install: Cow<'static, str>,
    /// The command that logs in to the agent.
    pub login: Option<&'static str>,
    /// Where the agent keeps its login, if Longshore can see it.
    pub account: Option<Account>,
    /// The version in the recordings.
    pub tested: Option<&'static str>,
    /// The agent's settings for each mode. If there are several ways to set the same mode, the best one comes
    /// first.
    pub modes: &'static [(Mode, &'static [SettingPair])],
    /// Whether a client can choose the model.
    pub models: bool,
    /// Whether the agent lists the conversations that it remembers.
    pub lists: bool,
    /// Whether the agent can copy a conversation.
    pub forks: bool,
    /// The agent behind this adapter. The adapter shares that agent's records, and a conversation can
    /// continue in that agent's terminal.
    pub behind: Option<Behind>,
    /// The other differences of the agent.
    pub quirks: Quirks,
}

/// Agents that also have adapters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// Codex.
    Codex,
    /// Claude Code.
    Claude,
}

impl Behind {
    /// The agent behind a command of the settings, by the names of the known adapters.
    pub fn of_command(command: &[String]) -> Option<Self> {
        let known = [
            ("claude-agent-acp", Self::Claude),
            ("claude-code-acp", Self::Claude),
            ("codex-acp", Self::Codex),
        ];
        let is_named = |name: &str| command.iter().any(|word| word.contains(name));
        known.into_iter().find(|(name, _)| is_named(name)).map(|(_, behind)| behind)
    }
}

/// The differences between agents.
#[derive(Clone, Copy, Debug)]
pub struct Quirks {
    /// Whether the client offers to read and write files for the agent. An agent with its own tools works
    /// better with these.
    pub fs: bool,
    /// Whether the client offers to run the agent's commands.
    pub terminal: bool,
    /// The decision that the agent's "always" means.
    pub always: Decision,
    /// Whether a denial ends the turn. Then nobody can deny a request and let the agent continue.
    pub rejection_ends_turn: bool,
    /// The scope of the counts in the response to a prompt.
    pub counts: Counts,
    /// Where the name of a tool is.
    pub names: ToolNameSource,
    /// The beginning of messages that only repeat the client's input.
    pub echo: Option<&'static str>,
    /// Whether the agent reports more of the past after its response to `session/load`, and lists its
    /// commands at the end.
    pub late_past: bool,
    /// The beginning of a message that reports an error of the model.
    pub error_prefix: Option<&'static str>,
}

/// The scope of counts of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Everything that the process has used for this session.
    Session,
    /// This turn.
    Turn,
    /// Only the last answer of the model, not the whole turn.
    LastAnswer,
}

/// Where the name of a tool is, if the call itself does not contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolNameSource {
    /// Nowhere. The kind of the tool replaces it.
    Nowhere,
    /// In the id of the call, before two underscores.
    InId,
    /// In the first title of the call.
    InFirstTitle,
}

const PLAIN: Quirks = Quirks {
    fs: false,
    terminal: false,
    always: Decision::AllowSession,
    rejection_ends_turn: false,
    counts: Counts::Session,
    names: ToolNameSource::Nowhere,
    echo: None,
    late_past: false,
    error_prefix: None,
};

const COPILOT_AGENT: &str = "https://agentclientprotocol.com/protocol/session-modes#agent";
const COPILOT_PLAN: &str = "https://agentclientprotocol.com/protocol/session-modes#plan";
const COPILOT_AUTOPILOT: &str = "https://agentclientprotocol.com/protocol/session-modes#autopilot";

const GEMINI_ACCOUNT: Account = Account {
    variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
    home: ("GEMINI_CLI_HOME", ".gemini"),
    files: &["oauth_creds.json"],
    without: Some(("settings.json", "\"gateway\"")),
};

const COPILOT_ACCOUNT: Account = Account {
    variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"],
    home: ("COPILOT_HOME", ".copilot"),
    files: &[],
    without: Some(("config.json", "logged_in_users")),
};

static ROWS: [AcpRow; 5] = [
    AcpRow {
        name: Cow::Borrowed("gemini"),
        title: Cow::Borrowed("Gemini CLI"),
        program: Cow::Borrowed("gemini"),
        native_package: None,
        arguments: &["--acp"],
        environment: &[],
        install: Cow::Borrowed("npm install -g @google/gemini-cli"),
        login: Some("gemini"),
        account: Some(GEMINI_ACCOUNT),
        tested: Some("0.61.0"),
        modes: &[
            (Mode::Plan, &[("mode", "plan")]),
            (Mode::Ask, &[("mode", "default")]),
            (Mode::AutoEdit, &[("mode", "autoEdit")]),
            (Mode::Full, &[("mode", "yolo")]),
        ],
        models: true,
        lists: false,
        forks: false,
        behind: None,
        // The agent takes any refusal to read a file as the content of that file, so the client must not
        // offer files.
        quirks: Quirks {
            counts: Counts::Turn,
            names: ToolNameSource::InId,
            echo: Some("[MODE_UPDATE] "),
            late_past: true,
            ..PLAIN
        },
    },
    AcpRow {
        name: Cow::Borrowed("copilot"),
        title: Cow::Borrowed("GitHub Copilot CLI"),
        program: Cow::Borrowed("copilot"),
        native_package: None,
        arguments: &["--acp"],
        environment: &[("COPILOT_AUTO_UPDATE", "false")],
        install: Cow::Borrowed("npm install -g @github/copilot"),
        login: Some("copilot login"),
        account: Some(COPILOT_ACCOUNT),
        tested: Some("1.0.102"),
        modes: &[
            (Mode::Plan, &[("mode", COPILOT_PLAN), ("allow_all", "off")]),
            (Mode::Ask, &[("mode", COPILOT_AGENT), ("allow_all", "off")]),
            (Mode::Full, &[("mode", COPILOT_AGENT), ("allow_all", "on")]),
            (Mode::Full, &[("mode", COPILOT_AUTOPILOT), ("allow_all", "on")]),
        ],
        models: false,
        lists: true,
        forks: false,
        behind: None,
        quirks: Quirks { error_prefix: Some("Error: "), ..PLAIN },
    },
    AcpRow {
        name: Cow::Borrowed("codex-acp"),
        title: Cow::Borrowed("Codex over ACP"),
        program: Cow::Borrowed("codex-acp"),
        native_package: Some("@zed-industries/codex-acp"),
        arguments: &[],
        environment: &[],
        install: Cow::Borrowed("npm install -g @zed-industries/codex-acp"),
        login: Some("codex login"),
        account: Some(crate::codex::spec::ACCOUNT),
        tested: Some("0.16.0"),
        modes: &[
            (Mode::Ask, &[("mode", "read-only")]),
            (Mode::AutoEdit, &[("mode", "auto")]),
            (Mode::Full, &[("mode", "full-access")]),
        ],
        models: true,
        lists: true,
        forks: false,
        behind: Some(Behind::Codex),
        quirks: Quirks { always: Decision::AllowAlways, rejection_ends_turn: true, ..PLAIN },
    },
    AcpRow {
        name: Cow::Borrowed("claude-code-acp"),
        title: Cow::Borrowed("Claude Code over ACP"),
        program: Cow::Borrowed("claude-code-acp"),
        native_package: None,
        arguments: &[],
        environment: &[("DISABLE_AUTOUPDATER", "1")],
        install: Cow::Borrowed("npm install -g @zed-industries/claude-code-acp"),
        login: Some("claude /login"),
        account: Some(crate::claude::spec::ACCOUNT),
        tested: Some("0.16.2"),
        modes: &[
            (Mode::Plan, &[("mode", "plan")]),
            (Mode::Ask, &[("mode", "default")]),
            (Mode::AutoEdit, &[("mode", "acceptEdits")]),
            (Mode::Full, &[("mode", "bypassPermissions")]),
        ],
        models: true,
        lists: true,
        forks: true,
        behind: Some(Behind::Claude),
        quirks: PLAIN,
    },
    AcpRow {
        name: Cow::Borrowed("opencode-acp"),
        title: Cow::Borrowed("OpenCode over ACP"),
        program: Cow::Borrowed("opencode"),
        native_package: None,
        arguments: &["acp"],
        // Without these rules, the agent requests no permission, and our modes would have no effect.
        environment: &[("OPENCODE_PERMISSION", r#"{"bash":"ask","edit":"ask","webfetch":"ask"}"#)],
        install: Cow::Borrowed("npm install -g opencode-ai"),
        login: Some("opencode auth login"),
        account: None,
        tested: Some("1.18.33"),
        modes: &[(Mode::Plan, &[("mode", "plan")]), (Mode::Ask, &[("mode", "build")])],
        models: true,
        lists: true,
        forks: true,
        // Only the agent itself can list its conversations, and Longshore would have to start its server
        // before every prompt for that.
        behind: None,
        quirks: Quirks { counts: Counts::LastAnswer, names: ToolNameSource::InFirstTitle, ..PLAIN },
    },
];

/// Additional parameters for an agent when a session opens. The agent's reported name decides, because an
/// agent of the settings may have any name.
/// settings may be called anything.
/// Claude Code can let a model decide its permissions while it plans, and then it asks nobody. Here, a person
/// decides. After each turn, Claude Code can also request suggestions for the next prompt from the model.
/// That costs a request, and no client shows the suggestions.
pub(crate) fn aside_for(name: &str) -> Option<Value> {
    let options = json!({"settings": crate::claude::flag_settings(None), "promptSuggestions": false});
    name.contains("claude").then(|| json!({"claudeCode": {"options": options}}))
}

/// The scope of an agent's counts of tokens, by the name that the agent reports.
pub(crate) fn counts_of(name: &str) -> Option<Counts> {
    name.ends_with("/claude-agent-acp").then_some(Counts::Turn)
}

/// The known agents.
pub fn rows() -> &'static [AcpRow] {
    &ROWS
}

/// A known agent.
pub fn row(name: &str) -> Option<&'static AcpRow> {
    ROWS.iter().find(|row| row.name == name)
}

impl AcpRow {
    /// Any other program that speaks ACP. Its modes are guessed from their names. The client offers it files
    /// and terminals, because nothing shows that it has its own tools.
    pub fn named(name: &str, program: &str) -> Self {
        Self {
            name: Cow::Owned(name.to_owned()),
            title: Cow::Owned(name.to_owned()),
            program: Cow::Owned(program.to_owned()),
            native_package: None,
            arguments: &[],
            environment: &[],
            install: Cow::Owned(format!("put {program} where programs are, or set its path in the settings")),
            login: None,
            account: None,
            tested: None,
            modes: &[],
            models: true,
            lists: true,
            forks: true,
            behind: None,
            quirks: Quirks { fs: true, terminal: true, always: Decision::AllowAlways, ..PLAIN },
        }
    }

    fn custom(&self) -> BTreeMap<String, Value> {
        let mut custom = BTreeMap::from([("protocol".to_owned(), json!("acp/1"))]);
        if self.modes.is_empty() {
            custom.insert(Capabilities::GUESSED_MODES.to_owned(), json!(true));
        }
        custom
    }

    /// What the agent can do, as far as it is known before the agent runs. If the agent then does not offer
    /// something, the driver refuses it with a reason.
    pub fn capabilities(&self) -> Capabilities {
        // The driver itself can answer an agent's requests for permission. So an agent that requests
        // permission has these three modes, whether it knows them or not.
        let mut modes = vec![Mode::Ask, Mode::AutoEdit, Mode::Full];
        if self.modes.is_empty() || self.modes.iter().any(|(mode, _)| *mode == Mode::Plan) {
            modes.insert(0, Mode::Plan);
        }
        Capabilities {
            list_sessions: self.lists,
            open_session: true,
            send_prompt: true,
            streaming: true,
            attachments: true,
            approvals: true,
            multi_turn: true,
            filtering: false,
            pagination: self.lists,
            interrupt: true,
            steer: false,
            fork: self.forks,
            modes,
            models: self.models,
            // Only for an unknown agent. The known agents offer no effort.
            effort: self.modes.is_empty(),
            memory_in_log: false,
            own_record: self.behind.is_some(),
            custom: self.custom(),
        }
    }
}

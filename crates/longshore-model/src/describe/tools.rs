//! The known tools, under all names that agents give them.

use std::borrow::Cow;

use crate::item::{ToolCall, ToolKind};

/// How a tool is spoken of.
pub(super) struct ToolWording {
    /// While it runs.
    pub(super) doing: Cow<'static, str>,
    /// When it has ended well.
    pub(super) did: Cow<'static, str>,
    /// What it is called when there is nothing to say what it is about.
    pub(super) noun: Cow<'static, str>,
    /// The arguments that say what it is about, the best first; none is the command.
    pub(super) of: &'static [&'static str],
    /// Whether that is a path.
    pub(super) is_path: bool,
}

/// Names without their underscores and capitals, how they are spoken of, and the arguments that say what a call is about.
type ToolEntry = (&'static [&'static str], &'static str, &'static str, &'static str, &'static [&'static str]);

const PATH: &[&str] =
    &["path", "file_path", "filePath", "absolute_path", "filename", "file", "notebook_path"];
const PATTERN: &[&str] = &["pattern", "query", "q", "regex"];
const FOLDER: &[&str] = &["path", "dir_path", "directory", "dir"];
const TASK: &[&str] = &["description", "task", "prompt", "task_description"];
const PLAN: &[&str] = &["title", "content", "text", "explanation"];

/// The tools that put a question to a person.
const ASKING: &[&str] = &["askuser", "askuserquestion", "question", "requestuserinput"];

const TOOLS: &[ToolEntry] = &[
    (
        &[
            "bash",
            "shell",
            "execcommand",
            "bashcommand",
            "runshellcommand",
            "localshell",
            "usershell",
            "run",
            "execute",
            "terminal",
        ],
        "Running",
        "Ran",
        "a command",
        &[],
    ),
    (
        &["unifiedexec", "writestdin", "bashoutput", "readbash", "writebash"],
        "Talking to a terminal",
        "Talked to a terminal",
        "a terminal",
        &["command", "input", "chars", "shellId", "session_id"],
    ),
    (
        &["killshell", "killbash", "stopbash"],
        "Stopping a command",
        "Stopped a command",
        "a command",
        &["shell_id", "shellId"],
    ),
    (
        &[
            "applypatch",
            "edit",
            "multiedit",
            "replace",
            "strreplace",
            "strreplaceeditor",
            "editfile",
            "updatefileinchanges",
        ],
        "Editing",
        "Edited",
        "files",
        PATH,
    ),
    (&["write", "writefile", "create", "createfile", "addfiletochanges"], "Writing", "Wrote", "a file", PATH),
    (&["notebookedit"], "Editing a notebook", "Edited a notebook", "a notebook", PATH),
    (&["read", "readfile", "view", "readmanyfiles", "notebookread"], "Reading", "Read", "a file", PATH),
    (&["fetchfile"], "Fetching file", "Fetched file", "a file", PATH),
    (&["viewimage"], "Looking at an image", "Looked at an image", "an image", PATH),
    (&["list", "ls", "listdir", "listdirectory"], "Listing", "Listed", "a folder", FOLDER),
    (&["glob", "findfiles"], "Looking for files", "Looked for files", "files", PATTERN),
    (
        &["grep", "search", "searchfilecontent", "grepsearch", "codesearch"],
        "Searching",
        "Searched",
        "a search",
        PATTERN,
    ),
    (&["webfetch", "fetch", "browse"], "Fetching", "Fetched", "a page", &["url", "prompt"]),
    (
        &["websearch", "googlewebsearch"],
        "Searching the web",
        "Searched the web",
        "a search of the web",
        PATTERN,
    ),
    (
        &["updateplan", "todowrite", "writetodos", "todo"],
        "Updating the plan",
        "Updated the plan",
        "the plan",
        PLAN,
    ),
    (&["createtodo"], "Adding to the plan", "Added to the plan", "the plan", PLAN),
    (&["updatetodostatus"], "Updating the plan", "Updated the plan", "the plan", &["title", "status", "id"]),
    (&["todoread"], "Reading the plan", "Read the plan", "the plan", PLAN),
    (&["exitplanmode"], "Proposing a plan", "Proposed a plan", "a plan", PLAN),
    (ASKING, "Asking", "Asked", "a question", &["question", "prompt", "text"]),
    (&["task", "agent", "spawnagent"], "Delegating", "Delegated", "a task", TASK),
    (&["thinkexecute"], "Delegating to a sub-agent", "A sub-agent finished", "a task", TASK),
    (&["savememory", "memory"], "Remembering", "Remembered", "a fact", &["fact", "text", "content"]),
    (&["skill"], "Using a skill", "Used a skill", "a skill", &["skill", "name", "command"]),
    (&["sleep", "wait"], "Waiting", "Waited", "a while", &["seconds", "duration"]),
];

/// A name without its underscores and capitals.
fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').collect::<String>().to_lowercase()
}

/// Whether a call asks a person a question.
pub fn asks(call: &ToolCall) -> bool {
    ASKING.contains(&plain(&call.name).as_str())
}

impl ToolWording {
    pub(super) fn of(call: &ToolCall) -> Self {
        let name = call.name.as_str();
        if let Some(agent) = name.strip_prefix("delegate_to_").filter(|agent| *agent != "think_execute") {
            return Self::told(format!("Delegating to {agent}"), format!("{agent} finished"), "a task", TASK);
        }
        let plain = plain(name.trim_start_matches("delegate_to_"));
        if let Some((_, doing, did, noun, of)) =
            TOOLS.iter().find(|(names, ..)| names.contains(&plain.as_str()))
        {
            let is_path = *of == PATH || *of == FOLDER;
            return Self { doing: (*doing).into(), did: (*did).into(), noun: (*noun).into(), of, is_path };
        }
        match call.kind {
            ToolKind::Execute => Self::told("Running", "Ran", "a command", &[]),
            ToolKind::Read => Self { is_path: true, ..Self::told("Reading", "Read", "a file", PATH) },
            ToolKind::Edit => Self { is_path: true, ..Self::told("Editing", "Edited", "files", PATH) },
            ToolKind::Delete => Self { is_path: true, ..Self::told("Deleting", "Deleted", "a file", PATH) },
            ToolKind::Move => Self { is_path: true, ..Self::told("Moving", "Moved", "a file", PATH) },
            ToolKind::Search => Self::told("Searching", "Searched", "a search", PATTERN),
            ToolKind::Fetch => Self::told("Fetching", "Fetched", "a page", &["url"]),
            ToolKind::Think => Self::told("Thinking", "Thought", "a thought", &["thought"]),
            ToolKind::Delegate => Self::told("Delegating", "Delegated", "a task", TASK),
            ToolKind::Other => {
                let (doing, did) = (format!("Using {name}"), format!("Used {name}"));
                Self {
                    noun: name.to_owned().into(),
                    ..Self::told(doing, did, "", &["title", "name", "path", "query", "url"])
                }
            }
        }
    }

    fn told(
        doing: impl Into<Cow<'static, str>>,
        did: impl Into<Cow<'static, str>>,
        noun: &'static str,
        of: &'static [&'static str],
    ) -> Self {
        Self { doing: doing.into(), did: did.into(), noun: noun.into(), of, is_path: false }
    }
}

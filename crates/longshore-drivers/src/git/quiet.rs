//! Git that only tells: it runs no program that a repository names, and reaches no other machine.
//!
//! A repository's settings can name programs for nearly everything, and anybody may have written them: a folder that
//! is unpacked may hold a repository, and a clone may hold one as plain files. What the environment says comes before
//! them, so that every setting that names a program is said there. Names that the repository itself makes up are
//! asked for first: filters are told to do nothing, what turns a file into text to show it as it is. A program that
//! shows differences cannot be told to do nothing; see [`Quiet::shows`].

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Settings that name programs, or make git run or reach something, and what makes them do nothing.
const SETTINGS: [(&str, &str); 24] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("core.gitProxy", "false"),
    ("core.alternateRefsCommand", "false"),
    ("core.attributesFile", "/dev/null"),
    ("safe.bareRepository", "explicit"),
    ("gpg.program", "false"),
    ("gpg.openpgp.program", "false"),
    ("gpg.x509.program", "false"),
    ("gpg.ssh.program", "false"),
    ("log.showSignature", "false"),
    ("credential.helper", ""),
    ("protocol.allow", "never"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("diff.submodule", "short"),
    ("interactive.diffFilter", "cat"),
    ("sequence.editor", "false"),
    ("uploadpack.packObjectsHook", "false"),
    ("maintenance.auto", "false"),
];
/// The same as variables, for those that come before settings.
const VARIABLES: [(&str, &str); 12] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_ASKPASS", "false"),
];
/// A person's own settings that are heeded: they name no program, and git tells something else without them.
const OWN: [&str; 9] = [
    "safe.directory",
    "core.excludesfile",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.quotepath",
    "core.precomposeunicode",
    "core.abbrev",
    "diff.renames",
];

/// What git is told for one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quiet {
    settings: Vec<(String, String)>,
    shows: Vec<String>,
}

impl Quiet {
    /// For git that runs in this folder. Asks git what the repository's settings name, and does not wait for anything else.
    pub(crate) fn of(folder: &Path) -> Self {
        let mut settings = own_settings().to_vec();
        settings.extend(SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let mut quiet = Self { settings, shows: Vec::new() };
        let mut git = Command::new("git");
        git.args(["config", "--list", "--name-only", "--includes", "-z"]).current_dir(folder);
        for name in answer(quiet.dress(&mut git)) {
            quiet.silence(&name);
        }
        quiet
    }

    /// Settings of the repository that name a program which shows differences. It runs whenever git shows one.
    pub(crate) fn shows(&self) -> &[String] {
        &self.shows
    }

    fn silence(&mut self, name: &str) {
        let Some((section, key)) = name.rsplit_once('.') else { return };
        let value = match (section.split('.').next().unwrap_or(section), key) {
            ("filter", "clean" | "smudge" | "process") => "",
            ("filter", "required") => "false",
            ("diff", "textconv") => "cat",
            ("merge", "driver") => "false",
            ("credential", "helper") | ("remote", "vcs" | "proxy") => "",
            ("remote", "promisor") => "false",
            ("diff", "external" | "command") => return self.shows.push(name.to_owned()),
            _ => return,
        };
        self.settings.push((name.to_owned(), value.to_owned()));
    }

    /// The variables that tell it.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (String, String)> {
        let fixed = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let count = ("GIT_CONFIG_COUNT".to_owned(), self.settings.len().to_string());
        let settings = self.settings.iter().enumerate().flat_map(|(at, (name, value))| {
            [
                (format!("GIT_CONFIG_KEY_{at}"), name.clone()),
                (format!("GIT_CONFIG_VALUE_{at}"), value.clone()),
            ]
        });
        fixed.chain([count]).chain(settings)
    }

    fn dress<'a>(&self, git: &'a mut Command) -> &'a mut Command {
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_gits(name)) {
            git.env_remove(name);
        }
        git.envs(self.variables())
    }
}

/// Whether a variable tells git something.
pub(crate) fn is_gits(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"GIT_")
}

/// What people have set for all of their repositories, as far as it is heeded. It is asked for once.
fn own_settings() -> &'static [(String, String)] {
    static OWN_SETTINGS: OnceLock<Vec<(String, String)>> = OnceLock::new();
    OWN_SETTINGS.get_or_init(|| {
        let mut git = Command::new("git");
        // Where there is no repository, there are only theirs.
        git.args(["config", "--list", "--includes", "-z"])
            .current_dir("/")
            .env("GIT_CEILING_DIRECTORIES", "/");
        let told = answer(&mut git).into_iter();
        let pairs = told.filter_map(|line| {
            line.split_once('\n').map(|(name, value)| (name.to_owned(), value.to_owned()))
        });
        pairs.filter(|(name, _)| OWN.contains(&name.as_str())).collect()
    })
}

fn answer(git: &mut Command) -> Vec<String> {
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let told = output.map(|output| output.stdout).unwrap_or_default();
    told.split(|byte| *byte == 0).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

/// The file of names to ignore that a person has set, or where git looks for one. It is no secret.
pub(crate) fn ignored_names() -> Option<std::path::PathBuf> {
    let said = own_settings().iter().rev().find(|(name, _)| name == "core.excludesfile");
    let home = std::env::home_dir();
    match said {
        Some((_, path)) => match path.strip_prefix("~/") {
            Some(rest) => home.map(|home| home.join(rest)),
            None => Some(path.into()),
        },
        None => {
            let config = std::env::var_os("XDG_CONFIG_HOME").map(std::path::PathBuf::from);
            config.or_else(|| home.map(|home| home.join(".config"))).map(|config| config.join("git/ignore"))
        }
    }
}

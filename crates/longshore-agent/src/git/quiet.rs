//! A git that only reports: it runs no program that a repository names, and reaches no other machine.
//!
//! A repository's settings can name programs for nearly everything, and anybody may have written them: an
//! unpacked folder can hold a repository, and a clone can hold one as plain files. Variables of the
//! environment override these settings, so every setting that names a program is overridden there. The names
//! that the repository itself invents are read first: its filters and text converters are set to do nothing.
//! A program that shows differences cannot be turned off; see [`Quiet::shows`]. Git would start another git
//! in a submodule, without these variables, so git is never let into one.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use crate::sandbox::search_path;
use longshore_drivers::keyless::keyless;

/// How long git may take to report its settings. A repository can make git wait for ever: a setting can name a pipe.
const WITHIN: Duration = Duration::from_secs(3);
/// How many bytes of settings the agent reads. A longer list is refused, since it could hide a setting at its end.
const LENGTH: u64 = 4 << 20;
/// How many bytes of settings the agent overrides: systems limit the environment of a process to little more.
const ANSWERED: usize = 64 << 10;

/// Settings that name programs, or make git run or reach something, with the values that turn them off.
const SETTINGS: [(&str, &str); 25] = [
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
    ("diff.ignoreSubmodules", "dirty"),
    ("interactive.diffFilter", "cat"),
    ("sequence.editor", "false"),
    ("uploadpack.packObjectsHook", "false"),
    ("maintenance.auto", "false"),
];
/// Variables with the same purpose, for which git has no setting or which take precedence over the setting.
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
/// A person's own settings that stay in effect. They name no program, and git's reports would differ without them.
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

/// The overrides for git in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quiet {
    settings: Vec<(OsString, OsString)>,
    shows: Vec<String>,
    /// Whether git reported all of its settings, and the overrides fit into the environment. If not, the variables
    /// make git find no repository.
    told: bool,
}

impl Quiet {
    /// The overrides for a git command that uses none of the names that the repository invents.
    pub(super) fn unasked(folder: &Path) -> Self {
        let mut settings = own_settings(folder).to_vec();
        settings.extend(SETTINGS.map(|(name, value)| (name.into(), value.into())));
        Self { settings, shows: Vec::new(), told: true }
    }

    /// The overrides for git that runs in this folder. Asks git for the names of the repository's settings, and waits
    /// for nothing else.
    pub(crate) fn of(folder: &Path) -> Self {
        let mut quiet = Self::unasked(folder);
        let names = quiet.names(folder, &[]);
        let root = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
        // If the file is missing, git reads it from the index or from the last commit.
        let of_modules: Vec<Option<Vec<OsString>>> = match root.join(".gitmodules").exists() {
            true => vec![quiet.names(root, &["--file", ".gitmodules"])],
            false => {
                [":.gitmodules", "HEAD:.gitmodules"].map(|blob| quiet.names(root, &["--blob", blob])).into()
            }
        };
        quiet.told = names.is_some() && of_modules.iter().all(Option::is_some);
        let fixed = quiet.settings.len();
        for name in names.into_iter().chain(of_modules.into_iter().flatten()).flatten() {
            quiet.silence(&name);
        }
        let answered: usize =
            quiet.settings[fixed..].iter().map(|(name, value)| name.len() + value.len()).sum();
        if answered > ANSWERED {
            quiet.told = false;
            quiet.settings.truncate(fixed);
        }
        quiet
    }

    /// The names of the settings of one file, or of all files. Returns none unless the list is complete.
    fn names(&self, folder: &Path, place: &[&str]) -> Option<Vec<OsString>> {
        let mut git = keyless("git");
        git.args(["config", "--list", "--name-only", "--includes", "-z"]).args(place).current_dir(folder);
        git.envs(self.variables()).env("PATH", search_path(&[folder.to_owned()]));
        let GitOutput { parts, good } = answer(&mut git)?;
        // With a place, git also fails if the file is missing. This is no fault.
        (good || !place.is_empty()).then_some(parts)
    }

    /// Settings of the repository that name a program which shows differences. Git runs it whenever git shows one.
    pub(crate) fn shows(&self) -> &[String] {
        &self.shows
    }

    /// Overrides a setting. The repository invents the middle part of its name, which may be any bytes.
    fn silence(&mut self, name: &OsStr) {
        let parts = || name.as_bytes().split(|byte| *byte == b'.');
        let (Some(section), Some(key)) = (parts().next(), parts().next_back()) else { return };
        let value = match (section, key) {
            (b"filter", b"clean" | b"smudge" | b"process") => "",
            (b"filter", b"required") => "false",
            (b"diff", b"textconv") => "cat",
            (b"merge", b"driver") => "false",
            (b"credential", b"helper") | (b"remote", b"vcs" | b"proxy") => "",
            (b"remote", b"promisor") => "false",
            (b"diff", b"external" | b"command") => {
                return self.shows.push(name.to_string_lossy().into_owned());
            }
            (b"submodule", _) if parts().count() > 2 => {
                let module = &name.as_bytes()[..name.len() - key.len()];
                let ignored = [module, b"ignore".as_slice()].concat();
                return self.settings.push((OsString::from_vec(ignored), "dirty".into()));
            }
            _ => return,
        };
        self.settings.push((name.to_owned(), value.into()));
    }

    /// The variables of the environment that carry the overrides.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        let fixed = VARIABLES.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let nowhere = (!self.told).then(|| ("GIT_DIR".into(), "/dev/null".into()));
        let count = ("GIT_CONFIG_COUNT".into(), self.settings.len().to_string().into());
        let settings = self.settings.iter().enumerate().flat_map(|(at, (name, value))| {
            [
                (format!("GIT_CONFIG_KEY_{at}").into(), name.clone()),
                (format!("GIT_CONFIG_VALUE_{at}").into(), value.clone()),
            ]
        });
        fixed.chain(nowhere).chain([count]).chain(settings)
    }
}

/// Whether a variable of the environment is for git.
pub(crate) fn is_gits(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"GIT_")
}

/// The settings of a person for all repositories, as far as they stay in effect. The agent asks for them once, with a
/// git that does not lie in this folder.
fn own_settings(folder: &Path) -> &'static [(OsString, OsString)] {
    static OWN_SETTINGS: OnceLock<Vec<(OsString, OsString)>> = OnceLock::new();
    OWN_SETTINGS.get_or_init(|| {
        let mut git = keyless("git");
        // Without a repository, git reports only the person's settings.
        git.args(["config", "--list", "--includes", "-z"])
            .current_dir("/")
            .env("GIT_CEILING_DIRECTORIES", "/")
            .env("PATH", search_path(&[folder.to_owned()]));
        let pair = |line: OsString| {
            let at = line.as_bytes().iter().position(|byte| *byte == b'\n')?;
            let (name, value) = line.as_bytes().split_at(at);
            let value = OsString::from_vec(value.get(1..)?.to_vec());
            Some((OsString::from_vec(name.to_vec()), value))
        };
        let told = answer(&mut git).unwrap_or_default().parts;
        let pairs = told.into_iter().filter_map(pair);
        pairs.filter(|(name, _)| OWN.iter().any(|own| name == own)).collect()
    })
}

/// The output of git.
#[derive(Debug, Default)]
pub(super) struct GitOutput {
    pub(super) parts: Vec<OsString>,
    /// Whether git succeeded.
    good: bool,
}

/// The whole output of git. Returns none if git does not end, or writes too much.
pub(super) fn answer(git: &mut Command) -> Option<GitOutput> {
    answer_with(git, |_| true)
}

/// The wanted parts of git's output. Other parts do not count towards the limit.
pub(super) fn answer_with(git: &mut Command, wanted: fn(&[u8]) -> bool) -> Option<GitOutput> {
    let git = git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    // Without git, there are no settings.
    let Ok(mut git) = git else { return Some(GitOutput { parts: Vec::new(), good: true }) };
    let said = BufReader::new(git.stdout.take()?);
    let (heard, hearing) = mpsc::channel();
    std::thread::spawn(move || {
        // The receiver is gone if git took too long.
        let _ = heard.send(parts(said, wanted));
    });
    let parts = hearing.recv_timeout(WITHIN).ok().and_then(Result::ok);
    if parts.is_none() {
        // Git may have ended meanwhile.
        let _ = git.kill();
    }
    let good = git.wait().is_ok_and(|status| status.success());
    Some(GitOutput { parts: parts?, good })
}

/// The wanted parts of an output whose parts end with a zero byte.
fn parts(mut said: impl BufRead, wanted: fn(&[u8]) -> bool) -> io::Result<Vec<OsString>> {
    let (mut parts, mut room) = (Vec::new(), LENGTH);
    loop {
        let mut part = Vec::new();
        let length = said.by_ref().take(room).read_until(0, &mut part)? as u64;
        if length == 0 {
            return Ok(parts);
        }
        if length == room {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        part.pop_if(|last| *last == 0);
        if wanted(&part) {
            room -= length;
            parts.push(OsString::from_vec(part));
        }
    }
}

/// The file of ignored names that a person has set, or the file that git reads by default. The file is no secret.
pub(crate) fn ignored_names(folder: &Path) -> Option<std::path::PathBuf> {
    let said = own_settings(folder).iter().rev().find(|(name, _)| name == "core.excludesfile");
    let home = std::env::home_dir();
    match said {
        Some((_, path)) => match Path::new(path).strip_prefix("~") {
            Ok(rest) => home.map(|home| home.join(rest)),
            Err(_) => Some(path.into()),
        },
        None => {
            let config = std::env::var_os("XDG_CONFIG_HOME").map(std::path::PathBuf::from);
            config.or_else(|| home.map(|home| home.join(".config"))).map(|config| config.join("git/ignore"))
        }
    }
}

//! `search`: ripgrep's own crates, which respect `.gitignore`.

use std::path::{Path, PathBuf};

use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::ToolResult;
use super::bound::floor;
use super::text::latin1;
use longshore_drivers::host_io::files::bytes_of;

/// How many matching lines a search returns by default.
const MATCHES: usize = 200;
/// How many matching lines a search may return.
const MATCHES_LIMIT: usize = 2000;
/// How many bytes of a line a search returns.
const LINE_LIMIT: usize = 300;
/// How many lines around a match a search may return.
const CONTEXT_LIMIT: usize = 10;
/// The maximal length of a line, in bytes, in a file that is too long to read at once.
const LINE_HEAP: usize = 16 << 20;
/// The files in which a folder lists ignored names.
const RULES: [&str; 3] = [".ignore", ".gitignore", ".git/info/exclude"];
/// The maximal length of such a file.
const RULES_BYTES: u64 = 1 << 20;

/// The arguments of the model.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SearchArguments {
    #[serde(alias = "query")]
    pub(super) pattern: String,
    #[serde(default = "super::read::here")]
    pub(super) path: String,
    /// A glob for files: `*.rs`, `!target/**`.
    #[serde(default, alias = "include")]
    pub(super) glob: Option<String>,
    #[serde(default)]
    pub(super) ignore_case: bool,
    /// Whether the pattern is plain text.
    #[serde(default)]
    pub(super) literal: bool,
    /// How many lines around each match the model gets.
    #[serde(default)]
    pub(super) context: usize,
    #[serde(default)]
    pub(super) limit: Option<usize>,
    /// Whether the model wants only the names of files.
    #[serde(default)]
    pub(super) files_only: bool,
}

/// Searches a place for a pattern. The result names files relative to the path that the model wrote.
pub(super) fn search(place: &Path, arguments: &SearchArguments, cancel: &CancellationToken) -> ToolResult {
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(arguments.ignore_case)
        .fixed_strings(arguments.literal)
        .line_terminator(Some(b'\n'))
        .build(&arguments.pattern);
    let matcher = match matcher {
        Ok(matcher) => matcher,
        Err(error) => {
            return ToolResult::failed(format!(
                "the pattern is no regular expression: {error}; give \"literal\": true to look for plain text"
            ));
        }
    };
    if let Some(folder) = place.ancestors().find(|folder| !has_plain_rules(folder)) {
        return ToolResult::failed(format!(
            "one of {}, or of what .git leads to, in {} is no file of at most {RULES_BYTES} bytes, so that nothing is searched there",
            RULES.join(", "),
            folder.display()
        ));
    }
    let mut walk = WalkBuilder::new(place);
    // The search skips `.git` and includes other hidden files. The folder need not be a repository.
    walk.hidden(false).require_git(false).filter_entry(|entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.file_name() != ".git" && (!is_folder || has_plain_rules(entry.path()))
    });
    walk.sort_by_file_path(std::cmp::Ord::cmp);
    if let Some(glob) = &arguments.glob {
        let mut globs = OverrideBuilder::new(place);
        match globs.add(glob).and_then(|globs| globs.build()) {
            Ok(globs) => walk.overrides(globs),
            Err(error) => return ToolResult::failed(format!("the glob is none: {error}")),
        };
    }
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .before_context(arguments.context.min(CONTEXT_LIMIT))
        .after_context(arguments.context.min(CONTEXT_LIMIT))
        .line_number(true)
        .heap_limit(Some(LINE_HEAP))
        .build();
    let mut found = MatchSink {
        name: String::new(),
        text: String::new(),
        matches: 0,
        limit: arguments.limit.unwrap_or(MATCHES).clamp(1, MATCHES_LIMIT),
        files_only: arguments.files_only,
    };
    for entry in walk.build().filter_map(Result::ok) {
        if found.is_full() || cancel.is_cancelled() {
            break;
        }
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        found.name = named(place, &arguments.path, entry.path());
        // The search skips a file that it cannot read, as ripgrep does.
        let _ = match bytes_of(entry.path(), &found.name).map(readable) {
            Ok(bytes) => searcher.search_slice(&matcher, &bytes, &mut found),
            // The file is too long to read at once, or cannot be read at all.
            Err(_) => searcher.search_path(&matcher, entry.path(), &mut found),
        };
    }
    found.result()
}

/// Whether the ignore files of a folder are short regular files. The crates read all of them to the end.
fn has_plain_rules(folder: &Path) -> bool {
    RULES.iter().all(|name| is_plain(&folder.join(name))) && leads_to_plain_rules(folder)
}

/// Whether a path does not exist, is a folder, or is a short regular file.
fn is_plain(path: &Path) -> bool {
    path.metadata().map_or(true, |found| found.is_dir() || (found.is_file() && found.len() <= RULES_BYTES))
}

/// Whether the ignore rules to which a `.git` file leads are plain, too. The `.git` file names a folder, and the file
/// `commondir` there names the folder with the rules. The crates decide what these paths are relative to, so this
/// checks every place that they may read.
fn leads_to_plain_rules(folder: &Path) -> bool {
    let file = folder.join(".git");
    if file.is_dir() {
        return true;
    }
    if !is_plain(&file) {
        return false;
    }
    let Some(named) = first_line(&file) else { return true };
    let Some(named) = named.strip_prefix("gitdir: ") else { return true };
    [PathBuf::from(named), folder.join(named)].iter().all(|place| {
        let file = place.join("commondir");
        is_plain(&file)
            && first_line(&file).is_none_or(|common| {
                let places = [PathBuf::from(&common), place.join(&common)];
                places.iter().all(|place| is_plain(&place.join("info/exclude")))
            })
    })
}

/// The first line of a file that is known to be short.
fn first_line(file: &Path) -> Option<String> {
    let text = std::fs::read(file).ok()?;
    let line = text.split(|byte| *byte == b'\n').next()?;
    Some(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
}

/// Converts Latin-1, so that a search finds and shows text as other tools show it. Ripgrep handles a file that begins
/// with the mark of another encoding.
fn readable(bytes: Vec<u8>) -> Vec<u8> {
    let marked = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if marked || std::str::from_utf8(&bytes).is_ok() {
        return bytes;
    }
    latin1(&bytes).map_or(bytes, String::into_bytes)
}

/// The name of a file relative to the path that the model wrote.
fn named(place: &Path, shown: &str, file: &Path) -> String {
    match file.strip_prefix(place) {
        Ok(rest) if rest.as_os_str().is_empty() => shown.to_owned(),
        Ok(rest) if shown == "." => rest.display().to_string(),
        Ok(rest) => Path::new(shown).join(rest).display().to_string(),
        Err(_) => file.display().to_string(),
    }
}

struct MatchSink {
    name: String,
    text: String,
    matches: usize,
    limit: usize,
    files_only: bool,
}

impl MatchSink {
    fn is_full(&self) -> bool {
        self.matches >= self.limit
    }

    fn tell(&mut self, sign: char, number: Option<u64>, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end();
        let cut = floor(line, LINE_LIMIT);
        let rest = if cut < line.len() { " [...]" } else { "" };
        let number = number.unwrap_or_default();
        self.text.push_str(&format!("{}{sign}{number}{sign}{}{rest}\n", self.name, &line[..cut]));
    }

    fn result(mut self) -> ToolResult {
        if self.matches == 0 {
            return ToolResult::done("[nothing was found]");
        }
        if self.is_full() {
            let what = if self.files_only { "files" } else { "matching lines" };
            self.text.push_str(&format!("[stopped after {} {what}; there may be more]\n", self.matches));
        }
        ToolResult::done(self.text)
    }
}

impl Sink for MatchSink {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        if self.files_only {
            self.text.push_str(&format!("{}\n", self.name));
            return Ok(false);
        }
        self.tell(':', found.line_number(), found.bytes());
        Ok(!self.is_full())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        if !self.files_only {
            self.tell('-', context.line_number(), context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.text.push_str("--\n");
        Ok(true)
    }
}

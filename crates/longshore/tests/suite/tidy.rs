//! The rules of the house as tests: what is where, who depends on whom, what must not be left lying about.
//!
//! Each message says what the rule is for and what to do. `tidy_texts.rs` holds the rules for documents and lockfiles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Who may depend on whom: north and south know the waist, never each other.
const ARROWS: [(&str, &[&str]); 8] = [
    ("longshore-model", &[]),
    ("longshore-log", &["longshore-model"]),
    ("longshore-session", &["longshore-log", "longshore-model"]),
    ("longshore-models", &["longshore-model"]),
    ("longshore-drivers", &["longshore-model"]),
    ("longshore-agent", &["longshore-drivers", "longshore-model", "longshore-models"]),
    ("longshore-facades", &["longshore-model", "longshore-session"]),
    (
        "longshore",
        &[
            "longshore-agent",
            "longshore-drivers",
            "longshore-facades",
            "longshore-log",
            "longshore-model",
            "longshore-models",
            "longshore-session",
        ],
    ),
];

/// Tests that do not run by themselves, and why.
const IGNORED: [(&str, &str); 1] =
    [("crates/longshore-log/tests/crash.rs", "the child process of a test, which runs it by name")];

/// How long a source file may be before it surely holds two ideas.
const LONGEST: usize = 500;
/// Those that are longer, and why. May it stay empty.
const LONGER: &[(&str, &str)] = &[];

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file that is tracked, or would be if it were added.
pub(super) fn files() -> Vec<String> {
    let git = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    assert!(git.status.success(), "git ls-files: {}", String::from_utf8_lossy(&git.stderr));
    let listed = String::from_utf8(git.stdout).unwrap();
    let mut files: Vec<String> = listed.lines().map(str::to_owned).collect();
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    assert!(files.len() > 100, "the files are gone");
    files
}

pub(super) fn read(file: &str) -> String {
    let bytes = std::fs::read(root().join(file)).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn rust_files() -> impl Iterator<Item = String> {
    files().into_iter().filter(|file| file.ends_with(".rs"))
}

/// Fails with all faults at once, so that one run is enough to mend them.
pub(super) fn none(faults: Vec<String>, rule: &str) {
    assert!(faults.is_empty(), "{rule}\n\n  {}\n", faults.join("\n  "));
}

fn manifest(krate: &str) -> toml::Table {
    read(&format!("crates/{krate}/Cargo.toml")).parse().unwrap()
}

fn dependencies(krate: &str) -> BTreeSet<String> {
    let manifest = manifest(krate);
    let of = |section: &str| manifest.get(section).and_then(|table| table.as_table()).cloned();
    let all = ["dependencies", "build-dependencies"].into_iter().filter_map(of);
    all.flat_map(|table| table.keys().cloned().collect::<Vec<_>>()).collect()
}

#[test]
fn crates_depend_on_each_other_as_the_hourglass_says() {
    let crates: BTreeSet<String> = files()
        .iter()
        .filter_map(|file| file.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").map(str::to_owned))
        .collect();
    let known: BTreeSet<String> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(crates, known, "`ls crates` draws the hourglass: a new crate needs its arrows in {}", file!());
    let mut faults = Vec::new();
    for (krate, allowed) in ARROWS {
        for other in dependencies(krate).iter().filter(|name| name.starts_with("longshore")) {
            if !allowed.contains(&other.as_str()) {
                faults.push(format!("{krate} depends on {other}"));
            }
        }
    }
    none(
        faults,
        "No facade knows a driver, no driver a facade, and the model knows nobody. Move what is shared to the model.",
    );
}

/// What the built-in agent needs, and no driver: a driver is compiled and fuzzed without it.
#[test]
fn drivers_bring_no_heavy_packages() {
    let heavy = ["grep", "ignore", "landlock", "pty-process", "reqwest", "rmcp", "rustls", "seccompiler"];
    let all = dependencies("longshore-drivers");
    let found = all.into_iter().filter(|name| heavy.iter().any(|heavy| name.starts_with(heavy)));
    none(found.collect(), "Put it into longshore-agent or longshore-models.");
}

#[test]
fn the_model_is_pure() {
    let runtimes =
        ["tokio", "async-std", "smol", "futures", "rusqlite", "axum", "rustix", "getrandom", "mio"];
    let mut faults: Vec<String> = dependencies("longshore-model")
        .into_iter()
        .filter(|name| runtimes.iter().any(|runtime| name.starts_with(runtime)))
        .map(|name| format!("Cargo.toml: {name}"))
        .collect();
    let impure = [
        "SystemTime",
        "Instant",
        "::now()",
        "std::fs",
        "std::net",
        "std::env",
        "std::process",
        "std::thread",
    ];
    let impure: Vec<&str> = impure.into_iter().chain([".await", "async fn", "async move"]).collect();
    for file in rust_files().filter(|file| file.starts_with("crates/longshore-model/src/")) {
        for (at, line) in read(&file).lines().enumerate().filter(|(_, line)| !is_comment(line)) {
            faults.extend(
                impure
                    .iter()
                    .filter(|word| line.contains(*word))
                    .map(|word| format!("{file}:{}: {word}", at + 1)),
            );
        }
    }
    none(
        faults,
        "The model never awaits, reads no clock and opens no file: give it what it needs as a parameter.",
    );
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

#[test]
fn every_source_file_says_what_it_holds() {
    let faults = rust_files().filter(|file| !read(file).starts_with("//! ")).collect();
    none(faults, "A file opens with a `//!` line that says what it holds, in a sentence.");
}

#[test]
fn nothing_is_left_for_later() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX"), concat!("HA", "CK")];
    let calls = [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!(")];
    let ignore = concat!("#[ig", "nore");
    let prose = |file: &str| {
        [".rs", ".toml", ".md", ".sql", ".mjs", "Makefile", "run"].iter().any(|end| file.ends_with(end))
    };
    let mut faults = Vec::new();
    for file in files().into_iter().filter(|file| prose(file)) {
        let text = read(&file);
        for (at, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
            let left =
                marks.iter().any(|mark| words.contains(mark)) || calls.iter().any(|call| line.contains(call));
            let ignored = line.contains(ignore) && !IGNORED.iter().any(|(allowed, _)| *allowed == file);
            if left || ignored {
                faults.push(format!("{file}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    none(
        faults,
        "Do it now, or open an issue. A test that may not run belongs in the list at the top of tidy.rs, with its reason.",
    );
}

#[test]
fn no_source_file_holds_two_ideas() {
    let long: BTreeMap<String, usize> = rust_files()
        .filter(|file| file.contains("/src/") && !file.contains("/tests/"))
        .map(|file| (file.clone(), read(&file).lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .collect();
    let excused = |file: &str| LONGER.iter().any(|(longer, _)| *longer == file);
    let mut faults: Vec<String> = long
        .iter()
        .filter(|(file, _)| !excused(file))
        .map(|(file, lines)| format!("{file} has {lines} lines"))
        .collect();
    let short = LONGER.iter().filter(|(file, _)| !long.contains_key(*file));
    faults.extend(short.map(|(file, _)| format!("{file} is short now: take it off the list in tidy.rs")));
    none(faults, "Past 500 lines a file holds two ideas: find the seam.");
}

#[test]
fn no_module_is_called_something_that_says_nothing() {
    let empty = ["core", "common", "util", "utils", "helper", "helpers", "manager", "misc"];
    let says_nothing = |file: &String| {
        let name = file.strip_suffix("/mod.rs").or_else(|| file.strip_suffix(".rs")).unwrap_or(file);
        empty.contains(&name.rsplit('/').next().unwrap_or(name))
    };
    none(rust_files().filter(says_nothing).collect(), "Name a module after what it holds.");
}

/// How many types may have one name: a thing, and its counterpart in another crate.
const NAMESAKES: usize = 2;

/// The top-level types that a file defines, but for those of its tests.
fn types(source: &str) -> impl Iterator<Item = &str> {
    source.lines().take_while(|line| *line != "#[cfg(test)]").filter_map(|line| {
        let line = line.strip_prefix("pub").map_or(line, |rest| match rest.split_once(") ") {
            Some((scope, rest)) if scope.starts_with('(') => rest,
            _ => rest.trim_start(),
        });
        let (kind, rest) = line.split_once(' ')?;
        let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
        ["struct", "enum", "union", "trait", "type"].contains(&kind).then_some(name)
    })
}

#[test]
fn the_name_of_a_type_says_which_one_it_is() {
    let mut defined: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let is_wire = |file: &String| file.ends_with("/wire.rs") || file.contains("/wire/");
    for file in rust_files().filter(|file| file.contains("/src/") && !is_wire(file)) {
        for name in types(&read(&file)) {
            defined.entry(name.to_owned()).or_default().push(file.clone());
        }
    }
    assert!(defined.len() > 900, "the types are gone: {}", defined.len());
    let shared = defined.iter().filter(|(_, files)| files.len() > NAMESAKES);
    let faults = shared.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    none(faults, "A type has a noun of its own. Only `wire` modules keep the names that others gave.");
}

#[test]
fn whoever_has_a_process_group_of_its_own_is_on_the_leash() {
    let south = ["crates/longshore-drivers/src/", "crates/longshore-agent/src/"];
    let in_south = rust_files().filter(|file| south.iter().any(|krate| file.starts_with(krate)));
    let starts = |file: &String| !file.contains("/leash/") && read(file).contains(".process_group(0)");
    let starting: Vec<String> = in_south.filter(starts).collect();
    assert!(starting.len() >= 3, "{starting:?}");
    let is_loose =
        |file: &String| !["leash::hold(", "Group::new("].iter().all(|word| read(file).contains(word));
    let loose = starting.into_iter().filter(is_loose).collect();
    none(loose, "Nothing outlives the hub: hold what you start with `leash::hold`, and end it as a `Group`.");
}

#[test]
fn no_test_file_is_forgotten() {
    let mut faults = Vec::new();
    for file in rust_files().filter(|file| file.contains("/tests/")) {
        let path = Path::new(&file);
        let (folder, stem) = (path.parent().unwrap(), path.file_stem().unwrap().to_str().unwrap());
        let (folder, module) = match stem {
            "main" => continue,
            "mod" => (folder.parent().unwrap(), folder.file_name().unwrap().to_str().unwrap()),
            _ => (folder, stem),
        };
        let declared = ["main.rs", "mod.rs"]
            .iter()
            .map(|name| folder.join(name))
            .filter(|list| root().join(list).is_file())
            .any(|list| {
                read(list.to_str().unwrap())
                    .lines()
                    .any(|line| line.trim_start_matches("pub(crate) ").trim() == format!("mod {module};"))
            });
        if !declared {
            faults.push(format!("{file}: no `mod {module};` in {}", folder.display()));
        }
    }
    none(faults, "A test file that no `mod` line names is never compiled, let alone run.");
}

/// A fresh clone on a machine without Node must still come to a program; its page says what is missing.
#[test]
fn what_make_builds_has_no_line_tables() {
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    let release = &workspace["profile"]["release"];
    let strips = release.get("strip").and_then(toml::Value::as_str);
    assert_eq!(strips, Some("debuginfo"), "they are most of the file; names are enough for a backtrace");
}

#[test]
fn without_node_make_leaves_the_web_app_out() {
    let tools = tempfile::tempdir().unwrap();
    let known = std::env::var_os("PATH").unwrap();
    for tool in ["sh", "make", "find", "cksum", "tr"] {
        let place =
            std::env::split_paths(&known).map(|folder| folder.join(tool)).find(|place| place.exists());
        std::os::unix::fs::symlink(place.unwrap_or_else(|| panic!("no {tool}")), tools.path().join(tool))
            .unwrap();
    }
    let plan = Command::new(tools.path().join("make"))
        .args(["-n", "run"])
        .current_dir(root())
        .env("PATH", tools.path())
        .env_remove("MAKEFLAGS")
        .output()
        .unwrap();
    let plan = String::from_utf8(plan.stdout).unwrap();
    assert!(plan.contains("cargo run --release"), "{plan}");
    assert!(plan.contains("npm is missing"), "{plan}");
    assert!(!plan.contains("npm ci") && !plan.contains("npm run"), "{plan}");
}

//! The rules of the house for what is not code: documents, lockfiles, and what must not be in any file.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::tidy::{files, none, read, root};

/// Strings that look like a path of somebody's machine and are none, by file.
const NO_MACHINE: [(&str, &str); 1] = [(
    "crates/longshore-drivers/tests/codex/items.rs",
    "codex names its sub-agents by paths that begin at its own root",
)];

fn documents() -> Vec<String> {
    let at_top = |file: &String| file.ends_with(".md") && (!file.contains('/') || file.starts_with("docs/"));
    files().into_iter().filter(at_top).collect()
}

/// The lines of a document outside of fenced blocks, with their numbers.
fn prose(document: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (at, line) in read(document).lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((at + 1, line.to_owned()));
        }
    }
    lines
}

/// `docs/../README.md` is `README.md`.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            _ => plain.push(part),
        }
        plain
    })
}

fn between<'a>(line: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let pieces = line.split(open).skip(1);
    pieces.filter_map(|piece| piece.split_once(close).map(|(inside, _)| inside)).collect()
}

/// What a heading is called in an address.
fn anchor(heading: &str) -> String {
    let letters = heading.trim_start_matches('#').trim().to_lowercase();
    letters
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut faults = Vec::new();
    for document in documents() {
        let folder = Path::new(&document).parent().unwrap();
        for (at, line) in prose(&document) {
            for link in between(&line, "](", ")").into_iter().filter(|link| !link.contains("://")) {
                let (file, section) = link.split_once('#').unwrap_or((link, ""));
                let target =
                    if file.is_empty() { PathBuf::from(&document) } else { plain(&folder.join(file)) };
                let there = root().join(&target).exists();
                let has = |wanted: &str| {
                    let text = prose(target.to_str().unwrap());
                    text.iter().any(|(_, line)| line.starts_with('#') && anchor(line) == wanted)
                };
                if !there || (!section.is_empty() && !has(section)) {
                    faults.push(format!("{document}:{at}: {link}"));
                }
            }
        }
    }
    none(faults, "These links lead nowhere.");
}

#[test]
fn files_that_documents_name_exist() {
    let files = files();
    let tops: BTreeSet<&str> =
        files.iter().filter_map(|file| file.split_once('/').map(|(top, _)| top)).collect();
    let is_there = |name: &str| {
        let name = name.trim_end_matches('/');
        let (whole, end) = (format!("{name}/"), format!("/{name}"));
        files.iter().any(|file| file == name || file.starts_with(&whole) || file.ends_with(&end))
    };
    let is_path = |span: &str| {
        let legal = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        let named = [".rs", ".md", ".sql", ".toml", ".ts", ".json", ".jsonl", ".snap"]
            .iter()
            .any(|end| span.ends_with(end));
        let begins = span.split_once('/').is_some_and(|(top, _)| tops.contains(top));
        let placeholder = ["NAME", "VERSION", "SCENARIO", "DIR/"].iter().any(|word| span.contains(word));
        // What npm lays down is not ours.
        let placeholder = placeholder || span.contains("node_modules");
        let of_ours = begins || (span.contains('/') && named) || span.ends_with(".rs");
        span.chars().all(legal) && !span.starts_with(['/', '.']) && !placeholder && of_ours
    };
    let mut faults = Vec::new();
    for document in documents() {
        for (at, line) in prose(&document) {
            let spans = line.split('`').skip(1).step_by(2);
            let lost = spans.filter(|span| is_path(span) && !is_there(span));
            faults.extend(lost.map(|span| format!("{document}:{at}: {span}")));
        }
    }
    none(faults, "These files are not there (any more): documents are true now, or they are mended now.");
}

#[test]
fn tests_that_documents_name_exist() {
    let sources: Vec<String> =
        files().iter().filter(|file| file.ends_with(".rs")).map(|file| read(file)).collect();
    // Nothing but a test has such a name.
    let is_test = |span: &str| {
        span.matches('_').count() >= 3
            && span.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let exists = |name: &str| sources.iter().any(|source| source.contains(&format!("fn {name}(")));
    let (mut faults, mut named) = (Vec::new(), 0);
    for document in documents() {
        for (at, line) in prose(&document) {
            for span in line.split('`').skip(1).step_by(2).filter(|span| is_test(span)) {
                named += 1;
                if !exists(span) {
                    faults.push(format!("{document}:{at}: {span}"));
                }
            }
        }
    }
    assert!(named >= 10, "ARCHITECTURE.md names the test that holds each promise");
    none(
        faults,
        "A promise is held by a test. These are not there (any more): name the ones that hold it now.",
    );
}

#[test]
fn every_verb_is_documented() {
    let help = Command::new(env!("CARGO_BIN_EXE_longshore")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let verbs =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> =
        verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").collect();
    assert!(verbs.len() >= 19, "the help lists the verbs: {verbs:?}");
    let texts: Vec<String> = documents().iter().map(|document| read(document)).collect();
    let names = |text: &str, verb: &str| {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
        text.split("longshore ").skip(1).any(|after| after.strip_prefix(verb).is_some_and(ends))
    };
    let told = |verb: &str| texts.iter().any(|text| names(text, verb));
    let faults =
        verbs.into_iter().filter(|verb| !told(verb)).map(|verb| format!("longshore {verb}")).collect();
    none(faults, "A verb that no document names is not there for anybody. docs/configuration.md lists them.");
}

#[test]
fn lockfiles_name_no_mirror() {
    let mut faults = Vec::new();
    for file in files() {
        let text = match file.rsplit('/').next() {
            Some("Cargo.lock" | "package-lock.json") => read(&file),
            _ => continue,
        };
        for (at, line) in text.lines().enumerate() {
            let source = line.strip_prefix("source = ");
            let foreign = source
                .is_some_and(|source| source != "\"registry+https://github.com/rust-lang/crates.io-index\"");
            if foreign || line.trim_start().starts_with("\"resolved\"") {
                faults.push(format!("{file}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    none(faults, "A lockfile pins versions and hashes, not the place that one machine fetched them from.");
}

#[test]
fn no_file_speaks_of_one_machine() {
    let places = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
    let mut faults = Vec::new();
    for file in files().into_iter().filter(|file| !NO_MACHINE.iter().any(|(excused, _)| excused == file)) {
        for (at, line) in read(&file).lines().enumerate() {
            if places.iter().any(|place| line.contains(place)) {
                faults.push(format!("{file}:{}", at + 1));
            }
        }
    }
    none(
        faults,
        "These paths are of one machine; use a temporary folder, or a made-up path such as /home/dev.",
    );
}

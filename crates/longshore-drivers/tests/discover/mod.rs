//! Where agents are found.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use longshore_drivers::codex::spec::find as find_codex;
use longshore_drivers::discover::{AgentSettings, Surroundings, Versions};

use crate::rig::{agents, fake_agent};

/// A file that may be run, in folders that are made for it.
fn program(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn found(settings: &AgentSettings, vars: &[(&str, &Path)]) -> Option<PathBuf> {
    find_codex(settings, &Surroundings::of(vars.iter().map(|(name, value)| (*name, *value)))).path
}

/// The native program in npm's package for this machine, as far as there is one.
fn native(node_modules: &Path) -> PathBuf {
    let (package, triple) = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "aarch64") => ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
        ("macos", "x86_64") => ("codex-darwin-x64", "x86_64-apple-darwin"),
        ("macos", _) => ("codex-darwin-arm64", "aarch64-apple-darwin"),
        (_, _) => ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    };
    node_modules.join("@openai").join(package).join("vendor").join(triple).join("bin/codex")
}

#[test]
fn codex_is_looked_for_from_the_most_to_the_least_particular_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    let path = program(at("bin/codex"));
    let own = program(at("home/.local/bin/codex"));
    let set = program(at("set/codex"));
    let named = program(at("named/codex"));
    let (home, bin, nothing) = (at("home"), at("bin"), AgentSettings::default());
    let settings = AgentSettings { path: Some(set.clone()), ..AgentSettings::default() };

    assert_eq!(found(&settings, &[("CODEX_PATH", &named), ("HOME", &home), ("PATH", &bin)]), Some(named));
    assert_eq!(found(&settings, &[("HOME", &home), ("PATH", &bin)]), Some(set));
    assert_eq!(found(&nothing, &[("CODEX_PATH", Path::new("")), ("HOME", &home), ("PATH", &bin)]), Some(own));
    if !Path::new("/usr/local/bin/codex").exists() {
        assert_eq!(found(&nothing, &[("HOME", &bin), ("PATH", &bin)]), Some(path));
        assert_eq!(found(&nothing, &[("HOME", &bin), ("PATH", &home)]), None);
    }
}

#[test]
fn a_name_that_leads_nowhere_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    program(bin.join("codex"));
    let around = Surroundings::of([("CODEX_PATH", Path::new("/no/codex")), ("PATH", &bin)]);
    let finding = find_codex(&AgentSettings::default(), &around);
    assert_eq!(finding.path, None);
    assert_eq!(finding.remark.as_deref(), Some("CODEX_PATH names /no/codex, which is not a program"));
}

#[test]
fn a_file_that_may_not_be_run_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    std::fs::create_dir_all(first.join("codex")).unwrap();
    std::fs::create_dir_all(&second).unwrap();
    std::fs::write(second.join("codex"), "").unwrap();
    let path = std::env::join_paths([&first, &second]).unwrap();
    assert_eq!(find_codex(&AgentSettings::default(), &Surroundings::of([("PATH", path)])).path, None);
}

#[test]
fn behind_the_script_of_npm_the_native_program_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, modules) in
        [("nested", "lib/node_modules/@openai/codex/node_modules"), ("hoisted", "lib/node_modules")]
    {
        let root = root.join(name);
        let script = program(root.join("lib/node_modules/@openai/codex/bin/codex.js"));
        let native = program(native(&root.join(modules)));
        let link = root.join("bin/codex");
        std::fs::create_dir_all(root.join("bin")).unwrap();
        symlink(&script, &link).unwrap();
        let settings = AgentSettings { path: Some(link), ..AgentSettings::default() };
        assert_eq!(found(&settings, &[]), Some(native), "{name}");
    }
}

#[test]
fn a_script_without_a_native_program_is_taken_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let script = program(folder.path().join("lib/node_modules/@openai/codex/bin/codex.js"));
    let settings = AgentSettings { path: Some(script.clone()), ..AgentSettings::default() };
    assert_eq!(found(&settings, &[]), Some(script));
}

#[tokio::test]
async fn a_program_is_asked_for_its_version_once_until_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (asked, link) = (folder.path().join("asked"), folder.path().join("agent"));
    symlink(fake_agent(), &link).unwrap();
    let settings = AgentSettings {
        path: Some(link.clone()),
        env: [("FAKE_AGENT_ASKED".to_owned(), asked.display().to_string())].into(),
        ..AgentSettings::default()
    };
    let versions = Versions::default();
    for _ in 0..2 {
        let info = versions.describe(&agents()[0], &settings, &Surroundings::default()).await;
        assert_eq!(info.version.as_deref(), Some("1.2.3"));
    }
    assert_eq!(std::fs::read_to_string(&asked).unwrap(), "asked\n");

    // The same path leads to another file now; this test knows no version of itself.
    std::fs::remove_file(&link).unwrap();
    symlink(std::env::current_exe().unwrap(), &link).unwrap();
    let info = versions.describe(&agents()[0], &settings, &Surroundings::default()).await;
    assert_eq!(info.version, None);
    assert!(info.path.is_some());
}

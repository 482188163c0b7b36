//! Programs that the hub runs for itself, beside agents that could read the environment of these programs.
//!
//! Every process of the same user can read the environment of such a program in `/proc`. So the program gets
//! the variables that it needs and nothing else: no token, and no keys of models or servers.

use std::ffi::{OsStr, OsString};
use std::process::Command;

use crate::leash;

/// The variables that a program gets: the person's name and paths, the language, the folder of
/// settings, and the mark of the leash.
const KEPT: [&str; 11] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "XDG_CONFIG_HOME",
    // The folder of Apple's git.
    "DEVELOPER_DIR",
    leash::VARIABLE,
];

/// A program with an environment that all processes may see.
pub fn keyless(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(seen_by_all(std::env::vars_os()));
    command
}

fn seen_by_all(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    all.filter(|(name, _)| KEPT.iter().any(|kept| name == OsStr::new(kept)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_hub_runs_for_itself_has_no_keys() {
        let ours = ["PATH", "LONGSHORE_TOKEN", "OPENAI_API_KEY", "GIT_DIR", "HOME"];
        let ours = ours.map(|name| (OsString::from(name), OsString::from("x")));
        let names: Vec<OsString> = seen_by_all(ours.into_iter()).map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "HOME"]);
        // The environment of the tests always has more variables than these.
        let told = keyless("env").output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let name = |line: &str| line.split('=').next().unwrap().to_owned();
        let strange: Vec<String> =
            told.lines().map(name).filter(|name| !KEPT.contains(&name.as_str())).collect();
        assert!(strange.is_empty() && told.contains("PATH="), "{told}");
    }
}

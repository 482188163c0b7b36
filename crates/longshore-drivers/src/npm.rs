//! The facts that npm has about a program that it installed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// How deep in its package a program may be.
const DEPTH: usize = 4;

#[derive(Deserialize)]
struct Package {
    version: String,
    bin: Programs,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Programs {
    One(PathBuf),
    Many(BTreeMap<String, PathBuf>),
}

/// The version of the package that contains the program. Programs take seconds to report it themselves, and
/// some cannot.
pub(crate) fn version(program: &Path) -> Option<String> {
    let program = program.canonicalize().ok()?;
    let package = program.ancestors().skip(1).take(DEPTH).find_map(|folder| {
        let text = std::fs::read(folder.join("package.json")).ok()?;
        let package: Package = serde_json::from_slice(&text).ok()?;
        let is_it = |path: &PathBuf| folder.join(path).canonicalize().is_ok_and(|path| path == program);
        let has_it = match &package.bin {
            Programs::One(path) => is_it(path),
            Programs::Many(paths) => paths.values().any(is_it),
        };
        has_it.then_some(package)
    });
    package.map(|package| package.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_version_of_the_package_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("package");
        std::fs::create_dir_all(package.join("dist/cli")).unwrap();
        for file in ["dist/cli/index.js", "dist/cli/other.js"] {
            std::fs::write(package.join(file), "").unwrap();
        }
        let says = |text: &str| std::fs::write(package.join("package.json"), text).unwrap();
        let link = folder.path().join("agent");
        std::os::unix::fs::symlink(package.join("dist/cli/index.js"), &link).unwrap();
        assert_eq!(version(&link), None, "nobody says it");
        says(r#"{"version":"1.2.3","bin":{"agent":"./dist/cli/index.js"}}"#);
        assert_eq!(version(&link).as_deref(), Some("1.2.3"));
        assert_eq!(version(&package.join("dist/cli/other.js")), None, "another program that lies there");
        says(r#"{"version":"1.2.4","bin":"dist/cli/index.js"}"#);
        assert_eq!(version(&link).as_deref(), Some("1.2.4"));
        says(r#"{"version":7}"#);
        assert_eq!(version(&link), None, "not what npm writes");
    }
}

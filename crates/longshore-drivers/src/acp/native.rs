//! Finds the native program behind an npm script. The native program starts faster, and ends after a signal.

use std::path::{Path, PathBuf};

use super::rows::AcpRow;

impl AcpRow {
    /// The program that npm's script would start, or `found` itself if there is none. This reads the disk.
    ///
    /// The script is a wrapper. If it is stopped, it ends alone, and the native program continues.
    pub fn native(&self, found: &Path) -> PathBuf {
        let Some(package) = self.native_package else { return found.to_owned() };
        let Ok(script) = found.canonicalize() else { return found.to_owned() };
        if script.extension().is_none_or(|extension| extension != "js") {
            return found.to_owned();
        }
        let system = match std::env::consts::OS {
            "macos" => "darwin",
            other => other,
        };
        let machine = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let inside = Path::new("node_modules")
            .join(format!("{package}-{system}-{machine}"))
            .join("bin")
            .join(self.program.as_ref());
        // The folders in node's order: from the script upwards, for nested and hoisted packages.
        let mut places = script.ancestors().skip(1).map(|folder| folder.join(&inside));
        places.find(|file| file.is_file()).unwrap_or_else(|| found.to_owned())
    }
}

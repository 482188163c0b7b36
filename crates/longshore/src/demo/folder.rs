//! The private folder of a demo: a home for the hub, one for the agent, and the projects. It is deleted
//! afterwards.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, anyhow};

use crate::config::Places;

macro_rules! files {
    ($($path:literal),* $(,)?) => { &[$(($path, include_str!(concat!("projects/", $path)))),*] };
}

/// The projects, file by file.
const FILES: &[(&str, &str)] = files![
    "shop/README.md",
    "shop/cart.sh",
    "shop/checkout.sh",
    "shop/report.sh",
    "shop/test.sh",
    "website/index.html",
    "website/style.css",
    "website/builds/2024/index.html",
    "website/builds/2025/index.html",
    "api/orders.sh",
    "api/orders.csv",
    "api/soak.sh",
    "notes/changes.txt",
];

/// The folder.
#[derive(Debug)]
pub struct DemoFolder {
    path: PathBuf,
    keep: bool,
}

impl DemoFolder {
    /// Makes it below the system's temporary folder, for its owner alone, with the projects in it.
    pub async fn lay_out(keep: bool) -> Result<Self> {
        let number =
            getrandom::u32().map_err(|error| anyhow!("no randomness for a folder's name: {error}"))?;
        let path = std::env::temp_dir().join(format!("longshore-demo-{number:08x}"));
        let mut builder = std::fs::DirBuilder::new();
        builder.mode(0o700).create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let folder = Self { path: path.canonicalize()?, keep };
        for name in ["home", "tmp"] {
            std::fs::create_dir(folder.path.join(name))?;
        }
        for (name, text) in FILES {
            let path = folder.path.join(name);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        for (name, _) in FILES {
            let project = name.split('/').next().unwrap_or(name);
            if !folder.project(project).join(".git").exists() {
                folder.commit(project).await;
            }
        }
        Ok(folder)
    }

    /// All of it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A project in it.
    pub fn project(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Where a hub keeps its things in it, as if it were the `LONGSHORE_HOME`.
    pub fn places(&self) -> Places {
        Places { config: self.path.join("config.toml"), data: self.path.join("data") }
    }

    /// Takes it away, or says where it is if it is to be kept.
    pub fn take_away(self) -> Option<PathBuf> {
        self.keep.then(|| self.path.clone())
    }

    /// Makes a project a repository. Without git it is none, which harms nothing.
    async fn commit(&self, project: &str) {
        let home = self.path.join("home");
        for arguments in [
            &["-c", "init.defaultBranch=main", "init", "--quiet"][..],
            &["add", "."],
            &[
                "-c",
                "user.name=Demo",
                "-c",
                "user.email=demo@example.com",
                "commit",
                "--quiet",
                "-m",
                "Begin",
            ],
        ] {
            let mut git = tokio::process::Command::new("git");
            git.args(arguments).current_dir(self.project(project)).env("HOME", &home).stdin(Stdio::null());
            git.env("GIT_CONFIG_NOSYSTEM", "1").env_remove("XDG_CONFIG_HOME");
            for name in std::env::vars_os().map(|(name, _)| name) {
                if name.as_encoded_bytes().starts_with(b"GIT_") && name != "GIT_CONFIG_NOSYSTEM" {
                    git.env_remove(name);
                }
            }
            if !git.output().await.is_ok_and(|done| done.status.success()) {
                return;
            }
        }
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = std::fs::remove_dir_all(&self.path)
        {
            tracing::debug!(%error, "the folder of the demo is left");
        }
    }
}

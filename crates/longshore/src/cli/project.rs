//! `longshore project`: the folders that clients offer as projects.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use longshore_model::device::Project;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect;
use super::exit::Fault;
use super::terminal::{put_line, say};
use crate::render::clean::clean;

/// List the projects, add a folder, or remove one.
#[derive(Debug, Args)]
pub(super) struct ProjectArgs {
    #[command(subcommand)]
    what: Option<ProjectVerb>,
}

#[derive(Debug, Subcommand)]
enum ProjectVerb {
    /// List the projects
    Ls,
    /// List a folder as a project; clients then offer it
    Add {
        /// The folder
        path: PathBuf,
    },
    /// List a folder as a project no longer; the folder stays
    Remove {
        /// The folder
        path: PathBuf,
    },
}

#[derive(Deserialize)]
struct ListedProjects {
    projects: Vec<Project>,
}

impl ProjectArgs {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let mut client = connect::hub().await?;
        match self.what.unwrap_or(ProjectVerb::Ls) {
            ProjectVerb::Ls => {
                let known: Value = client.call("projects", json!({})).await?;
                if as_json {
                    put_line(&known)?;
                    return Ok(ExitCode::SUCCESS);
                }
                let ListedProjects { projects } = serde_json::from_value(known)?;
                for project in projects {
                    put_line(clean(&project.path))?;
                }
            }
            ProjectVerb::Add { path } => {
                let path = path.canonicalize().map_err(|error| {
                    let what = format!("cannot use the folder {}: {error}", path.display());
                    Fault::usage(what, "name a folder that exists on this machine")
                })?;
                let path = path.to_str().context("the path is no text")?;
                let added: Value = client.call("addProject", json!({ "path": path })).await?;
                match as_json {
                    true => put_line(&added)?,
                    false => say(format_args!("{} is a project", clean(path)))?,
                }
            }
            ProjectVerb::Remove { path } => {
                // The folder may be gone.
                let path = std::path::absolute(&path)?;
                let path = path.canonicalize().unwrap_or(path);
                let path = path.to_str().context("the path is no text")?;
                let removed: Value = client.call("removeProject", json!({ "path": path })).await?;
                if removed["removed"] != true {
                    let what = format!("{} is no project", clean(path));
                    return Err(Fault::not_found(what, "`longshore project ls` lists the projects").into());
                }
                match as_json {
                    true => put_line(&removed)?,
                    false => say(format_args!("{} is no project any more", clean(path)))?,
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

//! The sandbox of a command. It depends on the command, the mode and the permit.
//!
//! | command | writes in | except |
//! |---|---|---|
//! | only reads, in the work tree | a private folder | |
//! | only reads, elsewhere | temporary folders | |
//! | anything, in `full` | the work tree | |
//! | git alone | the work tree, and what git keeps of it elsewhere | git's settings and hooks, unless a person allowed a command whose purpose is to change them |
//! | anything else | the work tree | all of git's own files |

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use longshore_model::capability::Mode;

use super::Permit;
use super::command::{CommandSetting, ReadOnlyCommand, Script};
use super::judge::{Manner, manner};
use crate::git::kept::{self, Sources, Unmade};
use crate::git::places;
use crate::git::quiet::{Quiet, ignored_names};
use crate::sandbox::Sandbox;
use longshore_drivers::host_io::files::locate;

/// The refusal of a command if git's settings cannot be protected from it.
const UNTOLD: &str = "git does not tell its settings here: there are very many, or it waits for something. So they cannot \
     be kept from a command. Look at .git/config, or call the tool again with \"escalate\": true and a \"reason\"; a \
     person is asked first";

/// The facts besides the command on which its setting depends.
#[derive(Debug)]
pub(super) struct CommandContext {
    pub(super) root: PathBuf,
    /// Whether the command runs in a sandbox at all.
    pub(super) locked: bool,
    pub(super) network: bool,
    pub(super) permit: Permit,
    pub(super) temporary: Arc<Temporary>,
}

impl CommandContext {
    pub(super) fn set(&self, script: &Script, cwd: &str) -> Result<CommandSetting, String> {
        let place = locate(&self.root, cwd).map_err(|fault| fault.to_string())?;
        let manner = manner(script, &place, &self.root);
        let (sandbox, quiet, unmade) = match &manner {
            Manner::Reads { there, outside } => {
                let quiet = self.reader(there);
                let sandbox = match outside {
                    false => Sandbox::reading(&quiet.folders, quiet.temporary.as_deref()),
                    true => Sandbox::new(Vec::new(), Vec::new(), false),
                };
                (Some(sandbox), Some(quiet), None)
            }
            Manner::Git { .. } | Manner::Any => match self.writing(&manner) {
                Some((sandbox, unmade)) => (Some(sandbox), None, unmade.map(Arc::new)),
                None if self.locked => return Err(UNTOLD.to_owned()),
                None => (None, None, None),
            },
        };
        Ok(CommandSetting { cwd: place.path, sandbox: sandbox.filter(|_| self.locked), quiet, unmade })
    }

    fn reader(&self, there: &Path) -> ReadOnlyCommand {
        let mut folders = vec![self.root.clone()];
        folders.extend(places::folders_read(&self.root));
        folders.extend(ignored_names(&self.root));
        ReadOnlyCommand {
            git: Quiet::of(there),
            folders,
            temporary: self.temporary.path().map(Path::to_owned),
        }
    }

    /// The sandbox of a command that may write. Nothing can make missing files read-only, so the second part has the
    /// missing files that the command may not create. Returns none if git does not report which files to protect.
    fn writing(&self, manner: &Manner) -> Option<(Sandbox, Option<Unmade>)> {
        let tree = || vec![self.root.clone()];
        let tree_and_shared = || tree().into_iter().chain(places::shared_folders(&self.root)).collect();
        let freely = |folders| Some((Sandbox::new(folders, Vec::new(), self.network), None));
        let is_git = match (self.permit.mode, manner) {
            (Mode::Plan, _) => return freely(Vec::new()),
            (Mode::Full, _) => return freely(tree_and_shared()),
            (Mode::Ask | Mode::AutoEdit, Manner::Git { settings: true }) if self.permit.approved => {
                return freely(tree_and_shared());
            }
            (Mode::Ask | Mode::AutoEdit, Manner::Git { .. }) => true,
            (Mode::Ask | Mode::AutoEdit, Manner::Any | Manner::Reads { .. }) => false,
        };
        let (sources, submodules) = (Sources::of(&self.root)?, kept::submodules(&self.root)?);
        let (folders, kept) = match is_git {
            true => (tree_and_shared(), kept::settings(&self.root, &sources, &submodules)),
            false => (tree(), kept::all(&self.root, &sources, &submodules)),
        };
        let unmade = (!kept.is_empty()).then(|| Unmade::of(&self.root, &sources, &submodules, is_git));
        Some((Sandbox::new(folders, kept, self.network), unmade))
    }
}

/// A folder for temporary files of commands that only read, such as long lists to sort. The first use creates it.
#[derive(Debug, Default)]
pub(super) struct Temporary {
    folder: OnceLock<Option<PathBuf>>,
}

impl Temporary {
    fn path(&self) -> Option<&Path> {
        let made = self.folder.get_or_init(|| {
            let folder = std::env::temp_dir().join(format!("longshore-{:016x}", getrandom::u64().ok()?));
            std::fs::DirBuilder::new().mode(0o700).create(&folder).ok()?;
            Some(folder)
        });
        made.as_deref()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(Some(folder)) = self.folder.get() {
            // A failure leaves only useless files behind.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

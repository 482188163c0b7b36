//! The folders of this machine, for a person who looks for a work tree, and the machine's name.

use std::path::{Path, PathBuf};

use longshore_model::anchor::Folders;

/// How many subfolders the answer may have. A person types the path of the others.
const MOST: usize = 1_000;

/// Why no agent can work in a folder. None if an agent can.
pub(crate) async fn work_tree(path: &str) -> Option<String> {
    match tokio::fs::metadata(path).await {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some("it is not a folder".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some("it does not exist".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Lists the subfolders of a folder. Without a path, of the home folder.
pub(crate) async fn look_into(path: Option<String>) -> Result<Folders, String> {
    let path = match path {
        Some(path) => PathBuf::from(path),
        None => std::env::home_dir().unwrap_or_else(|| PathBuf::from("/")),
    };
    if !path.is_absolute() {
        return Err(format!("`{}` is not an absolute path", path.display()));
    }
    let looked = tokio::task::spawn_blocking(move || look(&path)).await;
    looked.map_err(|error| format!("the search for folders failed: {error}"))?
}

fn look(path: &Path) -> Result<Folders, String> {
    let unreadable = |error: std::io::Error| format!("cannot read the folder {}: {error}", path.display());
    // The path without `..` and links, so that its parent is the folder that a person expects.
    let path = path.canonicalize().map_err(unreadable)?;
    let mut folders: Vec<String> = std::fs::read_dir(&path)
        .map_err(unreadable)?
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    folders.sort_by_key(|name| name.to_lowercase());
    folders.truncate(MOST);
    let parent = path.parent().map(|parent| parent.display().to_string());
    Ok(Folders { path: path.display().to_string(), parent, folders })
}

/// The name of this machine.
pub(crate) fn machine() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn folders_are_told_in_order_without_files_and_hidden_ones() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["boat", "Anchor", ".git"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("file"), "").unwrap();
        let at = folder.path().canonicalize().unwrap();
        let asked = at.join("boat/..").display().to_string();
        let Ok(found) = look_into(Some(asked)).await else { panic!("no folders") };
        assert_eq!(found.folders, ["Anchor", "boat"]);
        assert_eq!(found.path, at.display().to_string());
        assert_eq!(found.parent, at.parent().map(|parent| parent.display().to_string()));
        assert!(look_into(Some("boat".to_owned())).await.unwrap_err().contains("absolute"));
        let missing = at.join("missing").display().to_string();
        assert!(look_into(Some(missing)).await.unwrap_err().contains("cannot read the folder"));
        assert!(!machine().is_empty());
    }
}

//! Files that the model gets without asking: the instructions in the folders, and images that people attach.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::BASE64;
use longshore_model::command::{Attachment, AttachmentSource};

use longshore_models::history::{History, HistoryItem, HistoryPart};

use crate::memory::Memory;
use longshore_drivers::host_io::files::{bytes_of, locate};

/// The files with instructions for agents. Of each folder, the agent reads the first one that exists.
const ADVICE: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How many bytes of all these files the model gets.
const ADVICE_BYTES: usize = 32 << 10;

/// The instructions for agents in the work tree, from the root of the repository down to this folder. If they are too
/// long, the nearest folder has priority, and the text says what is missing.
pub(super) async fn advice(cwd: &str) -> Option<String> {
    let folder = PathBuf::from(cwd);
    tokio::task::spawn_blocking(move || advice_down_to(&folder)).await.ok()?
}

fn advice_down_to(folder: &Path) -> Option<String> {
    let (mut told, mut room) = (Vec::new(), ADVICE_BYTES);
    let owners = [rustix::process::geteuid().as_raw(), folder.metadata().ok()?.uid()];
    // The agent ignores folders above that belong to another user.
    let is_ours = |folder: &&Path| folder.metadata().is_ok_and(|found| owners.contains(&found.uid()));
    let ours: Vec<&Path> = folder.ancestors().take_while(is_ours).collect();
    let root = ours.iter().copied().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
    for folder in ours.into_iter().take_while(|folder| folder.starts_with(root)) {
        let Some((file, mut text)) = advice_in(folder, root) else { continue };
        if text.len() > room {
            let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let left = text.len() - end;
            text.truncate(end);
            text.push_str(&format!(
                "\n[... {left} bytes of {file} are left out here; read the file for them]"
            ));
        }
        room = room.saturating_sub(text.len());
        told.push((file, text));
    }
    let several = told.len() > 1;
    // The nearest instructions come last, where models heed them most.
    let told = told.into_iter().rev().map(|(file, text)| match several {
        true => format!("{file}:\n\n{}", text.trim_end()),
        false => text,
    });
    Some(told.collect::<Vec<_>>().join("\n\n")).filter(|text| !text.is_empty())
}

/// The instructions of one folder. Somebody else may have made the repository, with links, pipes and endless files. So,
/// as every tool does, this reads nothing outside of the repository.
fn advice_in(folder: &Path, root: &Path) -> Option<(String, String)> {
    let file =
        ADVICE.map(|name| folder.join(name)).into_iter().find(|file| file.symlink_metadata().is_ok())?;
    let name = file.display().to_string();
    let text = match locate(root, &name) {
        Ok(place) if !place.inside => Err("it leads out of the repository".to_owned()),
        Ok(place) if !is_advice(&place.path, folder) => Err("it leads to another folder's file".to_owned()),
        Ok(place) => bytes_of(&place.path, &name).map_err(|fault| fault.to_string()),
        Err(fault) => Err(fault.to_string()),
    };
    let text = match text.map(String::from_utf8) {
        Ok(Ok(text)) if text.trim().is_empty() => return None,
        Ok(Ok(text)) => text,
        Ok(Err(_)) => format!("[{name} was not read: it is no text]"),
        Err(why) => format!("[{name} was not read: {why}]"),
    };
    Some((name, text))
}

/// Whether a file to which a folder's instructions link is meant for agents: it lies below that folder, or has the name
/// of such a file. The check matters because a repository may be a person's whole home.
fn is_advice(file: &Path, folder: &Path) -> bool {
    let below = folder.canonicalize().is_ok_and(|folder| file.starts_with(folder));
    below || file.file_name().is_some_and(|name| ADVICE.iter().any(|advice| name == *advice))
}

/// Attachments with the content of image files. The model gets only the path of a file that cannot be read.
pub(super) async fn images(attachments: Vec<Attachment>) -> Vec<Attachment> {
    let mut all = Vec::with_capacity(attachments.len());
    for attachment in attachments {
        let source = match attachment.source {
            AttachmentSource::Path(path) if attachment.media_type.starts_with("image/") => {
                match read(&path).await {
                    Some(bytes) => AttachmentSource::Data(BASE64.encode(&bytes)),
                    None => AttachmentSource::Path(path),
                }
            }
            other => other,
        };
        all.push(Attachment { source, ..attachment });
    }
    all
}

async fn read(path: &str) -> Option<Vec<u8>> {
    let path = path.to_owned();
    let read = move || bytes_of(&Path::new(&path).canonicalize().ok()?, &path).ok();
    tokio::task::spawn_blocking(read).await.ok()?
}

/// Reads the image files of an earlier conversation again, if they still exist.
pub(super) async fn look_again(memory: Memory) -> Memory {
    let mut history = History::default();
    for item in memory.history.into_items() {
        let item = match Arc::unwrap_or_clone(item) {
            HistoryItem::Message { role, step, prompt, content } => {
                let mut parts = Vec::with_capacity(content.len());
                for part in content {
                    match part {
                        HistoryPart::Attached(attachment) => {
                            parts.extend(
                                images(vec![attachment]).await.into_iter().map(HistoryPart::Attached),
                            );
                        }
                        other @ (HistoryPart::InputText { .. } | HistoryPart::OutputText { .. }) => {
                            parts.push(other)
                        }
                    }
                }
                HistoryItem::Message { role, step, prompt, content: parts }
            }
            other @ (HistoryItem::Reasoning { .. }
            | HistoryItem::FunctionCall { .. }
            | HistoryItem::FunctionCallOutput { .. }
            | HistoryItem::Summary { .. }
            | HistoryItem::Allowed { .. }) => other,
        };
        history.push(item);
    }
    Memory { history, ..memory }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_folder_down_from_the_repository_is_heard_and_a_cut_is_told() {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().join("repository");
        let inner = root.join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(around.path().join("AGENTS.md"), "not ours").unwrap();
        assert_eq!(advice(inner.to_str().unwrap()).await, None);
        std::fs::write(root.join("AGENTS.md"), "of all\n").unwrap();
        assert_eq!(advice(inner.to_str().unwrap()).await.as_deref(), Some("of all\n"));
        std::fs::write(inner.join("CLAUDE.md"), "of b\n").unwrap();
        let told = advice(inner.to_str().unwrap()).await.unwrap();
        let (all, own) = (told.find("of all").unwrap(), told.find("of b").unwrap());
        assert!(all < own && told.contains("a/b/CLAUDE.md:\n\nof b") && !told.contains("not ours"), "{told}");
        // Without a repository, only the folder itself counts.
        assert_eq!(advice(around.path().to_str().unwrap()).await.as_deref(), Some("not ours"));
        std::fs::write(inner.join("CLAUDE.md"), "x".repeat(40_000)).unwrap();
        let told = advice(inner.to_str().unwrap()).await.unwrap();
        let cut = format!("[... {} bytes of ", 40_000 - ADVICE_BYTES);
        assert!(
            told.contains(&cut) && told.contains("CLAUDE.md are left out here; read the file"),
            "{}",
            told.len()
        );
        assert!(told.contains("bytes of") && told.contains("AGENTS.md are left out here"), "{}", told.len());
        assert!(told.len() < ADVICE_BYTES + 1000, "{}", told.len());
    }

    #[tokio::test]
    async fn advice_that_leads_out_of_the_repository_or_has_no_end_is_not_read() {
        let around = tempfile::tempdir().unwrap();
        let root = around.path().join("repository");
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir(around.path().join("outside")).unwrap();
        std::fs::write(around.path().join("outside/AGENTS.md"), "a secret").unwrap();
        let file = root.join("AGENTS.md");
        let told = async || advice(root.to_str().unwrap()).await.unwrap_or_default();
        for target in ["../outside/AGENTS.md", "/dev/zero", "/proc/self/environ", "/dev/stdin", "/dev/null"] {
            std::os::unix::fs::symlink(target, &file).unwrap();
            let told = told().await;
            assert!(told.ends_with("AGENTS.md was not read: it leads out of the repository]"), "{told}");
            std::fs::remove_file(&file).unwrap();
        }
        let pipe = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(pipe.success() && told().await.contains("is not a file"), "{}", told().await);
        std::fs::remove_file(&file).unwrap();
        let endless = std::fs::File::create(&file).unwrap();
        endless.set_len(3 << 30).unwrap();
        assert!(told().await.contains("the limit is"), "{}", told().await);
        std::fs::remove_file(&file).unwrap();
        // People link one file to the other to give the same text to different agents.
        std::fs::write(root.join("CLAUDE.md"), "of both").unwrap();
        std::os::unix::fs::symlink("CLAUDE.md", &file).unwrap();
        assert_eq!(told().await, "of both");
        // The repository may be a person's home, which contains keys.
        let project = root.join("project");
        std::fs::create_dir_all(root.join(".ssh")).unwrap();
        std::fs::create_dir(&project).unwrap();
        std::fs::write(root.join(".ssh/key"), "a secret").unwrap();
        std::os::unix::fs::symlink("../.ssh/key", project.join("AGENTS.md")).unwrap();
        let of_project = advice(project.to_str().unwrap()).await.unwrap();
        assert!(
            !of_project.contains("a secret") && of_project.contains("another folder's file"),
            "{of_project}"
        );
        std::fs::remove_file(project.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("../CLAUDE.md", project.join("AGENTS.md")).unwrap();
        assert_eq!(advice(project.to_str().unwrap()).await.unwrap().matches("of both").count(), 2);
        // A link to a folder outside gives no access either.
        std::os::unix::fs::symlink("../outside", root.join("linked")).unwrap();
        let linked = advice(root.join("linked").to_str().unwrap()).await.unwrap_or_default();
        assert!(!linked.contains("a secret"), "{linked}");
    }
}

//! Files that the model is told of without asking: what a work tree says to agents, and images that people attach.

use std::path::Path;
use std::sync::Arc;

use data_encoding::BASE64;
use longshore_model::command::{Attachment, AttachmentSource};

use crate::react::history::{History, Item, Memory, Part};

/// The files in which a folder speaks to agents; the first that is there is read.
const ADVICE: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How much of all of them is told.
const ADVICE_BYTES: usize = 32 << 10;
/// How large an image may be.
const IMAGE_BYTES: u64 = 10 << 20;

/// What the work tree says to agents: every folder from the root of the repository down to this one. When it is too
/// much, the nearest folder is heard first, and it is said what is missing.
pub(super) async fn advice(cwd: &str) -> Option<String> {
    let (mut told, mut room) = (Vec::new(), ADVICE_BYTES);
    let folder = Path::new(cwd);
    let root = folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder);
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(root)) {
        let Some((file, mut text)) = advice_in(folder).await else { continue };
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
    // The nearest comes last, where it counts most.
    let told = told.into_iter().rev().map(|(file, text)| match several {
        true => format!("{file}:\n\n{}", text.trim_end()),
        false => text,
    });
    Some(told.collect::<Vec<_>>().join("\n\n")).filter(|text| !text.is_empty())
}

async fn advice_in(folder: &Path) -> Option<(String, String)> {
    for name in ADVICE {
        let file = folder.join(name);
        if let Ok(text) = tokio::fs::read_to_string(&file).await {
            return Some((file.display().to_string(), text)).filter(|(_, text)| !text.trim().is_empty());
        }
    }
    None
}

/// Attachments, with the images among them read from their files. What cannot be read is mentioned by its path.
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
    let size = tokio::fs::metadata(path).await.ok()?.len();
    if size > IMAGE_BYTES {
        return None;
    }
    tokio::fs::read(path).await.ok()
}

/// The same for a conversation that was held before: its images may still be where they were.
pub(super) async fn look_again(memory: Memory) -> Memory {
    let mut history = History::default();
    for item in memory.history.into_items() {
        let item = match Arc::unwrap_or_clone(item) {
            Item::Message { role, step, prompt, content } => {
                let mut parts = Vec::with_capacity(content.len());
                for part in content {
                    match part {
                        Part::Attached(attachment) => {
                            parts.extend(images(vec![attachment]).await.into_iter().map(Part::Attached));
                        }
                        other @ (Part::InputText { .. } | Part::OutputText { .. }) => parts.push(other),
                    }
                }
                Item::Message { role, step, prompt, content: parts }
            }
            other @ (Item::Reasoning { .. }
            | Item::FunctionCall { .. }
            | Item::FunctionCallOutput { .. }
            | Item::Summary { .. }
            | Item::Allowed { .. }) => other,
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
        // Only the folder itself counts where there is no repository.
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
}

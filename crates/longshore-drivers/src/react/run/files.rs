//! Files that the model is told of without asking: what a work tree says to agents, and images that people attach.

use std::path::Path;
use std::sync::Arc;

use data_encoding::BASE64;
use longshore_model::command::{Attachment, AttachmentSource};

use crate::react::history::{History, Item, Memory, Part};

/// The files in which a work tree speaks to agents; the first that is there is read.
const ADVICE: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// How much of it is read.
const ADVICE_BYTES: usize = 32 << 10;
/// How large an image may be.
const IMAGE_BYTES: u64 = 10 << 20;

/// What the work tree says to agents.
pub(super) async fn advice(cwd: &str) -> Option<String> {
    for name in ADVICE {
        if let Ok(mut text) = tokio::fs::read_to_string(Path::new(cwd).join(name)).await {
            let end = (0..=ADVICE_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0));
            return Some(text).filter(|text| !text.trim().is_empty());
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

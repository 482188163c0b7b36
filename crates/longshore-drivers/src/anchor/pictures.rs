//! Reads pictures that an agent names by their files. The anchor does this before the event goes out, because
//! clients may run on other machines and the file may change later.

use std::path::Path;
use std::time::Duration;

use longshore_model::anchor::FromAnchor;
use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft};
use longshore_model::item::ToolOutcome;

use crate::host_io::files::bytes_of;
use crate::kit::contents::{last_part, picture_of};

/// How long reading a file may take. After that, the event has only the name of the picture.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// Whether a message names pictures by their files.
pub(super) fn has_any(message: &mut FromAnchor) -> bool {
    attachments(message).any(|one| place_of(one).is_some())
}

/// Replaces the names of picture files with the pictures. If the anchor cannot read a file, or the file holds
/// no picture, the name stays.
pub(super) async fn look_at(message: &mut FromAnchor) {
    for attachment in attachments(message) {
        if let Some(path) = place_of(attachment)
            && let Some(seen) = read(path.to_owned()).await
        {
            *attachment = seen;
        }
    }
}

/// The attachments of tool results in a message.
fn attachments(message: &mut FromAnchor) -> impl Iterator<Item = &mut Attachment> {
    let drafts = match message {
        FromAnchor::Said { drafts, .. } => drafts.as_mut_slice(),
        FromAnchor::Gone { .. }
        | FromAnchor::Delegate { .. }
        | FromAnchor::FoundPast { .. }
        | FromAnchor::ReadPast { .. }
        | FromAnchor::Answer { .. } => &mut [],
    };
    drafts.iter_mut().filter_map(outcome_of).flat_map(|outcome| &mut outcome.attachments)
}

fn outcome_of(draft: &mut Draft) -> Option<&mut ToolOutcome> {
    if let Body::ToolFinished(outcome) = &mut draft.body { Some(outcome) } else { None }
}

/// The path of a picture's file. A relative path does not count, because it depends on the reader's folder.
fn place_of(attachment: &Attachment) -> Option<&str> {
    match &attachment.source {
        AttachmentSource::Path(path) if attachment.media_type.starts_with("image/") => {
            Some(path.as_str()).filter(|path| Path::new(path).is_absolute())
        }
        AttachmentSource::Path(_) | AttachmentSource::Url(_) | AttachmentSource::Data(_) => None,
    }
}

async fn read(path: String) -> Option<Attachment> {
    let reading = tokio::task::spawn_blocking(move || {
        picture_of(Some(last_part(&path)), &bytes_of(Path::new(&path), &path).ok()?)
    });
    tokio::time::timeout(READ_WITHIN, reading).await.ok()?.ok()?
}

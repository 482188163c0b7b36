//! Reads pictures that an agent names by their file, before the event goes out: clients are elsewhere, and
//! the file may change later.

use std::path::Path;
use std::time::Duration;

use longshore_model::anchor::FromAnchor;
use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::event::{Body, Draft};
use longshore_model::item::ToolOutcome;

use crate::host_io::files::bytes_of;
use crate::kit::contents::{last_part, picture_of};

/// How long a file may take to be read before its picture is told by its name alone.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// Whether something is to be looked at before it is told.
pub(super) fn has_any(message: &mut FromAnchor) -> bool {
    attachments(message).any(|one| place_of(one).is_some())
}

/// Puts the pictures themselves in the place of their files. What cannot be read, or is no picture, stays a name.
pub(super) async fn look_at(message: &mut FromAnchor) {
    for attachment in attachments(message) {
        if let Some(path) = place_of(attachment)
            && let Some(seen) = read(path.to_owned()).await
        {
            *attachment = seen;
        }
    }
}

/// What the results of tools in a message have with them.
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

/// The file of a picture. One whose place depends on where somebody stands is none.
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

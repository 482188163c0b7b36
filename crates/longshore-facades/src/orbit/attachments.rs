//! The pictures of a prompt.

use longshore_model::command::{Attachment, AttachmentSource};

use super::faults::OrbitFault;
use super::wire::PromptImage;

/// A picture of a prompt as an attachment: a file that the client uploaded, by its path or address, or the content of a
/// `data:` address.
pub(super) fn attachment_of(
    path: Option<&str>,
    url: Option<&str>,
    mime: Option<&str>,
    uploaded: impl Fn(&str) -> Option<Attachment>,
) -> Result<Attachment, OrbitFault> {
    let is_inside = |named: &&str| named.starts_with("data:");
    if let Some(file) =
        [path, url].into_iter().flatten().filter(|named| !is_inside(named)).find_map(&uploaded)
    {
        return Ok(file);
    }
    let refused = |what: &str| OrbitFault::params(format!("the picture cannot be attached: {what}"));
    let inside = url.or(path).and_then(|address| address.strip_prefix("data:"));
    let Some((head, data)) = inside.and_then(|inside| inside.split_once(',')) else {
        let name = path.or(url).unwrap_or("nothing");
        return Err(refused(&format!("`{name}` is neither an uploaded file nor a `data:` address")));
    };
    let Some(kind) = head.strip_suffix(";base64") else { return Err(refused("its content must be base64")) };
    let kind = kind.split(';').next().filter(|kind| !kind.is_empty()).or(mime).unwrap_or_default();
    if !kind.starts_with("image/") {
        return Err(refused(&format!("`{kind}` is no picture")));
    }
    if data_encoding::BASE64.decode(data.as_bytes()).is_err() {
        return Err(refused("its content is not base64"));
    }
    let source = AttachmentSource::Data(data.to_owned());
    Ok(Attachment { name: None, media_type: kind.to_owned(), source })
}

/// All pictures of a prompt, with their names.
pub(super) fn attachments<'a>(
    images: impl IntoIterator<Item = &'a PromptImage>,
    uploaded: impl Fn(&str) -> Option<Attachment>,
) -> Result<Vec<Attachment>, OrbitFault> {
    let one = |image: &PromptImage| {
        let (path, url, mime) = (image.path.as_deref(), image.url.as_deref(), image.mime.as_deref());
        let attachment = attachment_of(path, url, mime, &uploaded)?;
        let name = image.filename.clone().or_else(|| attachment.name.clone());
        Ok(Attachment { name, ..attachment })
    };
    images.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_comes_in_its_address_and_anything_else_is_refused() {
        let good = attachment_of(Some("/u/x"), Some("data:image/png;base64,aGk="), None, |_| None).unwrap();
        assert_eq!(
            (good.media_type.as_str(), good.source),
            ("image/png", AttachmentSource::Data("aGk=".to_owned()))
        );
        for (path, url) in [
            (Some("/etc/passwd"), None),
            (None, Some("http://127.0.0.1/x.png")),
            (None, Some("data:text/html;base64,aGk=")),
            (None, Some("data:image/png,aGk=")),
            (None, Some("data:image/png;base64,a k=")),
            (None, None),
        ] {
            assert!(attachment_of(path, url, Some("image/png"), |_| None).is_err(), "{path:?} {url:?}");
        }
    }
}

//! Pictures, in both directions. The app guesses the type from the name of the file, so the first bytes decide.

use data_encoding::{BASE64, BASE64_NOPAD};
use longshore_model::command::{Attachment, AttachmentSource};

use crate::mobile::wire::ImageData;

/// The first bytes of the kinds of pictures, and what stands at the twelfth byte of some.
const SIGNS: [(&[u8], &[u8], &str); 6] = [
    (b"\x89PNG\r\n\x1a\n", b"", "image/png"),
    (b"\xff\xd8\xff", b"", "image/jpeg"),
    (b"GIF8", b"", "image/gif"),
    (b"RIFF", b"WEBP", "image/webp"),
    (b"BM", b"", "image/bmp"),
    (b"", b"ftypheic", "image/heic"),
];

/// The attachment of a picture; none if it is no picture in base64.
pub(in crate::mobile) fn attachment_of(image: &ImageData) -> Option<Attachment> {
    let data = image.base64.as_deref().or(image.uri.as_deref())?;
    let data = match data.strip_prefix("data:") {
        Some(rest) => rest.split_once(";base64,")?.1,
        None => data,
    };
    let data: String = data.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    let bytes = BASE64.decode(data.as_bytes()).or_else(|_| BASE64_NOPAD.decode(data.as_bytes())).ok()?;
    let starts = |sign: &&(&[u8], &[u8], &str)| {
        let (first, second, _) = sign;
        let at = if first.is_empty() { 4 } else { 8 };
        bytes.starts_with(first) && bytes.get(at..).is_some_and(|rest| rest.starts_with(second))
    };
    let media_type = SIGNS.iter().find(starts).map(|(_, _, media_type)| *media_type)?;
    let source = AttachmentSource::Data(BASE64.encode(&bytes));
    Some(Attachment { name: None, media_type: media_type.to_owned(), source })
}

/// The first picture among attachments: a message of the app has one at most.
pub(super) fn picture_of(attachments: &[Attachment]) -> Option<ImageData> {
    attachments.iter().find_map(|attachment| match &attachment.source {
        AttachmentSource::Data(data) if attachment.media_type.starts_with("image/") => Some(ImageData {
            uri: Some(format!("data:{};base64,{data}", attachment.media_type)),
            base64: Some(data.clone()),
            mime_type: Some(attachment.media_type.clone()),
        }),
        AttachmentSource::Data(_) | AttachmentSource::Path(_) | AttachmentSource::Url(_) => None,
    })
}

/// What stands for the attachments that are no picture to show, after the text of a message.
pub(super) fn with_others(text: &str, attachments: &[Attachment]) -> String {
    let mut shown = text.to_owned();
    let mut pictures = 0;
    for attachment in attachments {
        let is_picture = attachment.media_type.starts_with("image/") && attachment.bytes() > 0;
        pictures += usize::from(is_picture);
        if !is_picture || pictures > 1 {
            let name = attachment.name.as_deref().unwrap_or(&attachment.media_type);
            shown.push_str(&format!("\n[{name}]"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(base64: &str) -> ImageData {
        ImageData {
            uri: Some("blob:x.jpg".to_owned()),
            base64: Some(base64.to_owned()),
            mime_type: Some("image/jpeg".to_owned()),
        }
    }

    #[test]
    fn the_first_bytes_decide_what_a_picture_is() {
        let png = BASE64.encode(b"\x89PNG\r\n\x1a\nrest");
        for sent in
            [png.clone(), format!("data:image/jpeg;base64,{png}"), png.trim_end_matches('=').to_owned()]
        {
            let attachment = attachment_of(&image(&sent)).unwrap();
            assert_eq!((attachment.media_type.as_str(), attachment.bytes()), ("image/png", png.len()));
        }
        let webp = attachment_of(&image(&BASE64.encode(b"RIFF1234WEBPrest"))).unwrap();
        assert_eq!(webp.media_type, "image/webp");
        let heic = attachment_of(&image(&BASE64.encode(b"1234ftypheicrest"))).unwrap();
        assert_eq!(heic.media_type, "image/heic");
        for other in [BASE64.encode(b"#!/bin/sh"), "no base64".to_owned(), String::new()] {
            assert_eq!(attachment_of(&image(&other)), None, "{other}");
        }
        let shown = picture_of(&[attachment_of(&image(&png)).unwrap()]).unwrap();
        assert_eq!(shown.uri.unwrap(), format!("data:image/png;base64,{png}"));
    }
}

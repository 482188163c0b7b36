//! Tool results besides text: pictures, sounds and files, as attachments.

use data_encoding::BASE64;
use longshore_model::command::{Attachment, AttachmentSource};
use serde_json::Value;

/// The attachment in a block of a tool result; none for text and other blocks.
///
/// Blocks have the form of MCP (`data`, `mimeType`, `resource.blob`) or of the Messages API (`source`).
pub fn attached(block: &Value) -> Option<Attachment> {
    let word = |of: &Value, name: &str| of[name].as_str().map(str::to_owned);
    match block["type"].as_str()? {
        kind @ ("image" | "audio" | "document") => {
            let source = &block["source"];
            if let Some(url) = word(source, "url") {
                let media_type = word(source, "media_type").unwrap_or_else(|| any(kind));
                return Some(attachment(None, media_type, AttachmentSource::Url(url)));
            }
            let data = word(source, "data").or_else(|| word(block, "data"))?;
            let media_type = word(source, "media_type").or_else(|| word(block, "mimeType"));
            Some(attachment(None, media_type.unwrap_or_else(|| any(kind)), AttachmentSource::Data(data)))
        }
        "resource" => {
            let resource = &block["resource"];
            let name = resource["uri"].as_str().map(last_part);
            let media_type =
                word(resource, "mimeType").unwrap_or_else(|| "application/octet-stream".to_owned());
            Some(attachment(name, media_type, AttachmentSource::Data(word(resource, "blob")?)))
        }
        // The name that one agent uses for a picture for its model.
        "inputImage" | "input_image" => {
            let url = word(block, "imageUrl").or_else(|| word(block, "image_url"))?;
            Some(linked(None, "image/*", &url))
        }
        _ => None,
    }
}

/// The content at a URL: inline if it is a data URL.
pub fn linked(name: Option<String>, media_type: &str, url: &str) -> Attachment {
    let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match data {
        Some((of, data)) => attachment(name, of.to_owned(), AttachmentSource::Data(data.to_owned())),
        None => attachment(name, media_type.to_owned(), AttachmentSource::Url(url.to_owned())),
    }
}

/// An attachment for a picture in a file.
pub fn picture_at(path: &str) -> Attachment {
    let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let media_type = match ending.as_str() {
        "png" | "gif" | "webp" | "bmp" | "avif" => format!("image/{ending}"),
        "jpg" | "jpeg" => "image/jpeg".to_owned(),
        "svg" => "image/svg+xml".to_owned(),
        _ => "image/*".to_owned(),
    };
    attachment(Some(last_part(path)), media_type, AttachmentSource::Path(path.to_owned()))
}

/// An attachment for a picture; none if the bytes are not a picture that every client can show.
pub fn picture_of(name: Option<String>, bytes: &[u8]) -> Option<Attachment> {
    let media_type = media_type_of(bytes)?.to_owned();
    Some(attachment(name, media_type, AttachmentSource::Data(BASE64.encode(bytes))))
}

/// The media type of a picture, according to its first bytes.
fn media_type_of(bytes: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"RIFF", "image/webp"),
    ];
    let (_, media_type) = known.into_iter().find(|(magic, _)| bytes.starts_with(magic))?;
    let is_other_riff = media_type == "image/webp" && bytes.get(8..12) != Some(b"WEBP");
    (!is_other_riff).then_some(media_type)
}

/// The last part of a path or a URL.
pub fn last_part(path: &str) -> String {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path).to_owned()
}

fn any(kind: &str) -> String {
    match kind {
        "document" => "application/pdf".to_owned(),
        kind => format!("{kind}/*"),
    }
}

fn attachment(name: Option<String>, media_type: String, source: AttachmentSource) -> Attachment {
    Attachment { name, media_type, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_no_text_is_attached_in_whatever_words_it_comes() {
        let data = |media_type: &str, data: &str, name: Option<&str>| Attachment {
            name: name.map(str::to_owned),
            media_type: media_type.to_owned(),
            source: AttachmentSource::Data(data.to_owned()),
        };
        for (block, expected) in [
            (
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}),
                data("image/png", "AA", None),
            ),
            (json!({"type": "image", "mimeType": "image/gif", "data": "BB"}), data("image/gif", "BB", None)),
            (json!({"type": "audio", "mimeType": "audio/wav", "data": "CC"}), data("audio/wav", "CC", None)),
            (
                json!({"type": "resource", "resource": {"uri": "file:///a/b.pdf", "mimeType": "application/pdf", "blob": "DD"}}),
                data("application/pdf", "DD", Some("b.pdf")),
            ),
            (
                json!({"type": "inputImage", "imageUrl": "data:image/png;base64,EE"}),
                data("image/png", "EE", None),
            ),
        ] {
            assert_eq!(attached(&block), Some(expected), "of {block}");
        }
        for block in [
            json!({"type": "text", "text": "a"}),
            json!({"type": "resource", "resource": {"text": "a"}}),
            json!(1),
        ] {
            assert_eq!(attached(&block), None, "of {block}");
        }
        assert_eq!(picture_at("/w/a.PNG").media_type, "image/png");
    }
}

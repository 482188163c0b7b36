//! The body of a message: a form (`multipart/form-data`) or JSON.

use axum::http::{HeaderMap, header};
use data_encoding::BASE64;
use longshore_model::command::{Attachment, AttachmentSource};

use super::wire::{MessageRequest, NodeContext};

/// The most parts of a form.
const PARTS: usize = 64;

/// A message, and the files that came with it.
#[derive(Debug, Default)]
pub(super) struct MessageBody {
    pub(super) request: MessageRequest,
    pub(super) attachments: Vec<Attachment>,
}

/// Reads a body; the error is for people.
pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Result<MessageBody, String> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let (kind, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    if kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        let boundary = boundary(parameters).ok_or("The form has no boundary")?;
        return message(parts(body, boundary)?);
    }
    let request = serde_json::from_slice(body).map_err(|error| format!("The body is no message: {error}"))?;
    Ok(MessageBody { request, attachments: Vec::new() })
}

impl MessageBody {
    /// The text for the agent.
    pub(super) fn text(&self) -> String {
        let named: Vec<&str> = self
            .request
            .node_ids
            .iter()
            .flatten()
            .map(|node| node.name.as_str())
            .filter(|name| !name.is_empty())
            .collect();
        match named.is_empty() {
            true => self.request.content.clone(),
            false => format!("{}\n\nAbout: {}", self.request.content, named.join(", ")),
        }
    }
}

fn message(parts: Vec<FormPart<'_>>) -> Result<MessageBody, String> {
    let mut message = MessageBody::default();
    for part in parts {
        match (part.name.trim_end_matches("[]"), part.file) {
            ("images", Some(name)) => message.attachments.push(Attachment {
                name: Some(name),
                media_type: part.kind.unwrap_or_else(|| "application/octet-stream".to_owned()),
                source: AttachmentSource::Data(BASE64.encode(part.data)),
            }),
            ("content", _) => message.request.content = text(part.data)?,
            ("node_ids", _) => message.request.node_ids = nodes(&text(part.data)?)?,
            ("attachment_ids", _) => {
                let known = message.request.attachment_ids.get_or_insert_default();
                known.push(text(part.data)?);
            }
            // Nothing here needs the rest.
            (_, _) => {}
        }
    }
    Ok(message)
}

fn nodes(json: &str) -> Result<Option<Vec<NodeContext>>, String> {
    match json.trim() {
        "" => Ok(None),
        json => serde_json::from_str(json).map_err(|_| "Invalid node_ids format".to_owned()),
    }
}

fn text(data: &[u8]) -> Result<String, String> {
    String::from_utf8(data.to_vec()).map_err(|_| "A field of the form is no text".to_owned())
}

/// A part of a form.
#[derive(Debug, PartialEq)]
struct FormPart<'a> {
    name: String,
    /// The name of the file, if the part is one.
    file: Option<String>,
    kind: Option<String>,
    data: &'a [u8],
}

fn boundary(parameters: &str) -> Option<&str> {
    let boundary = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"'))
    });
    boundary.filter(|boundary| !boundary.is_empty() && boundary.len() <= 70)
}

fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<FormPart<'a>>, String> {
    let broken = || "The form is broken".to_owned();
    let between = format!("\r\n--{boundary}");
    let first = &between.as_bytes()[2..];
    let mut rest = match body.starts_with(first) {
        true => &body[first.len()..],
        false => after(body, between.as_bytes()).ok_or_else(broken)?.1,
    };
    let mut all = Vec::new();
    while !rest.starts_with(b"--") {
        let (_, part) = after(rest, b"\r\n").ok_or_else(broken)?;
        // A part without headers has no name, and would begin with the blank line itself.
        let (head, data) = after(part, b"\r\n\r\n").ok_or_else(broken)?;
        let (data, next) = after(data, between.as_bytes()).ok_or_else(broken)?;
        let head = std::str::from_utf8(head).map_err(|_| broken())?;
        all.push(part_of(head, data).ok_or_else(broken)?);
        if all.len() > PARTS {
            return Err(format!("The form has more than {PARTS} parts"));
        }
        rest = next;
    }
    Ok(all)
}

/// What is before these bytes, and what is after them.
fn after<'a>(bytes: &'a [u8], these: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let mut from = 0;
    loop {
        let found = from + bytes[from..].iter().position(|byte| *byte == these[0])?;
        if bytes[found..].starts_with(these) {
            return Some((&bytes[..found], &bytes[found + these.len()..]));
        }
        from = found + 1;
    }
}

fn part_of<'a>(head: &str, data: &'a [u8]) -> Option<FormPart<'a>> {
    let header = |wanted: &str| {
        let mut lines = head.split("\r\n").filter_map(|line| line.split_once(':'));
        lines.find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
    };
    let disposition = header("content-disposition")?;
    let name = quoted(disposition, "name")?;
    Some(FormPart {
        name,
        file: quoted(disposition, "filename"),
        kind: header("content-type").map(str::to_owned),
        data,
    })
}

/// A parameter of a header. A quote in it is written as `\"` or `%22`.
fn quoted(header: &str, name: &str) -> Option<String> {
    let start = header.match_indices(name).find_map(|(at, _)| {
        let before = header[..at].trim_end();
        let rest = header[at + name.len()..].strip_prefix("=\"")?;
        before.ends_with(';').then_some(rest)
    })?;
    let mut value = String::new();
    let mut letters = start.chars();
    loop {
        match letters.next()? {
            '"' => return Some(value.replace("%22", "\"")),
            '\\' => value.push(letters.next()?),
            letter => value.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &[u8] = b"--XX\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\nhi\r\n--XX\r\n\
        Content-Disposition: form-data; name=\"images\"; filename=\"a \\\"b\\\".png\"\r\nContent-Type: image/png\r\n\r\n\
        \x89PNG\r\n--X\r\n--XX--\r\n";

    fn read_form(body: &[u8]) -> Result<MessageBody, String> {
        let mut headers = HeaderMap::new();
        let kind = header::HeaderValue::from_static("multipart/form-data; boundary=XX");
        headers.insert(header::CONTENT_TYPE, kind);
        read(&headers, body)
    }

    #[test]
    fn a_form_is_read_to_the_byte() {
        let message = read_form(FORM).unwrap();
        assert_eq!(message.request.content, "hi");
        let [image] = message.attachments.as_slice() else { panic!("{message:?}") };
        assert_eq!((image.name.as_deref(), image.media_type.as_str()), (Some("a \"b\".png"), "image/png"));
        assert_eq!(image.source, AttachmentSource::Data(BASE64.encode(b"\x89PNG\r\n--X")));
    }

    #[test]
    fn whatever_is_cut_off_or_strange_is_refused_and_harms_nothing() {
        for end in 0..FORM.len() - 4 {
            assert!(read_form(&FORM[..end]).is_err(), "{end}");
        }
        for odd in [
            &b"--XX"[..],
            b"",
            b"--XX\r\n\r\n\r\nx\r\n--XX--",
            b"--XX\r\nContent-Disposition: form-data\r\n\r\n\r\n--XX--",
        ] {
            assert!(read_form(odd).is_err(), "{odd:?}");
        }
        let many = [
            b"--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n".repeat(65).as_slice(),
            b"--XX--",
        ]
        .concat();
        assert!(read_form(&many).unwrap_err().contains("64"));
        assert!(read(&HeaderMap::new(), b"hi").is_err());
    }

    #[test]
    fn what_the_message_is_about_is_said_to_the_agent() {
        let json = br#"{"content":"why?","node_ids":[{"node_id":"1","name":"main"},{"name":"run"}]}"#;
        let message = read(&HeaderMap::new(), json).unwrap();
        assert_eq!(message.text(), "why?\n\nAbout: main, run");
    }
}

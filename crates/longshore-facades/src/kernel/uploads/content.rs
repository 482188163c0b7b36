//! What a file is, by its first bytes: what its sender says of it decides nothing.

use serde::{Deserialize, Serialize};

/// The longest name of a file.
const NAME_BYTES: usize = 120;
const UNKNOWN: &str = "application/octet-stream";

/// What a file is. A browser shows pictures; it may only save everything else, so that no page of somebody else runs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FileContent {
    Png,
    Jpeg,
    Gif,
    Webp,
    Avif,
    Bmp,
    /// Everything else, also pictures in SVG, which may hold scripts.
    Other,
}

impl FileContent {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let at = |from: usize, sign: &[u8]| bytes.get(from..from + sign.len()) == Some(sign);
        match () {
            () if at(0, b"\x89PNG\r\n\x1a\n") => FileContent::Png,
            () if at(0, b"\xff\xd8\xff") => FileContent::Jpeg,
            () if at(0, b"GIF87a") || at(0, b"GIF89a") => FileContent::Gif,
            () if at(0, b"RIFF") && at(8, b"WEBP") => FileContent::Webp,
            () if at(4, b"ftypavif") || at(4, b"ftypavis") => FileContent::Avif,
            () if at(0, b"BM") && bytes.len() > 14 && at(6, &[0; 4]) => FileContent::Bmp,
            () => FileContent::Other,
        }
    }

    pub(crate) fn media_type(self) -> &'static str {
        match self {
            FileContent::Png => "image/png",
            FileContent::Jpeg => "image/jpeg",
            FileContent::Gif => "image/gif",
            FileContent::Webp => "image/webp",
            FileContent::Avif => "image/avif",
            FileContent::Bmp => "image/bmp",
            FileContent::Other => UNKNOWN,
        }
    }

    pub(crate) fn is_picture(self) -> bool {
        self != FileContent::Other
    }
}

/// A media type without its parameters, or the unknown one.
pub(super) fn media_type(given: &str) -> String {
    let plain = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|letter| letter.is_ascii_alphanumeric() || b"-+._".contains(&letter))
    };
    match plain.split_once('/') {
        Some((kind, of)) if is_part(kind) && is_part(of) && plain.len() <= NAME_BYTES => plain,
        Some(_) | None => UNKNOWN.to_owned(),
    }
}

/// A name for people: one line, without the folders in front.
pub(super) fn shown_name(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let mut end = plain.len().min(NAME_BYTES);
    while !plain.is_char_boundary(end) {
        end -= 1;
    }
    match plain[..end].trim().trim_start_matches('.') {
        "" => "file".to_owned(),
        name => name.to_owned(),
    }
}

/// A name of a file that no shell and no agent takes for anything else.
pub(super) fn file_name(shown: &str) -> String {
    let plain = |letter: char| if letter.is_alphanumeric() || "._-".contains(letter) { letter } else { '_' };
    let name: String = shown.chars().map(plain).collect();
    let name = name.trim_start_matches(['.', '-']);
    // Some file systems count in other bytes than we do.
    let end = (0..=name.len().min(NAME_BYTES)).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    if end == 0 { "file".to_owned() } else { name[..end].to_owned() }
}

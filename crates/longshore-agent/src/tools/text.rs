//! The bytes of a text file as text, and back: UTF-8 with or without a byte order mark, or Latin-1.

use std::path::Path;

use longshore_model::host_io::HostFault;

use longshore_drivers::host_io::files::bytes_of;

/// The byte order mark, with which some programs mark a text as UTF-8.
const MARK: &str = "\u{feff}";

/// The encoding of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    /// UTF-8. New files have this encoding.
    #[default]
    Plain,
    /// UTF-8 with a byte order mark.
    Marked,
    /// One byte per character.
    Latin1,
}

impl Encoding {
    /// The bytes of a text in this encoding.
    pub(super) fn encode(self, path: &str, text: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Plain => Ok(text.as_bytes().to_vec()),
            Self::Marked => Ok([MARK.as_bytes(), text.trim_start_matches(MARK).as_bytes()].concat()),
            Self::Latin1 => text.chars().map(u8::try_from).collect::<Result<_, _>>().map_err(|_| {
                let strange = text.chars().find(|c| u8::try_from(*c).is_err()).unwrap_or_default();
                format!(
                    "{path} is written in Latin-1, which has no `{strange}`; do without it, or delete the file and \
                     add it anew, in UTF-8"
                )
            }),
        }
    }
}

/// The text of a resolved file without a byte order mark, and its encoding.
pub(super) fn text_of(file: &Path, path: &str) -> Result<(String, Encoding), HostFault> {
    decode(bytes_of(file, path)?)
        .ok_or_else(|| HostFault::Unfit { path: path.to_owned(), fault: "is no text".to_owned() })
}

fn decode(bytes: Vec<u8>) -> Option<(String, Encoding)> {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => {
            return Some(match text.strip_prefix(MARK) {
                Some(rest) => (rest.to_owned(), Encoding::Marked),
                None => (text, Encoding::Plain),
            });
        }
        Err(error) => error.into_bytes(),
    };
    latin1(&bytes).map(|text| (text, Encoding::Latin1))
}

/// The text of bytes that are not UTF-8. Returns none if the bytes are no text.
pub(super) fn latin1(bytes: &[u8]) -> Option<String> {
    // Programs and images contain bytes that do not occur in texts.
    let is_text = |byte: &u8| *byte >= b' ' && *byte != 0x7f || b"\t\n\r\x0c\x1b".contains(byte);
    bytes.iter().all(is_text).then(|| bytes.iter().map(|byte| char::from(*byte)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_back_as_it_was() {
        for bytes in [&b"a\nb"[..], b"\xef\xbb\xbfa\n", b"caf\xe9\n", "caf\u{e9}".as_bytes(), b""] {
            let (text, encoding) = decode(bytes.to_vec()).unwrap();
            assert!(!text.starts_with(MARK), "{text:?}");
            assert_eq!(encoding.encode("a", &text).unwrap(), bytes);
        }
        assert_eq!(decode(b"\x89PNG\0\xff".to_vec()), None);
        let refused = Encoding::Latin1.encode("a", "5 \u{20ac}").unwrap_err();
        assert!(refused.contains("has no `\u{20ac}`"), "{refused}");
    }
}

//! Files that are created for a process and deleted when it ends.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use longshore_model::driver::RunFile;

use crate::spec::SecretFile;

/// A folder that only the user of the hub can read. When it is dropped, it is deleted with its files.
#[derive(Debug)]
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// Writes files, and returns the arguments by which a process finds them. Without files it makes no
    /// folder.
    pub(crate) fn of(files: &[RunFile]) -> Result<(Option<Self>, Vec<String>), String> {
        let decoded = files.iter().map(|file| {
            let plain = file.extension.chars().all(|c| c.is_ascii_alphanumeric());
            let extension = if plain { file.extension.as_str() } else { "bin" };
            let bytes = decoded(&file.data).ok_or("an attachment is not valid base64; send it again")?;
            Ok((file.flag.as_str(), extension, bytes))
        });
        Self::with(decoded.collect::<Result<_, String>>()?)
    }

    /// The same for files of Longshore.
    pub(crate) fn of_secrets(files: &[SecretFile]) -> Result<(Option<Self>, Vec<String>), String> {
        let bytes = |file: &SecretFile| (file.flag, file.extension, file.text.clone().into_bytes());
        Self::with(files.iter().map(bytes).collect())
    }

    /// Takes, for each file, the beginning of its argument, its extension and its content.
    fn with(files: Vec<(&str, &str, Vec<u8>)>) -> Result<(Option<Self>, Vec<String>), String> {
        if files.is_empty() {
            return Ok((None, Vec::new()));
        }
        let folder = Self::new().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        let mut arguments = Vec::new();
        for (at, (flag, extension, bytes)) in files.into_iter().enumerate() {
            let path = folder.0.join(format!("{}.{extension}", at + 1));
            write_privately(&path, &bytes)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            arguments.push(format!("{flag}{}", path.display()));
        }
        Ok((Some(folder), arguments))
    }

    fn new() -> io::Result<Self> {
        let name = getrandom::u64().map_err(io::Error::other)?;
        let path = std::env::temp_dir().join(format!("longshore-{name:016x}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "a folder of files stays behind");
        }
    }
}

fn write_privately(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(path)?.write_all(bytes)
}

/// Decodes base64. None if the text is not base64.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end().trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'\r' | b'\n' => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    // A single letter at the end holds less than a byte.
    (count < 6).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_with_and_without_its_end() {
        for (text, bytes) in [
            ("", ""),
            ("aGk=", "hi"),
            ("aGk", "hi"),
            ("aGV5", "hey"),
            ("aGV5\nIQ==\n", "hey!"),
            ("Pz8/", "???"),
        ] {
            assert_eq!(decoded(text).as_deref(), Some(bytes.as_bytes()), "of {text:?}");
        }
        for text in ["a", "aGV5a", "a-b_", "aG=k", "é"] {
            assert_eq!(decoded(text), None, "of {text:?}");
        }
    }

    #[test]
    fn files_are_there_as_long_as_their_folder() {
        let file = |extension: &str| RunFile {
            flag: "--image=".to_owned(),
            extension: extension.to_owned(),
            data: "aGk=".to_owned(),
        };
        let (folder, arguments) = ScratchFolder::of(&[file("png"), file("../x")]).unwrap();
        let paths: Vec<_> =
            arguments.iter().map(|word| PathBuf::from(word.strip_prefix("--image=").unwrap())).collect();
        assert!(paths[0].ends_with("1.png") && paths[1].ends_with("2.bin"), "{paths:?}");
        assert!(paths.iter().all(|path| std::fs::read(path).unwrap() == b"hi"));
        drop(folder);
        assert!(!paths[0].parent().unwrap().exists());
        assert!(ScratchFolder::of(&[RunFile { data: "!".to_owned(), ..file("png") }]).is_err());
    }

    #[test]
    fn a_secret_is_read_by_nobody_else() {
        use std::os::unix::fs::PermissionsExt;

        let secret = SecretFile { flag: "--config=", extension: "json", text: "s3cret".to_owned() };
        assert!(!format!("{secret:?}").contains("s3cret"));
        let (_folder, arguments) = ScratchFolder::of_secrets(&[secret]).unwrap();
        let path = Path::new(arguments[0].strip_prefix("--config=").unwrap());
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "s3cret");
    }
}

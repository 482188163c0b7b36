//! Reads the small files of the data folder and the configuration. In the place of such a file there may be a
//! pipe that nobody writes, a folder, or a file without an end. None of these can block a verb or fill its
//! memory.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// The most that one of them holds.
pub(crate) const MOST: u64 = 1 << 20;

/// The bytes of a file, if they are no more than `most`.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>> {
    // Without that, opening a pipe waits for whoever writes into it.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let kind = file.metadata()?.file_type();
    // `/dev/null` is a way to say that there is nothing.
    if !kind.is_file() && !kind.is_char_device() {
        let what = if kind.is_dir() { "it is a folder" } else { "it is not a regular file" };
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::InvalidData, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// The same, of a file that holds text.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path, MOST)?).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_small_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (file, pipe) = (folder.path().join("file"), folder.path().join("pipe"));
        let fault = |path: &Path| read(path, 4).unwrap_err().to_string();
        assert_eq!(read(&file, 4).unwrap_err().kind(), ErrorKind::NotFound);
        std::fs::write(&file, "1234").unwrap();
        assert_eq!(read(&file, 4).unwrap(), b"1234");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(fault(&file), "it has more than 4 bytes");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(fault(&pipe), "it is not a regular file");
        assert_eq!(fault(folder.path()), "it is a folder");
        assert_eq!(fault(Path::new("/dev/zero")), "it has more than 4 bytes");
        assert_eq!(read(Path::new("/dev/null"), 4).unwrap(), b"");
    }
}

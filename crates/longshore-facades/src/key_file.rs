//! The files of the hub's own keys, which are created once. An interrupted start leaves a whole file or none.
//! Something else in the place of a file can neither delay a start nor fill its memory.

use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The most bytes of such a file.
const MOST: u64 = 64 << 10;

/// The content of a file; none if the file is missing or empty, because nobody can have used a key that was
/// never written.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    // Without that, opening a pipe waits for whoever writes into it.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file; move it away"));
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        let what = format!("it has more than {MOST} bytes, so it is no key; move it away");
        return Err(Error::new(ErrorKind::InvalidData, what));
    }
    if bytes.is_empty() {
        tracing::warn!(file = %path.display(), "this file of a key is empty: the hub makes a new key");
        return Ok(None);
    }
    Ok(Some(bytes))
}

/// Writes a file all at once, for its owner only. Nobody ever reads half of it.
pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    // What an earlier start left is not written into: it may be no file.
    let _ = std::fs::remove_file(&new);
    let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use longshore_model::time::Timestamp;

    use super::*;
    use crate::mobile::ServerKey;
    use crate::push::Vapid;
    use crate::tls::Tls;

    /// Loads what is in a folder, or tells why not.
    type Load = fn(&Path) -> std::result::Result<(), String>;

    fn vapid(folder: &Path) -> std::result::Result<(), String> {
        let loaded = Vapid::load(&folder.join("push.key"), "mailto:x@example.org");
        loaded.map(drop).map_err(|error| error.to_string())
    }

    fn authority(folder: &Path) -> std::result::Result<(), String> {
        let made = Tls::local(folder, vec!["localhost".to_owned()], Timestamp::from_micros(0));
        made.map(drop).map_err(|error| error.to_string())
    }

    fn mobile(folder: &Path) -> std::result::Result<(), String> {
        let loaded = ServerKey::load(&folder.join("mobile.key"));
        loaded.map(drop).map_err(|error| error.to_string())
    }

    const FILES: [(&str, Load); 4] =
        [("push.key", vapid), ("ca.pem", authority), ("ca.key", authority), ("mobile.key", mobile)];

    #[test]
    fn an_empty_key_is_made_anew_and_a_whole_one_is_kept() {
        for (name, load) in FILES {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            // An earlier start was interrupted while it wrote.
            std::fs::write(folder.path().join(format!("{name}.new")), "half").unwrap();
            load(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let made = std::fs::read(&path).unwrap();
            load(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(std::fs::read(&path).unwrap(), made, "{name}");
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
            assert!(!folder.path().join(format!("{name}.new")).exists(), "{name}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_at_once_and_named() {
        for (name, load) in FILES {
            let folder = tempfile::tempdir().unwrap();
            load(folder.path()).unwrap();
            let path = folder.path().join(name);
            let refused = |what: &str| {
                let told = load(folder.path()).expect_err(what);
                assert!(told.contains(&path.display().to_string()), "{name}, {what}: {told}");
            };
            std::fs::write(&path, "half of a k").unwrap();
            refused("garbled");
            std::fs::write(&path, vec![b'x'; MOST as usize + 1]).unwrap();
            refused("huge");
            std::fs::remove_file(&path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
            refused("pipe");
            std::fs::remove_file(&path).unwrap();
            std::fs::create_dir(&path).unwrap();
            refused("folder");
        }
    }
}

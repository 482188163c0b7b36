//! The file of the owner's token: it holds one that is worth something and that only its owner can read, or no hub starts with it.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use longshore_facades::auth::{Owner, PROVABLE, Token};
use tracing::warn;

use super::exit::Fault;
use super::private;
use crate::config::Places;

/// The token of the file; none when there is no file yet.
pub(super) fn read(places: &Places) -> Result<Option<String>> {
    let path = places.token();
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read the token in {}", path.display()));
        }
    };
    let text = String::from_utf8_lossy(&bytes);
    let token = text.trim();
    let fault = match token {
        "" => "is empty",
        token if !token.bytes().all(|byte| byte.is_ascii_graphic()) => "holds something else than one word",
        token if token.len() < PROVABLE => "holds a word that is too short to be a token",
        token => return Ok(Some(token.to_owned())),
    };
    let what = format!("the owner's token cannot be used: {} {fault}", path.display());
    let hint = format!(
        "stop the hub if one runs, and delete the file (`rm {}`): the next start makes a new token, and paired devices stay \
         paired",
        path.display()
    );
    Err(Fault::usage(what, hint).into())
}

/// The token of the file, or a new one in the file, which only its owner can read.
pub(super) fn owner_of(places: &Places) -> Result<Owner> {
    let path = places.token();
    let token = match read(places)? {
        Some(token) => {
            keep_private(&path)?;
            Token::new(token)
        }
        None => {
            let token =
                Token::random().map_err(|error| anyhow::anyhow!("no randomness for a token: {error}"))?;
            keep(&path, &token).with_context(|| format!("cannot keep the token in {}", path.display()))?;
            token
        }
    };
    Ok(Owner { token, keep: Some(Box::new(move |token| keep(&path, token))) })
}

/// Takes a file away from others who could read it.
fn keep_private(path: &Path) -> Result<()> {
    let private = || -> std::io::Result<bool> {
        let mut permissions = std::fs::metadata(path)?.permissions();
        if permissions.mode() & 0o077 == 0 {
            return Ok(true);
        }
        permissions.set_mode(0o600);
        std::fs::set_permissions(path, permissions)?;
        Ok(false)
    };
    let was = private().with_context(|| format!("cannot keep {} from others", path.display()))?;
    if !was {
        warn!(
            "others could read {}, and cannot any more; if one of them may have, `longshore token rotate` makes a new token",
            path.display()
        );
    }
    Ok(())
}

/// Puts a token in its place, all at once: there is never half of one.
fn keep(path: &Path, token: &Token) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut file = private::create(&new)?;
    file.write_all(format!("{}\n", token.reveal()).as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_token_that_is_one_is_taken_and_kept_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        assert_eq!(read(&places).unwrap(), None);
        let made = owner_of(&places).unwrap().token.reveal().to_owned();
        assert_eq!(read(&places).unwrap().as_deref(), Some(made.as_str()));
        let long = "x".repeat(PROVABLE);
        let two_lines = format!("{long}\n{long}\n");
        let no_text = [0xff; PROVABLE];
        for (bad, why) in [
            (&b""[..], "is empty"),
            (b" \n\t\n", "is empty"),
            (b"abc\n", "too short"),
            (two_lines.as_bytes(), "one word"),
            (&no_text, "one word"),
        ] {
            std::fs::write(places.token(), bad).unwrap();
            let error = owner_of(&places).err().unwrap();
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(std::fs::read(places.token()).unwrap(), bad, "it stays as it is");
        }
        std::fs::write(places.token(), format!("{long}\n")).unwrap();
        std::fs::set_permissions(places.token(), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(owner_of(&places).unwrap().token.reveal(), long);
        assert_eq!(std::fs::metadata(places.token()).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

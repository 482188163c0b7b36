//! The owner's token, from the environment or from its file. A hub starts with a token file only if it holds
//! a strong token and only its owner can read it.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use longshore_facades::auth::{Owner, PROVABLE, Token};
use tracing::warn;

use super::exit::Fault;
use super::private;
use crate::config::Places;
use crate::{owner_token, small_file};

/// The most that is read of it, in bytes.
const LONGEST: u64 = 4 << 10;

/// The token of the environment, which goes before that of the file.
pub(super) fn named() -> Result<Option<&'static str>> {
    owner_token::of_environment().map_err(|fault| {
        let what = format!("cannot use the owner's token: {} {fault}", owner_token::VARIABLE);
        Fault::usage(what, format!("set it to one word, or remove it: `unset {}`", owner_token::VARIABLE))
            .into()
    })
}

/// The token of the file; none when there is no file yet.
pub(super) fn read(places: &Places) -> Result<Option<String>> {
    let path = places.token();
    let bytes = match small_file::read(&path, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) => match error.kind() {
            ErrorKind::NotFound => return Ok(None),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                return Err(unusable(&path, &format!("cannot be read: {error}")).into());
            }
            _ => return Err(error).with_context(|| format!("cannot read the token in {}", path.display())),
        },
    };
    match owner_token::word(&bytes) {
        Ok(token) if token.len() >= PROVABLE => Ok(Some(token.to_owned())),
        Ok(_) => Err(unusable(&path, "contains a word that is too short for a token").into()),
        Err(fault) => Err(unusable(&path, &fault.to_string()).into()),
    }
}

fn unusable(path: &Path, fault: &str) -> Fault {
    let what = format!("cannot use the owner's token: {} {fault}", path.display());
    let delete = if path.is_dir() { "rm -r" } else { "rm" };
    let hint = format!(
        "stop the hub if one runs (`longshore down`), and delete the file (`{delete} {}`): the next start makes a new token, \
         and paired devices stay paired",
        path.display()
    );
    Fault::usage(what, hint)
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
            let token = Token::random()
                .map_err(|error| anyhow::anyhow!("the system gives no random bytes for a token: {error}"))?;
            keep(&path, &token).with_context(|| format!("cannot write the token to {}", path.display()))?;
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
    let was = private().with_context(|| format!("cannot make {} private", path.display()))?;
    if !was {
        warn!(
            "other users could read {}; the hub has made it private. If one of them may have read it, replace it with `longshore token rotate`",
            path.display()
        );
    }
    Ok(())
}

fn keep(path: &Path, token: &Token) -> std::io::Result<()> {
    private::put(path, format!("{}\n", token.reveal()).as_bytes())
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
        let endless = vec![b'x'; 5 << 20];
        for (bad, why) in [
            (&b""[..], "is empty"),
            (b" \n\t\n", "is empty"),
            (b"abc\n", "too short"),
            (two_lines.as_bytes(), "one word"),
            (&no_text, "one word"),
            (&endless, "more than 4096 bytes"),
        ] {
            std::fs::write(places.token(), bad).unwrap();
            let error = owner_of(&places).err().unwrap();
            assert!(error.to_string().contains(why), "{error}");
            assert!(std::fs::read(places.token()).unwrap() == bad, "it stays as it is");
        }
        std::fs::write(places.token(), format!("{long}\n")).unwrap();
        std::fs::set_permissions(places.token(), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(owner_of(&places).unwrap().token.reveal(), long);
        assert_eq!(std::fs::metadata(places.token()).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

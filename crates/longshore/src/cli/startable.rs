//! Checks whether a hub could start: the files that it reads, and its address. The check creates nothing and
//! leaves nothing in use.

use std::path::Path;

use anyhow::{Result, bail};
use longshore_facades::mobile::ServerKey;
use longshore_facades::push::Vapid;
use tokio::net::TcpListener;

use super::hub_server::cannot_listen;
use super::listen::{self, Listen};
use super::token_file;
use crate::config::{Config, Places};

/// Why the next start fails, as far as that shows before it.
pub(super) async fn check(places: &Places) -> Result<()> {
    with(places, Config::load(places)?).await
}

async fn with(places: &Places, mut config: Config) -> Result<()> {
    Listen::remembered(places)?.apply(&mut config);
    listen::check(&config).await?;
    if let Some(token) = token_file::named()? {
        listen::check_token(&config, token).await?;
    }
    Vapid::check(&places.push_keys())?;
    ServerKey::check(&places.mobile_key())?;
    for file in [places.data.join("lock"), places.running()] {
        check_writable(&file)?;
    }
    let listener = TcpListener::bind(&config.bind).await;
    let listener = listener.map_err(|error| cannot_listen(&config.bind, &error))?;
    // An authority of our own would be made by that.
    if config.tls_cert.is_some() || config.tls_key.is_some() {
        listen::tls(places, &config, listener.local_addr()?)?;
    }
    Ok(())
}

/// Refuses what stands in the place of a file that the hub writes.
fn check_writable(path: &Path) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => bail!("{} is not a regular file; move it away", path.display()),
        Ok(_) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::told;

    #[tokio::test]
    async fn what_keeps_a_hub_from_starting_is_found_before() {
        let at = |bind: &str| Config { bind: bind.to_owned(), ..Config::default() };
        let here = || at("127.0.0.1:0");
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        with(&places, here()).await.unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a look makes nothing");

        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let taken = (taken.local_addr().unwrap().to_string(), taken);
        for bind in ["nonsense", &taken.0] {
            let error = with(&places, at(bind)).await.unwrap_err();
            assert!(told(&error).contains(bind), "{bind}: {error}");
        }
        for name in ["listen.json", "push.key"] {
            let path = folder.path().join(name);
            std::fs::write(&path, "no such thing").unwrap();
            let error = with(&places, here()).await.unwrap_err();
            assert!(told(&error).contains(name), "{name}: {error}");
            std::fs::remove_file(path).unwrap();
        }
        for name in ["listen.json", "push.key", "lock", "hub.json"] {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            let error = with(&places, here()).await.unwrap_err();
            assert!(told(&error).contains(name), "{name}: {error}");
            std::fs::remove_dir(path).unwrap();
        }
        with(&places, here()).await.unwrap();
    }
}

//! Where the hub listens, with which TLS, and under which address others find it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use longshore_facades::tls::Tls;

use super::exit::Fault;
use super::terminal::now;
use crate::config::{Config, Places};

/// How the hub is reached, as flags say it.
#[derive(Debug, Default, Args)]
pub(super) struct Listen {
    /// Where to listen
    #[arg(long, env = "LONGSHORE_BIND", value_name = "ADDRESS")]
    bind: Option<String>,
    /// A name besides loopback under which this hub may be reached; can be given several times
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Speak TLS, with a certificate of an authority of this machine's own
    #[arg(long)]
    tls: bool,
    /// Speak TLS with this certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<std::path::PathBuf>,
    /// And this key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<std::path::PathBuf>,
    /// The address under which others reach this hub, for the codes that phones scan
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Listen beyond this machine without TLS: whoever is on the way reads everything, tokens included
    #[arg(long)]
    insecure_http: bool,
}

impl Listen {
    /// Puts the flags over the settings.
    pub(super) fn apply(self, config: &mut Config) {
        config.bind = self.bind.unwrap_or(std::mem::take(&mut config.bind));
        config.allow_hosts.extend(self.allow_host);
        config.tls |= self.tls;
        config.tls_cert = self.tls_cert.or(config.tls_cert.take());
        config.tls_key = self.tls_key.or(config.tls_key.take());
        config.public_url = self.public_url.or(config.public_url.take());
        config.insecure_http |= self.insecure_http;
    }
}

/// Refuses to listen where others could listen in.
pub(super) async fn check(config: &Config) -> Result<()> {
    let speaks_tls = config.tls || config.tls_cert.is_some();
    if speaks_tls || config.insecure_http {
        return Ok(());
    }
    // What is no address is said when it is listened at.
    let Ok(found) = tokio::net::lookup_host(&config.bind).await else { return Ok(()) };
    match found.map(|at| at.ip()).find(|ip| !ip.is_loopback()) {
        None => Ok(()),
        Some(_) => {
            let what =
                format!("will not listen at {} without TLS: tokens would go in the clear", config.bind);
            let hint = "add `--tls`; or `--insecure-http` when only a VPN or a proxy of yours leads there \
                        (docs/security.md)";
            Err(Fault::usage(what, hint).into())
        }
    }
}

/// Where the hub is, for programs of this machine and for others.
pub(super) struct Place {
    /// For this machine.
    pub(super) url: String,
    /// For others, when they can reach it at all.
    pub(super) public: Option<String>,
}

impl Place {
    pub(super) fn of(address: SocketAddr, config: &Config, tls: bool) -> Self {
        let scheme = if tls { "https" } else { "http" };
        let at = |ip: IpAddr| format!("{scheme}://{}", SocketAddr::new(ip, address.port()));
        let ip = address.ip();
        let here = if ip.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { ip };
        let outside = match ip {
            ip if ip.is_loopback() => None,
            ip if ip.is_unspecified() => address_in_the_network(),
            ip => Some(ip),
        };
        let named = config.public_url.clone().map(|url| url.trim_end_matches('/').to_owned());
        Self { url: at(here), public: named.or_else(|| outside.map(at)) }
    }

    /// The host of the public address.
    pub(super) fn public_host(&self) -> Option<String> {
        let (_, rest) = self.public.as_deref()?.split_once("://")?;
        let host = rest.split('/').next()?;
        let end = host.rfind(':').filter(|_| !host.ends_with(']')).unwrap_or(host.len());
        Some(host[..end].trim_matches(['[', ']']).to_owned())
    }
}

/// The address with which this machine would go out. Nothing is sent for that.
fn address_in_the_network() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    // An address for documents, where nobody is.
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|at| at.ip()).filter(|ip| !ip.is_unspecified() && !ip.is_loopback())
}

/// The TLS that the settings ask for.
pub(super) fn tls(places: &Places, config: &Config, address: SocketAddr) -> Result<Option<Tls>> {
    match (&config.tls_cert, &config.tls_key) {
        (Some(cert), Some(key)) => Ok(Some(of_files(cert, key)?)),
        (Some(_), None) | (None, Some(_)) => {
            let what = "a certificate needs its key, and a key its certificate";
            Err(Fault::usage(what, "set both `tls_cert` and `tls_key`").into())
        }
        (None, None) if config.tls => {
            let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
            names.push(rustix::system::uname().nodename().to_string_lossy().into_owned());
            names.extend(Some(address.ip()).filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string()));
            names.extend(Place::of(address, config, true).public_host());
            names.extend(config.allow_hosts.iter().cloned());
            names.retain(|name| !name.is_empty());
            names.sort();
            names.dedup();
            Ok(Some(Tls::local(&places.data, names, now()).context("no certificate of our own")?))
        }
        (None, None) => Ok(None),
    }
}

fn of_files(cert: &Path, key: &Path) -> Result<Tls> {
    Tls::of_files(cert, key).context("the certificate cannot be used")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_for_here_and_for_others() {
        let place = |at: &str, public: Option<&str>| {
            let config = Config { public_url: public.map(str::to_owned), ..Config::default() };
            Place::of(at.parse().unwrap(), &config, true)
        };
        let here = place("127.0.0.1:8790", None);
        assert_eq!((here.url.as_str(), here.public), ("https://127.0.0.1:8790", None));
        let one = place("192.168.1.5:8790", None);
        assert_eq!(one.public_host().as_deref(), Some("192.168.1.5"));
        let named = place("0.0.0.0:8790", Some("https://hub.example:444/"));
        assert_eq!(named.url, "https://127.0.0.1:8790");
        assert_eq!(named.public.as_deref(), Some("https://hub.example:444"));
        assert_eq!(named.public_host().as_deref(), Some("hub.example"));
        assert_eq!(place("[::1]:1", Some("https://[fd00::1]:2")).public_host().as_deref(), Some("fd00::1"));
    }

    #[tokio::test]
    async fn nobody_listens_beyond_this_machine_in_the_clear_by_accident() {
        let at = |bind: &str| Config { bind: bind.to_owned(), ..Config::default() };
        for fine in ["127.0.0.1:0", "[::1]:0", "localhost:0", "127.5.5.5:0"] {
            assert!(check(&at(fine)).await.is_ok(), "{fine}");
        }
        for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8790"] {
            assert!(check(&at(open)).await.unwrap_err().to_string().contains("without TLS"), "{open}");
            assert!(check(&Config { tls: true, ..at(open) }).await.is_ok());
            assert!(check(&Config { insecure_http: true, ..at(open) }).await.is_ok());
        }
    }
}

//! The address and TLS of the hub, and the addresses under which others reach it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use longshore_facades::auth::PROVABLE;
use longshore_facades::tls::Tls;
use longshore_model::device::DeviceMode;
use serde::{Deserialize, Serialize};

use super::exit::Fault;
use super::private;
use super::terminal::now;
use crate::config::{Config, Places};
use crate::{owner_token, small_file};

/// How the hub is reached, as flags say it.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Listen {
    /// The address and port to listen at
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// Another host name under which clients may reach this hub; you can give it several times
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Use TLS, with a certificate from this machine's own authority
    #[arg(long)]
    tls: bool,
    /// Use TLS with this certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<std::path::PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<std::path::PathBuf>,
    /// The address under which other devices reach this hub, for the QR codes
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Listen beyond this machine without TLS: everyone on the network path can read everything, also tokens
    #[arg(long)]
    insecure_http: bool,
    /// Serve the web app of this folder instead of the built-in one
    #[arg(long, value_name = "DIR")]
    web_dir: Option<std::path::PathBuf>,
    /// Let the OpenAgents app in at port 9099, without a token: read_only, approve or full
    #[arg(long, value_name = "MODE")]
    openagents: Option<DeviceMode>,
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
        config.web_dir = self.web_dir.or(config.web_dir.take());
        config.openagents = self.openagents.or(config.openagents);
    }

    /// Notes it for verbs that start the hub by the way: whoever found it here, as a paired phone did, finds it here again.
    pub(super) fn remember(mut self, places: &Places) -> Result<()> {
        for file in [&mut self.tls_cert, &mut self.tls_key, &mut self.web_dir].into_iter().flatten() {
            // The next one may be started in another folder.
            *file = std::path::absolute(&*file)?;
        }
        Ok(private::put(&places.listened(), &serde_json::to_vec(&self)?)?)
    }

    /// What was last noted. The environment of today goes before the flags of then.
    pub(super) fn remembered(places: &Places) -> Result<Self> {
        let path = places.listened();
        let mut noted: Self = match small_file::read(&path, small_file::MOST) {
            Ok(text) => serde_json::from_slice(&text)
                .with_context(|| format!("{} is damaged; delete it", path.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}; delete it", path.display()));
            }
        };
        if std::env::var_os("LONGSHORE_BIND").is_some_and(|bind| !bind.is_empty()) {
            noted.bind = None;
        }
        Ok(noted)
    }
}

/// What to do about an address at which a hub cannot listen.
pub(super) const CHOOSE_ADDRESS: &str = "choose an address and a port with `longshore up --bind`, as in 127.0.0.1:8790; \
                                         without `--bind` the hub listens where the settings say";

/// Refuses an address that nobody can open, and to listen where others could listen in.
pub(super) async fn check(config: &Config) -> Result<()> {
    if !is_bindable(&config.bind) {
        let what = format!("`{}` is not an address with a port", config.bind);
        return Err(Fault::usage(what, CHOOSE_ADDRESS).into());
    }
    if let Some(url) = config.public_url.as_deref().filter(|url| !is_web_address(url)) {
        let what = format!("a phone cannot open the address `{url}`");
        let hint = "write `--public-url` (`public_url`) with its scheme, as in https://hub.example";
        return Err(Fault::usage(what, hint).into());
    }
    if let Some(folder) = config.web_dir.as_deref().filter(|folder| !folder.join("index.html").is_file()) {
        let what = format!("there is no index.html in {}", folder.display());
        let hint = "name the folder that the build of the web app wrote with `--web-dir` (`web_dir`)";
        return Err(Fault::usage(what, hint).into());
    }
    let speaks_tls = config.tls || config.tls_cert.is_some();
    if speaks_tls || config.insecure_http {
        return Ok(());
    }
    if !leads_out(&config.bind).await {
        return Ok(());
    }
    let what = format!(
        "the hub does not listen at {} without TLS: others on the network could read the token",
        config.bind
    );
    let hint = "add `--tls`; or add `--insecure-http` if only your VPN or your proxy reaches this address \
                (docs/security.md)";
    Err(Fault::usage(what, hint).into())
}

/// Refuses a token that can be guessed where others can try.
pub(super) async fn check_token(config: &Config, token: &str) -> Result<()> {
    // A proxy leads others to a hub that listens on loopback, under the names that it is told.
    let is_led_to = config.public_url.is_some() || !config.allow_hosts.is_empty();
    if token.len() >= PROVABLE || !(is_led_to || leads_out(&config.bind).await) {
        return Ok(());
    }
    let variable = owner_token::VARIABLE;
    let what =
        format!("{variable} is too short for a hub that other machines reach: somebody could guess it");
    let hint = format!(
        "run `unset {variable}`, and the hub makes its own token; or choose a token of at least {PROVABLE} letters"
    );
    Err(Fault::usage(what, hint).into())
}

/// Whether somebody on another machine gets to an address.
async fn leads_out(bind: &str) -> bool {
    // What is no address is said when it is listened at.
    let Ok(mut found) = tokio::net::lookup_host(bind).await else { return false };
    found.any(|at| !at.ip().is_loopback())
}

/// Whether this is an address or a host, with a port.
fn is_bindable(bind: &str) -> bool {
    let is_host = |host: &str| !host.is_empty() && !host.contains([':', '[', ']', '/', ' ']);
    let named =
        bind.rsplit_once(':').is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok());
    named || bind.parse::<SocketAddr>().is_ok()
}

/// Whether a browser can go there: to a host, by HTTP.
fn is_web_address(url: &str) -> bool {
    let parsed = url.parse::<axum::http::Uri>();
    parsed.is_ok_and(|uri| {
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        matches!(uri.scheme_str(), Some("http" | "https")) && has_host && uri.query().is_none()
    })
}

/// Where the hub is, for programs of this machine and for others.
pub(super) struct HubAddresses {
    /// For this machine.
    pub(super) url: String,
    /// For others, the best one first; none when they cannot reach it at all.
    pub(super) others: Vec<String>,
}

impl HubAddresses {
    pub(super) fn of(address: SocketAddr, config: &Config, tls: bool) -> Self {
        let scheme = if tls { "https" } else { "http" };
        let at = |ip: IpAddr| format!("{scheme}://{}", SocketAddr::new(ip, address.port()));
        let ip = address.ip();
        let here = if ip.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { ip };
        let outside = match ip {
            ip if ip.is_loopback() => Vec::new(),
            ip if ip.is_unspecified() => addresses_in_networks(ip.is_ipv6()),
            ip => vec![ip],
        };
        let named = config.public_url.as_ref().map(|url| url.trim_end_matches('/').to_owned());
        let mut others: Vec<String> = named.into_iter().collect();
        for other in outside.into_iter().map(at) {
            if !others.contains(&other) {
                others.push(other);
            }
        }
        Self { url: at(here), others }
    }

    /// The address for others that is told first.
    pub(super) fn public(&self) -> Option<&String> {
        self.others.first()
    }

    /// The hosts of the addresses for others.
    pub(super) fn hosts(&self) -> impl Iterator<Item = String> {
        self.others.iter().filter_map(|url| host_of(url))
    }
}

fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    let end = host.rfind(':').filter(|_| !host.ends_with(']')).unwrap_or(host.len());
    Some(host[..end].trim_matches(['[', ']']).to_owned())
}

/// The addresses with which this machine would go out: into the world, and into a tailnet where it is in one. Bridges of
/// containers are not among them, since nothing goes out there. Nothing is sent for that.
pub(super) fn addresses_in_networks(with_v6: bool) -> Vec<IpAddr> {
    // Addresses for documents, where nobody is, and the one that every tailnet has.
    let toward: [IpAddr; 3] = [
        Ipv4Addr::new(192, 0, 2, 1).into(),
        Ipv4Addr::new(100, 100, 100, 100).into(),
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    ];
    let mut found = Vec::new();
    for ip in toward.into_iter().filter(|ip| with_v6 || ip.is_ipv4()).filter_map(leaving_for) {
        if !found.contains(&ip) {
            found.push(ip);
        }
    }
    found
}

fn leaving_for(there: IpAddr) -> Option<IpAddr> {
    let anywhere: IpAddr = match there {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((anywhere, 0)).ok()?;
    socket.connect((there, 9)).ok()?;
    socket.local_addr().ok().map(|at| at.ip()).filter(|ip| !ip.is_unspecified() && !ip.is_loopback())
}

/// The TLS that the settings ask for.
pub(super) fn tls(places: &Places, config: &Config, address: SocketAddr) -> Result<Option<Tls>> {
    match (&config.tls_cert, &config.tls_key) {
        (Some(cert), Some(key)) => Ok(Some(of_files(cert, key)?)),
        (Some(_), None) | (None, Some(_)) => {
            let what = "a certificate and its key belong together, and one of them is missing";
            Err(Fault::usage(what, "set both `tls_cert` and `tls_key`").into())
        }
        (None, None) if config.tls => {
            let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
            names.push(rustix::system::uname().nodename().to_string_lossy().into_owned());
            names.extend(Some(address.ip()).filter(|ip| !ip.is_unspecified()).map(|ip| ip.to_string()));
            names.extend(HubAddresses::of(address, config, true).hosts());
            names.extend(config.allow_hosts.iter().cloned());
            names.retain(|name| !name.is_empty());
            names.sort();
            names.dedup();
            Ok(Some(Tls::local(&places.data, names, now()).context("cannot make a certificate for `--tls`")?))
        }
        (None, None) => Ok(None),
    }
}

fn of_files(cert: &Path, key: &Path) -> Result<Tls> {
    Tls::of_files(cert, key).context("cannot use the certificate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_for_here_and_for_others() {
        let place = |at: &str, public: Option<&str>| {
            let config = Config { public_url: public.map(str::to_owned), ..Config::default() };
            HubAddresses::of(at.parse().unwrap(), &config, true)
        };
        let here = place("127.0.0.1:8790", None);
        assert_eq!(
            (here.url.as_str(), here.others.len()),
            ("https://127.0.0.1:8790", 0),
            "no phone gets there"
        );
        let hosts = |place: &HubAddresses| place.hosts().collect::<Vec<_>>();
        let one = place("192.168.1.5:8790", None);
        assert_eq!(
            (&one.others[..], hosts(&one)),
            (&["https://192.168.1.5:8790".to_owned()][..], vec!["192.168.1.5".to_owned()])
        );
        let named = place("0.0.0.0:8790", Some("https://hub.example:444/"));
        assert_eq!(named.url, "https://127.0.0.1:8790");
        assert_eq!(named.public().map(String::as_str), Some("https://hub.example:444"));
        assert_eq!(hosts(&named)[0], "hub.example");
        assert_eq!(hosts(&place("[::1]:1", Some("https://[fd00::1]:2"))), ["fd00::1"]);
        let both = place("192.168.1.5:8790", Some("https://hub.example"));
        assert_eq!(both.others, ["https://hub.example", "https://192.168.1.5:8790"], "the named one first");
    }

    #[test]
    fn addresses_in_networks_are_those_that_others_can_use() {
        let found = addresses_in_networks(true);
        assert!(found.iter().all(|ip| !ip.is_loopback() && !ip.is_unspecified()), "{found:?}");
        let once: std::collections::BTreeSet<_> = found.iter().collect();
        assert_eq!(once.len(), found.len(), "{found:?}");
        assert!(
            addresses_in_networks(false).iter().all(IpAddr::is_ipv4),
            "who listens for IPv4 is reached by it"
        );
    }

    #[tokio::test]
    async fn an_address_that_no_phone_can_open_is_refused() {
        let at = |url: &str| Config { public_url: Some(url.to_owned()), ..Config::default() };
        for fine in ["https://hub.example", "http://100.64.0.1:8790/", "https://[fd00::1]:2/longshore"] {
            assert!(check(&at(fine)).await.is_ok(), "{fine}");
        }
        for bad in [
            "hub.example",
            "javascript:alert(1)",
            "nonsense://x/y/z",
            "https://",
            "https:///x",
            "",
            "https://a b",
        ] {
            let refused = check(&at(bad)).await.unwrap_err();
            assert!(refused.to_string().contains("cannot open the address"), "{bad}: {refused}");
        }
    }

    #[tokio::test]
    async fn a_folder_without_a_page_is_no_web_app() {
        let folder = tempfile::tempdir().unwrap();
        let at = Config { web_dir: Some(folder.path().to_owned()), ..Config::default() };
        let refused = check(&at).await.unwrap_err();
        assert!(refused.to_string().contains("no index.html"), "{refused}");
        std::fs::write(folder.path().join("index.html"), "<p>").unwrap();
        assert!(check(&at).await.is_ok());
    }

    #[tokio::test]
    async fn what_is_no_address_with_a_port_is_wrong_usage() {
        let at = |bind: &str| Config { bind: bind.to_owned(), ..Config::default() };
        for bad in
            ["nonsense", "127.0.0.1", "127.0.0.1:99999", "::1", "[::1]", ":8790", "http://localhost:1", ""]
        {
            let refused = check(&at(bad)).await.unwrap_err();
            assert!(refused.to_string().contains("not an address with a port"), "{bad}: {refused}");
            assert_eq!(super::super::exit::advice(&refused).0, 2, "{bad}");
        }
    }

    #[test]
    fn what_up_was_told_is_remembered_wherever_the_next_start_is() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { config: folder.path().join("config.toml"), data: folder.path().to_owned() };
        assert_eq!(Listen::remembered(&places).unwrap(), Listen::default());
        let told = Listen {
            allow_host: vec!["hub".to_owned()],
            tls: true,
            tls_cert: Some("cert.pem".into()),
            tls_key: Some("/etc/key.pem".into()),
            web_dir: Some("/srv/app".into()),
            public_url: Some("https://hub.example".to_owned()),
            ..Listen::default()
        };
        told.clone().remember(&places).unwrap();
        let cert = std::env::current_dir().unwrap().join("cert.pem");
        assert_eq!(Listen::remembered(&places).unwrap(), Listen { tls_cert: Some(cert), ..told });
    }

    #[tokio::test]
    async fn a_short_token_is_for_hubs_that_nobody_else_reaches() {
        let at = |bind: &str| Config { bind: bind.to_owned(), ..Config::default() };
        let named = Config { public_url: Some("https://hub.example".to_owned()), ..Config::default() };
        let allowed = Config { allow_hosts: vec!["hub.example".to_owned()], ..Config::default() };
        assert!(check_token(&at("127.0.0.1:0"), "s3cret").await.is_ok());
        for reached in [at("0.0.0.0:0"), at("[::]:0"), named, allowed] {
            let refused = check_token(&reached, "s3cret").await.unwrap_err();
            assert!(refused.to_string().contains("too short"), "{reached:?}: {refused}");
            assert!(check_token(&reached, &"x".repeat(PROVABLE)).await.is_ok());
        }
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

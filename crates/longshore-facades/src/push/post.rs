//! Delivers a push with one POST to the push service of a browser.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::PushError;

/// The longest time of one try, from the name lookup to the response.
const WITHIN: Duration = Duration::from_secs(15);
/// The longest address of a push service.
const LONGEST_ADDRESS: usize = 2_048;

/// Where the hub may send pushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outlet {
    /// To public push services: over TLS, and never to an address of a private network, so that no device can
    /// make the hub probe one.
    #[default]
    World,
    /// To this machine only, without TLS, for tests.
    Loopback,
}

/// The response of a push service.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PushReply {
    Taken,
    /// The browser is gone, or wants no more pushes.
    Gone,
    /// Try again later.
    Later(Option<Duration>),
    Refused(u16),
}

/// A message to a push service.
pub(super) struct Parcel {
    pub(super) to: Uri,
    pub(super) authorization: String,
    pub(super) urgent: bool,
    pub(super) body: Vec<u8>,
}

/// How long a push service keeps a message that it cannot deliver at once.
const KEPT_S: u32 = 24 * 3600;

/// Parses the address of a subscription. Refuses addresses to which the hub would never send.
pub(super) fn address(endpoint: &str, outlet: Outlet) -> Result<Uri, PushError> {
    let bad = PushError::BadSubscription;
    if endpoint.len() > LONGEST_ADDRESS {
        return Err(bad("its endpoint is too long"));
    }
    let uri: Uri = endpoint.parse().map_err(|_| bad("its endpoint is not an address"))?;
    let wanted = match outlet {
        Outlet::World => "https",
        Outlet::Loopback => "http",
    };
    let has_user = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    match (uri.scheme_str(), uri.host()) {
        (Some(scheme), Some(host)) if scheme == wanted && !host.is_empty() && !has_user => Ok(uri),
        _ => Err(bad("its endpoint is not an https address")),
    }
}

/// The push service, as a signed token names it.
pub(super) fn audience(to: &Uri) -> String {
    let authority = to.authority().map(|authority| authority.as_str()).unwrap_or_default();
    format!("{}://{authority}", to.scheme_str().unwrap_or("https"))
}

/// Sends pushes.
pub(super) struct Post {
    outlet: Outlet,
    tls: TlsConnector,
}

impl Post {
    pub(super) fn new(outlet: Outlet) -> Result<Self, PushError> {
        let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| PushError::Unreachable(error.to_string()))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Self { outlet, tls: TlsConnector::from(Arc::new(config)) })
    }

    pub(super) async fn send(&self, parcel: Parcel) -> Result<PushReply, PushError> {
        let sent = tokio::time::timeout(WITHIN, self.try_send(parcel)).await;
        sent.unwrap_or_else(|_| Err(PushError::Unreachable("it did not answer in time".to_owned())))
    }

    async fn try_send(&self, parcel: Parcel) -> Result<PushReply, PushError> {
        let host = parcel.to.host().unwrap_or_default().to_owned();
        let usual = if parcel.to.scheme_str() == Some("http") { 80 } else { 443 };
        let port = parcel.to.port_u16().unwrap_or(usual);
        let stream = self.connect(host.trim_matches(['[', ']']), port).await?;
        match self.outlet {
            Outlet::World => {
                let name = ServerName::try_from(host).map_err(unreachable)?;
                exchange(self.tls.connect(name, stream).await.map_err(unreachable)?, parcel).await
            }
            Outlet::Loopback => exchange(stream, parcel).await,
        }
    }

    /// Connects. The name is looked up once, so the checked address is the one that is used.
    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, PushError> {
        let found = tokio::net::lookup_host((host, port)).await.map_err(unreachable)?;
        let allowed: Vec<SocketAddr> = found.filter(|at| self.may_reach(at.ip())).collect();
        if allowed.is_empty() {
            return Err(PushError::Unreachable("it has no address that pushes may go to".to_owned()));
        }
        TcpStream::connect(&*allowed).await.map_err(unreachable)
    }

    fn may_reach(&self, address: IpAddr) -> bool {
        match self.outlet {
            Outlet::World => is_public(address),
            Outlet::Loopback => address.is_loopback(),
        }
    }
}

fn unreachable(error: impl std::fmt::Display) -> PushError {
    PushError::Unreachable(error.to_string())
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    parcel: Parcel,
) -> Result<PushReply, PushError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(unreachable)?;
    let path = parcel.to.path_and_query().map_or("/", |path| path.as_str());
    let host = parcel.to.authority().map(|authority| authority.as_str()).unwrap_or_default();
    let request = Request::post(path)
        .header(header::HOST, host)
        .header(header::AUTHORIZATION, parcel.authorization)
        .header(header::CONTENT_ENCODING, "aes128gcm")
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .header("ttl", KEPT_S)
        .header("urgency", if parcel.urgent { "high" } else { "normal" })
        .body(Full::new(Bytes::from(parcel.body)))
        .map_err(unreachable)?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(unreachable)?;
        Ok(read(response.status(), response.headers()))
    };
    let mut answer = std::pin::pin!(answer);
    // The connection has to be driven while the answer is waited for. It may end with the answer; then the answer is
    // there.
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        _ = connection => answer.await,
    }
}

fn read(status: StatusCode, headers: &header::HeaderMap) -> PushReply {
    match status.as_u16() {
        200..=299 => PushReply::Taken,
        404 | 410 => PushReply::Gone,
        429 | 500..=599 => {
            let wait = headers.get(header::RETRY_AFTER).and_then(|wait| wait.to_str().ok()?.parse().ok());
            PushReply::Later(wait.map(Duration::from_secs))
        }
        other => PushReply::Refused(other),
    }
}

/// Whether an address is public, and not of a machine or a private network.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            let shared = a == 100 && (64..128).contains(&b);
            let special = a == 0 || a >= 240 || (a == 198 && (b == 18 || b == 19)) || (a == 192 && b == 0);
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || shared
                || special)
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_public(v4.into()),
            None => v6.segments()[0] & 0xe000 == 0x2000 && v6.segments()[0] != 0x2002,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_world_are_reached() {
        let public = |text: &str| is_public(text.parse().unwrap());
        for world in ["142.250.1.1", "8.8.8.8", "2a00:1450::1"] {
            assert!(public(world), "{world}");
        }
        let ours = [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.1.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
        ];
        for own in ours.into_iter().chain(["::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "ff02::1"]) {
            assert!(!public(own), "{own}");
        }
    }

    #[test]
    fn only_https_is_an_endpoint() {
        assert!(address("https://push.example/x?y", Outlet::World).is_ok());
        for bad in
            ["http://push.example/x", "ftp://x", "push.example", "", "https://", "https://a@push.example/"]
        {
            assert!(address(bad, Outlet::World).is_err(), "{bad}");
        }
        assert!(address(&format!("https://push.example/{}", "x".repeat(3_000)), Outlet::World).is_err());
        assert_eq!(audience(&"https://push.example:444/a/b".parse().unwrap()), "https://push.example:444");
    }
}

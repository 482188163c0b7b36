//! Which `Host` and `Origin` are let in. A page of another site must not reach a hub on this machine, neither by
//! asking it directly nor by a name that was made to point here (DNS rebinding).

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::problem::Problem;
use crate::router::App;

/// The names that this hub answers to.
#[derive(Clone, Debug, Default)]
pub struct Names {
    allowed: Vec<String>,
}

impl Names {
    /// Loopback is always allowed; these are too.
    pub fn also(allowed: impl IntoIterator<Item = String>) -> Self {
        Self { allowed: allowed.into_iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Whether this hub answers to a name: loopback, one that was allowed, or the very address that a connection came
    /// in at, which no other site's name can be.
    fn has(&self, host: &str, here: Option<IpAddr>) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        is_loopback(&name) || self.allowed.contains(&name) || (address.is_some() && address == here)
    }

    /// Why a request with these headers is not let in, if so.
    fn refuse(&self, headers: &HeaderMap, authority: Option<&str>, here: Option<IpAddr>) -> Option<Problem> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).or(authority);
        let host = host.unwrap_or_default();
        if !self.has(host, here) {
            return Some(Problem::foreign_host(host));
        }
        let origin = headers.get(header::ORIGIN)?.to_str().unwrap_or_default();
        (!self.has(host_of(origin), here)).then(|| Problem::foreign_origin(origin))
    }
}

/// Whether a name is one of this machine for itself.
pub(crate) fn is_loopback(host: &str) -> bool {
    matches!(without_port(host), "localhost" | "127.0.0.1" | "[::1]")
}

/// The host and port of an origin.
pub(crate) fn host_of(origin: &str) -> &str {
    origin.split_once("://").map_or("", |(_, host)| host)
}

/// A cookie goes along with whatever any page asks for, so what changes something must come from a page of our own: the
/// same host and the same port. (Other ports of a host share its cookies.)
pub(crate) fn same_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let (host, origin) = (text(header::HOST).unwrap_or_default(), text(header::ORIGIN));
    match origin {
        Some(origin) if !host.is_empty() && host_of(origin).eq_ignore_ascii_case(host) => Ok(()),
        Some(origin) => Err(Problem::foreign_origin(origin)),
        None => Err(Problem::no_origin()),
    }
}

fn without_port(host: &str) -> &str {
    match host.rfind(':') {
        Some(at) if !host.ends_with(']') => &host[..at],
        _ => host,
    }
}

/// The address of ours at which a connection came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here(pub(crate) IpAddr);

/// Refuses requests that were meant for somebody else.
pub async fn names_only(State(app): State<App>, request: Request, next: Next) -> Result<Response, Problem> {
    let here = request.extensions().get::<Here>().map(|here| here.0);
    let authority = request.uri().authority().map(|name| name.as_str());
    match app.names.refuse(request.headers(), authority, here) {
        Some(problem) => Err(problem),
        None => Ok(next.run(request).await),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        Names::also(["hub.example".to_owned()])
            .refuse(&headers, None, Some([192, 168, 1, 5].into()))
            .is_some()
    }

    #[test]
    fn only_known_hosts_and_origins_come_in() {
        assert!(!refused("127.0.0.1:8790", None));
        assert!(!refused("[::1]:8790", None));
        assert!(!refused("localhost", Some("http://localhost:5173")));
        assert!(!refused("Hub.Example", Some("https://hub.example")));
        assert!(refused("evil.example:8790", None));
        assert!(refused("localhost:8790", Some("https://evil.example")));
        assert!(refused("localhost:8790", Some("null")));
        assert!(refused("", None));
        assert!(refused("localhost.evil.example", None));
        assert!(
            !refused("192.168.1.5:8790", Some("http://192.168.1.5:8790")),
            "the address that it came in at"
        );
        assert!(refused("192.168.1.6:8790", None));
        assert!(refused("192.168.1.5:8790", Some("http://6.6.6.6")));
    }

    #[test]
    fn a_page_with_a_cookie_is_of_the_same_host_and_port() {
        let came = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_static(host));
            origin.map(|origin| headers.insert(header::ORIGIN, HeaderValue::from_static(origin)));
            same_origin(&headers).is_ok()
        };
        assert!(came("localhost:8790", Some("http://localhost:8790")));
        assert!(came("hub.example", Some("https://Hub.example")));
        assert!(!came("localhost:8790", Some("http://localhost:3000")), "another program of this machine");
        assert!(!came("localhost:8790", None));
        assert!(!came("localhost:8790", Some("null")));
        assert!(!came("", Some("://")));
    }
}

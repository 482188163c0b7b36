//! Checks `Host` and `Origin`. A page of another site must not reach a hub on this machine, neither directly
//! nor by a name that points here (DNS rebinding).
//!
//! The check is strict: each header once, with a name and a numeric port and nothing else, so that no other
//! program can read another name out of it.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;
use crate::router::App;

/// The names under which clients may reach this hub.
#[derive(Clone, Debug, Default)]
pub struct HostNames {
    allowed: Vec<String>,
    /// The origins of pages of others that may use the facades: `https://app.example`.
    origins: Vec<String>,
}

impl HostNames {
    /// Adds names to loopback, which is always allowed.
    pub fn also(allowed: impl IntoIterator<Item = String>) -> Self {
        let allowed = allowed.into_iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { allowed, origins: Vec::new() }
    }

    /// Lets pages of these origins use the facades. An origin is a scheme, a host and, unless it is the usual one, a port.
    #[must_use]
    pub fn with_pages_of(self, origins: impl IntoIterator<Item = String>) -> Self {
        Self { origins: origins.into_iter().map(|origin| origin.to_ascii_lowercase()).collect(), ..self }
    }

    /// The origin of a request, if its page may use the facades although it is another site.
    fn listed_page<'a>(&self, headers: &'a HeaderMap) -> Option<&'a HeaderValue> {
        let origin = only(headers, header::ORIGIN).ok()??.to_ascii_lowercase();
        self.origins.contains(&origin).then(|| headers.get(header::ORIGIN))?
    }

    /// The same, and more names.
    pub(crate) fn and(&self, more: Vec<String>) -> Self {
        let names = Self::also(self.allowed.iter().cloned().chain(more));
        Self { origins: self.origins.clone(), ..names }
    }

    /// Whether clients may use a name: loopback, an allowed name, or the address at which the connection came
    /// in, which cannot be another site's name.
    fn has(&self, host: &str, here: Option<IpAddr>) -> bool {
        let Some((name, _)) = name_and_port(host) else { return false };
        let name = name.to_ascii_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let address = bare.parse::<IpAddr>().ok();
        is_loopback(&name)
            || self.allowed.iter().any(|allowed| *allowed == name || *allowed == *bare)
            || (address.is_some() && address == here)
    }

    /// Why the hub refuses a request with these headers, if it does.
    fn refuse(&self, headers: &HeaderMap, authority: Option<&str>, here: Option<IpAddr>) -> Option<Problem> {
        self.refuse_host(headers, authority, here).or_else(|| match only(headers, header::ORIGIN) {
            Ok(None) => None,
            Ok(Some(origin)) if self.has(host_of(origin), here) => None,
            Ok(Some(origin)) | Err(origin) => Some(Problem::foreign_origin(origin)),
        })
    }

    /// The same, for the host alone. A host in the request's address must be the same.
    fn refuse_host(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
        here: Option<IpAddr>,
    ) -> Option<Problem> {
        let host = match (only(headers, header::HOST), authority) {
            (Ok(Some(host)), Some(named)) if !host.eq_ignore_ascii_case(named) => {
                return Some(Problem::foreign_host(named));
            }
            (Ok(host), named) => host.or(named).unwrap_or_default(),
            (Err(several), _) => return Some(Problem::foreign_host(several)),
        };
        (!self.has(host, here)).then(|| Problem::foreign_host(host))
    }
}

/// The only header of a name; an error if there are several, or if it is no text.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Result<Option<&str>, &str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) => one.to_str().map(Some).map_err(|_| ""),
        (Some(_), Some(other)) => Err(other.to_str().unwrap_or_default()),
    }
}

/// Whether a name means this machine itself.
pub(crate) fn is_loopback(host: &str) -> bool {
    name_and_port(host).is_some_and(|(name, _)| matches!(name, "localhost" | "127.0.0.1" | "[::1]"))
}

/// The host and port of an origin; empty for anything else.
pub(crate) fn host_of(origin: &str) -> &str {
    match origin.split_once("://") {
        Some(("http" | "https", host)) => host,
        Some(_) | None => "",
    }
}

/// Whether this is an origin as browsers send it: a scheme, a host, and a port if it is not the usual one.
pub fn is_origin(text: &str) -> bool {
    let usual = if text.starts_with("https://") { 443 } else { 80 };
    name_and_port(host_of(text)).is_some_and(|(_, port)| port != Some(usual))
}

/// Whether a request comes from a page of the same host and port. Browsers send the cookie with requests of
/// any page, so requests that change something need this check. (All ports of a host share its cookies.)
pub(crate) fn same_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let host = only(headers, header::HOST).ok().flatten().unwrap_or_default();
    match only(headers, header::ORIGIN) {
        Ok(Some(origin)) if !host.is_empty() && host_of(origin).eq_ignore_ascii_case(host) => Ok(()),
        Ok(Some(origin)) | Err(origin) => Err(Problem::foreign_origin(origin)),
        Ok(None) => Err(Problem::no_origin()),
    }
}

/// A name and its port. None for anything with more in it, such as a user or a port with letters.
fn name_and_port(host: &str) -> Option<(&str, Option<u16>)> {
    let end = match host.strip_prefix('[') {
        // An address of IPv6 is full of colons.
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, rest) = host.split_at(end);
    let is_name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
        }
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        Some(figures) if figures.bytes().all(|byte| byte.is_ascii_digit()) => Some(figures.parse().ok()?),
        Some(_) | None => return None,
    };
    is_name.then_some((name, port))
}

/// The hub's address at which a connection came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here(pub(crate) IpAddr);

/// The pages that may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pages {
    /// The hub's own.
    Own,
    /// Also those of listed origins. Such a page needs a token: the cookie is for the hub's own pages.
    Listed,
}

/// Refuses requests that were meant for another host, and those of pages that may not send them.
pub(crate) async fn names_only(
    State((app, pages)): State<(App, Pages)>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let here = request.extensions().get::<Here>().map(|here| here.0);
    let authority = request.uri().authority().map(|name| name.as_str());
    let listed = match pages {
        Pages::Own => None,
        Pages::Listed => app.names.listed_page(request.headers()).cloned(),
    };
    let problem = match &listed {
        None => app.names.refuse(request.headers(), authority, here),
        Some(_) => app.names.refuse_host(request.headers(), authority, here),
    };
    match (problem, listed) {
        (Some(problem), _) => Err(problem),
        (None, None) => Ok(next.run(request).await),
        (None, Some(origin)) => Ok(shared(request, next, origin).await),
    }
}

/// An answer that the browser shows to the page of another site, or the answer to the browser's question whether it would.
async fn shared(request: Request, next: Next, origin: HeaderValue) -> Response {
    let is_question = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    // Which headers a listed page sends is its own affair.
    let asked_for = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let mut response = match is_question {
        true => (StatusCode::NO_CONTENT, PREFLIGHT).into_response(),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    if let (true, Some(asked_for)) = (is_question, asked_for) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked_for);
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    response
}

/// What a listed page may send.
const PREFLIGHT: [(HeaderName, &str); 2] = [
    (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
    (header::ACCESS_CONTROL_MAX_AGE, "600"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        HostNames::also(["hub.example".to_owned()])
            .refuse(&headers, None, Some([192, 168, 1, 5].into()))
            .is_some()
    }

    #[test]
    fn further_names_leave_the_listed_pages_as_they_are() {
        let names =
            HostNames::also(["hub.example".to_owned()]).with_pages_of(["https://app.example".to_owned()]);
        let more = names.and(vec!["other.example".to_owned()]);
        assert_eq!(more.origins, ["https://app.example"]);
        assert!(more.has("other.example", None) && more.has("hub.example", None));
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
        for odd in [
            "localhost:1@evil.example",
            "127.0.0.1:8790.evil.example",
            "user@localhost",
            "localhost:",
            "localhost:99999",
            "localhost:+1",
            "[::1",
            "[::1]x",
            "[::1]:8790:1",
            "localhost:1:2",
            "localhost/",
            "localhost?",
            " localhost",
            "localhost,evil.example",
            "[localhost]",
        ] {
            assert!(refused(odd, None), "{odd}");
            assert!(refused("localhost:8790", Some(&format!("http://{odd}"))), "{odd}");
        }
        for odd in ["http://localhost:1@evil.example", "http://localhost/x", "file://localhost", "localhost"]
        {
            assert!(refused("localhost:8790", Some(odd)), "{odd}");
        }
        assert!(refused("192.168.1.5:8790", Some("http://6.6.6.6")));
    }

    #[test]
    fn an_origin_is_what_browsers_send_and_nothing_else() {
        for origin in
            ["https://app.example", "http://localhost:3000", "https://[::1]:8443", "http://a.example:443"]
        {
            assert!(is_origin(origin), "{origin}");
        }
        for odd in [
            "",
            "*",
            "null",
            "app.example",
            "https://",
            "https://*",
            "https://app.example/",
            "https://app.example/x",
            "https://app.example:443",
            "http://app.example:80",
            "ftp://app.example",
            "https://a@app.example",
        ] {
            assert!(!is_origin(odd), "{odd}");
        }
    }

    #[test]
    fn a_request_names_one_host_and_the_same_everywhere() {
        let names = HostNames::default();
        let came = |hosts: &[&str], origins: &[&str], named: Option<&str>| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, host.parse().unwrap());
            }
            for origin in origins {
                headers.append(header::ORIGIN, origin.parse().unwrap());
            }
            names.refuse(&headers, named, None).is_none()
        };
        assert!(came(&["localhost:1"], &[], Some("localhost:1")));
        assert!(came(&[], &[], Some("localhost:1")));
        assert!(!came(&["localhost:1"], &[], Some("evil.example")));
        assert!(!came(&["localhost:1"], &[], Some("localhost:2")));
        assert!(!came(&["localhost:1"], &[], Some("user@localhost:1")));
        assert!(!came(&["localhost:1", "evil.example"], &[], None));
        assert!(!came(&["localhost:1", "localhost:1"], &[], None));
        assert!(!came(&["localhost:1"], &["http://localhost:1", "http://evil.example"], None));
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

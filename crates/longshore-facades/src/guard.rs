//! Which `Host` and `Origin` are let in. A page of another site must not reach a hub on this machine, neither by
//! asking it directly nor by a name that was made to point here (DNS rebinding).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
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

    fn has(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        matches!(name.as_str(), "localhost" | "127.0.0.1" | "[::1]") || self.allowed.contains(&name)
    }

    /// Why a request with these headers is not let in, if so.
    fn refuse(&self, headers: &HeaderMap, authority: Option<&str>) -> Option<Problem> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).or(authority);
        let host = host.unwrap_or_default();
        if !self.has(host) {
            return Some(Problem::foreign_host(host));
        }
        let origin = headers.get(header::ORIGIN)?.to_str().unwrap_or_default();
        let origin_host = origin.split_once("://").map_or("", |(_, host)| host);
        (!self.has(origin_host)).then(|| Problem::foreign_origin(origin))
    }
}

fn without_port(host: &str) -> &str {
    match host.rfind(':') {
        Some(at) if !host.ends_with(']') => &host[..at],
        _ => host,
    }
}

/// Refuses requests that were meant for somebody else.
pub async fn names_only(State(app): State<App>, request: Request, next: Next) -> Result<Response, Problem> {
    match app.names.refuse(request.headers(), request.uri().authority().map(|name| name.as_str())) {
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
        Names::also(["hub.example".to_owned()]).refuse(&headers, None).is_some()
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
    }
}

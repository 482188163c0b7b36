//! The web app: the files of `web/dist`, which are part of the program, or those of a folder of the settings (`folder.rs`).
//! They hold nothing private, so they need no token.

mod folder;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub(crate) use folder::WebFolder;

use crate::problem::Problem;
use crate::router::App;

/// A file of the web app.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// The path, such as `assets/index-abc.js`.
    pub path: &'static str,
    /// A tag that changes with the content.
    pub tag: &'static str,
    /// The content.
    pub bytes: &'static [u8],
    /// The content compressed with gzip, if the build made that.
    pub zipped: Option<&'static [u8]>,
}

/// The files of `web/dist` when the program was built.
pub const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/web_files.rs"));

/// Only our own scripts run and only our own files load; nobody frames the page.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";

/// Cache for ever: a name with a hash changes with its content.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

const MISSING: &str = include_str!("missing.html");

/// Answers everything that is no call: a file, or the page, which reads the address itself.
pub(crate) async fn serve(State(app): State<App>, request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/');
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let mut parts = path.split('/');
    let is_call = parts.next().is_some_and(|top| ["api", "admin"].contains(&top));
    match &app.web_dir {
        // Codex Pocket has a page at `/admin`.
        Some(folder) if is_read && (!is_call || parts.next().is_none()) => folder.respond(path).await,
        None if is_read && !is_call => respond(app.web, path, request.headers()),
        Some(_) | None => Problem::no_route().into_response(),
    }
}

/// A page of another app that has the address of a call of ours. A browser that goes there wants to see it as a page.
const ALSO_A_PAGE: &str = "/metrics";

/// Lets a browser come to the pages of another app, whatever else has their address.
pub(crate) async fn pages_first(State(app): State<App>, request: Request, next: Next) -> Response {
    let accepted =
        request.headers().get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok()).unwrap_or_default();
    let is_page = request.uri().path() == ALSO_A_PAGE && accepted.contains("text/html");
    match is_page && app.web_dir.is_some() {
        true => serve(State(app), request).await,
        false => next.run(request).await,
    }
}

fn respond(files: &[File], path: &str, headers: &HeaderMap) -> Response {
    let find = |path: &str| files.iter().find(|file| file.path == path);
    let is_file = path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    match find(path) {
        Some(file) => send(file, headers),
        // A missing script must not be answered with a page.
        None if is_file => Problem::no_route().into_response(),
        None => match find("index.html") {
            Some(page) => send(page, headers),
            None => answer("text/html; charset=utf-8", Body::from(MISSING)),
        },
    }
}

fn send(file: &File, headers: &HeaderMap) -> Response {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let known =
        text(header::IF_NONE_MATCH).split(',').any(|tag| tag.trim().trim_start_matches("W/") == file.tag);
    let zipped = file.zipped.filter(|_| text(header::ACCEPT_ENCODING).contains("gzip"));
    let body = if known { Body::empty() } else { Body::from(zipped.unwrap_or(file.bytes)) };
    let mut response = answer(kind_of(file.path), body);
    let headers = response.headers_mut();
    headers.insert(header::ETAG, HeaderValue::from_static(file.tag));
    let keep = if file.path.starts_with("assets/") { FOR_EVER } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    if file.zipped.is_some() {
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    if zipped.is_some() && !known {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    response
}

fn answer(kind: &'static str, body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, body).into_response()
}

fn kind_of(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "avif" => "image/avif",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "woff" => "font/woff",
        "ttf" => "font/ttf",
        "wasm" => "application/wasm",
        "mp3" => "audio/mpeg",
        "mp4" => "video/mp4",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT: &[File] = &[
        File { path: "index.html", tag: "\"1\"", bytes: b"<p>", zipped: None },
        File { path: "assets/a-1.js", tag: "\"2\"", bytes: b"let a", zipped: Some(b"zip") },
        File { path: "manifest.webmanifest", tag: "\"3\"", bytes: b"{}", zipped: None },
    ];

    fn get(files: &[File], path: &str, sent: &[(header::HeaderName, &'static str)]) -> Response {
        let headers =
            sent.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        respond(files, path, &headers)
    }

    fn header_of(response: &Response, name: header::HeaderName) -> &str {
        response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    #[tokio::test]
    async fn every_address_of_the_app_is_its_page_and_a_missing_file_is_missing() {
        for path in ["", "sessions/0190", "pair"] {
            let page = get(BUILT, path, &[]);
            assert_eq!(page.status(), 200, "{path}");
            assert_eq!(header_of(&page, header::CACHE_CONTROL), "no-cache");
            assert!(header_of(&page, header::CONTENT_SECURITY_POLICY).starts_with("default-src 'self'; "));
        }
        assert_eq!(get(BUILT, "assets/b-2.js", &[]).status(), 404);
        let manifest = get(BUILT, "manifest.webmanifest", &[]);
        assert_eq!(header_of(&manifest, header::CONTENT_TYPE), "application/manifest+json");
    }

    #[tokio::test]
    async fn what_a_browser_has_is_not_sent_again() {
        let script = get(BUILT, "assets/a-1.js", &[(header::ACCEPT_ENCODING, "br, gzip")]);
        assert_eq!(header_of(&script, header::CONTENT_ENCODING), "gzip");
        assert_eq!(header_of(&script, header::CACHE_CONTROL), FOR_EVER);
        let plain = get(BUILT, "assets/a-1.js", &[]);
        assert_eq!(header_of(&plain, header::CONTENT_ENCODING), "");
        assert_eq!(header_of(&plain, header::VARY), "accept-encoding");
        let known = get(BUILT, "", &[(header::IF_NONE_MATCH, "W/\"0\", \"1\"")]);
        assert_eq!((known.status().as_u16(), header_of(&known, header::ETAG)), (304, "\"1\""));
    }

    #[tokio::test]
    async fn a_program_without_the_app_says_so() {
        let page = get(&[], "", &[]);
        assert_eq!(header_of(&page, header::CONTENT_TYPE), "text/html; charset=utf-8");
        let body = axum::body::to_bytes(page.into_body(), 1 << 16).await.unwrap();
        assert!(String::from_utf8(body.to_vec()).unwrap().contains("make web"));
    }
}

//! A folder with somebody else's web app, served instead of ours.
//!
//! | path | is | cached |
//! |---|---|---|
//! | `/assets/...` | the file; 404 if it is missing | for ever: its name changes with its content |
//! | another file of the folder, such as `/sw.js` | the file | the browser asks each time |
//! | everything else | `index.html`, which reads the address itself | never |
//!
//! Nothing outside of the folder is served, whatever a path or a link in the folder says. The policy of our own app would
//! break an app that we do not know. So this one may load and run what it likes, but nobody may put it into a frame, and no
//! plugin runs.

use std::io;
use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{FOR_EVER, kind_of};
use crate::file_body;
use crate::problem::Problem;

/// What an app that we do not know may not do.
const POLICY: &str = "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'";
const PAGE: &str = "index.html";

/// A folder with a web app.
#[derive(Debug)]
pub(crate) struct WebFolder {
    path: PathBuf,
}

impl WebFolder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path: std::path::absolute(&path).unwrap_or(path) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the page of the app is there.
    pub(crate) async fn has_page(&self) -> bool {
        self.find(PAGE).await.is_some()
    }

    /// Answers with what is at a path, as it stands in the address.
    pub(super) async fn respond(&self, path: &str) -> Response {
        let named = match path {
            "" => None,
            path => self.find(path).await,
        };
        let (file, keep) = match named {
            Some(file) if file.ends_with(PAGE) => (file, "no-store"),
            Some(file) if path.starts_with("assets/") => (file, FOR_EVER),
            Some(file) => (file, "no-cache"),
            None if path.starts_with("assets/") => return Problem::no_route().into_response(),
            None => match self.find(PAGE).await {
                Some(page) => (page, "no-store"),
                None => return self.empty(),
            },
        };
        match file_body::open(&file).await {
            Ok((body, length)) => answer(&file, keep, body, length),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Problem::no_route().into_response(),
            Err(_) => Problem::our_fault().into_response(),
        }
    }

    /// The file at a path of an address, if it is in the folder. A link in the folder must lead into it too.
    async fn find(&self, path: &str) -> Option<PathBuf> {
        let inside = decoded(path)?;
        let root = tokio::fs::canonicalize(&self.path).await.ok()?;
        let file = tokio::fs::canonicalize(root.join(inside)).await.ok()?;
        let is_file = tokio::fs::metadata(&file).await.is_ok_and(|found| found.is_file());
        // A link may lead to what a path cannot name.
        let is_hidden =
            |part: std::path::Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        let shown = file.strip_prefix(&root).is_ok_and(|inside| !inside.components().any(is_hidden));
        (is_file && shown).then_some(file)
    }

    fn empty(&self) -> Response {
        let what =
            format!("{} has no {PAGE}. Build the web app, then load this page again.", self.path.display());
        (StatusCode::NOT_FOUND, what).into_response()
    }
}

fn answer(file: &Path, keep: &'static str, body: Body, length: u64) -> Response {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::CONTENT_TYPE, kind_of(name)),
        (header::CACHE_CONTROL, keep),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "same-origin"),
    ];
    let mut response = (fixed, body).into_response();
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    response
}

/// The path of a file; none for a path that leads out, names a hidden file, or is no text.
fn decoded(path: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let figures = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(figures, 16).ok()?);
        rest = &rest[2..];
    }
    let path = String::from_utf8(bytes).ok()?;
    let is_plain =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '\0', ':']);
    path.split('/').all(is_plain).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_into_the_folder_or_nowhere() {
        assert_eq!(decoded("assets/a%20b.js"), Some(PathBuf::from("assets/a b.js")));
        for out in [
            "..",
            "../x",
            "a/../../x",
            "%2e%2e/x",
            "a/%2E%2E/%2e./x",
            "a//x",
            "/etc/passwd",
            "a%2f..%2fx",
            "..%5cx",
            "a\\x",
            ".env",
            "a/.git/config",
            "a%00b",
            "%",
            "%f",
            "%zz",
            "%ff",
            "",
            "C:/x",
        ] {
            assert_eq!(decoded(out), None, "{out}");
        }
    }
}

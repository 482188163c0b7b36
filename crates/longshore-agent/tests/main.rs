//! The tests of the built-in agent, in one program.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod machine;
mod tools;

#[allow(dead_code, reason = "the tests of the wire use the rest of it")]
#[path = "../../longshore-models/tests/stream_text.rs"]
mod stream_text;

use std::time::Duration;

/// How long a test waits for anything before it fails. Nothing takes this long when all is well.
const PATIENCE: Duration = Duration::from_secs(120);

/// The future, or a failed test.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

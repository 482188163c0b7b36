//! Who reads the git state of a work tree.
//!
//! Git must run no program of the repository, which needs a sandbox. Drivers have no sandbox, so the program
//! passes a reader in.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use longshore_model::lifecycle::GitState;

type GitLookup = dyn Fn(String) -> Pin<Box<dyn Future<Output = Option<GitState>> + Send>> + Send + Sync;

/// Reads the state of a work tree. The default reads nothing, so no folder seems to have a repository.
#[derive(Clone, Default)]
pub struct GitReader(Option<Arc<GitLookup>>);

impl GitReader {
    /// A reader that calls this function.
    pub fn by<F>(look: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<GitState>> + Send + 'static,
    {
        Self(Some(Arc::new(move |cwd| Box::pin(look(cwd)))))
    }

    pub(super) async fn look_at(&self, cwd: &str) -> Option<GitState> {
        match &self.0 {
            Some(look) => look(cwd.to_owned()).await,
            None => None,
        }
    }
}

impl fmt::Debug for GitReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GitReader").field(&self.0.is_some()).finish()
    }
}

//! Who reads the git state of a work tree, and what else people ask of its repository.
//!
//! Git must run no program of the repository, which needs a sandbox. Drivers have no sandbox, so the program
//! passes a reader in.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use longshore_model::anchor::{RepositoryAsk, RepositoryView};
use longshore_model::lifecycle::GitState;

type Soon<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type GitLookup = dyn Fn(String) -> Soon<Option<GitState>> + Send + Sync;
type RepositoryLookup = dyn Fn(String, RepositoryAsk) -> Soon<Result<RepositoryView, String>> + Send + Sync;

/// Reads the state of a work tree. The default reads nothing, so no folder seems to have a repository.
#[derive(Clone, Default)]
pub struct GitReader {
    look: Option<Arc<GitLookup>>,
    ask: Option<Arc<RepositoryLookup>>,
}

impl GitReader {
    /// A reader that calls this function.
    pub fn by<F>(look: impl Fn(String) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<GitState>> + Send + 'static,
    {
        Self { look: Some(Arc::new(move |cwd| Box::pin(look(cwd)))), ask: None }
    }

    /// Also answers what people ask of a repository, with this function.
    #[must_use]
    pub fn and_answers<F>(self, ask: impl Fn(String, RepositoryAsk) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<RepositoryView, String>> + Send + 'static,
    {
        Self { ask: Some(Arc::new(move |cwd, asked| Box::pin(ask(cwd, asked)))), ..self }
    }

    pub(super) async fn look_at(&self, cwd: &str) -> Option<GitState> {
        match &self.look {
            Some(look) => look(cwd.to_owned()).await,
            None => None,
        }
    }

    pub(super) async fn answer(&self, cwd: String, asked: RepositoryAsk) -> Result<RepositoryView, String> {
        match &self.ask {
            Some(ask) => ask(cwd, asked).await,
            None => Err("this anchor does not read repositories".to_owned()),
        }
    }
}

impl fmt::Debug for GitReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitReader")
            .field("looks", &self.look.is_some())
            .field("answers", &self.ask.is_some())
            .finish()
    }
}

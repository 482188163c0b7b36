//! Requests of an MCP server to the agent: questions for people, the work tree; and the server's
//! notifications.
#![allow(deprecated, reason = "servers that limit themselves to the roots of their client are in wide use")]

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use longshore_model::approval::{AnswerAction, QuestionAnswer};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData,
    Implementation, ListRootsResult, ProgressNotificationParam, Root, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::connect;
use crate::tools::{Elicitation, Progress};
use longshore_drivers::kit::schema_form::fields_of;

/// The client side of a connection to one server.
#[derive(Debug)]
pub(super) struct Handler {
    server: String,
    root: String,
    tools: Arc<RwLock<Vec<Tool>>>,
    hearing: Arc<Mutex<Hearing>>,
}

/// The running calls, the newest at the end.
#[derive(Debug)]
struct Hearing {
    calls: Vec<(u64, mpsc::Sender<Progress>)>,
    begun: u64,
    /// When the server or the agent last sent something.
    last: Instant,
    /// How many questions of the server wait for a person.
    questions: usize,
}

impl Default for Hearing {
    fn default() -> Self {
        Self { calls: Vec::new(), begun: 0, last: Instant::now(), questions: 0 }
    }
}

/// A question of the server that a person has not answered yet.
struct Question<'a>(&'a Mutex<Hearing>);

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let mut hearing = locked(self.0);
        hearing.questions -= 1;
        hearing.last = Instant::now();
    }
}

/// A call that gets messages of the server. Dropping it ends this.
#[derive(Debug)]
pub(super) struct CallListener {
    number: u64,
    hearing: Arc<Mutex<Hearing>>,
}

impl CallListener {
    /// Waits until the server has been silent for `limit`. Time in which a person must answer does not count.
    pub(super) async fn silence(&self, limit: Duration) {
        loop {
            let wait = {
                let hearing = locked(&self.hearing);
                match hearing.questions {
                    0 => limit.saturating_sub(hearing.last.elapsed()),
                    _ => limit,
                }
            };
            if wait.is_zero() {
                return;
            }
            tokio::time::sleep(wait).await;
        }
    }
}

impl Drop for CallListener {
    fn drop(&mut self) {
        locked(&self.hearing).calls.retain(|(number, _)| *number != self.number);
    }
}

fn locked(hearing: &Mutex<Hearing>) -> MutexGuard<'_, Hearing> {
    hearing.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handler {
    pub(super) fn new(server: String, root: &Path, tools: Arc<RwLock<Vec<Tool>>>) -> Self {
        let root = file_url(root);
        Self { server, root, tools, hearing: Arc::default() }
    }

    /// Gives a call the server's messages until the call ends.
    pub(super) fn hear(&self, progress: mpsc::Sender<Progress>) -> CallListener {
        let mut hearing = locked(&self.hearing);
        hearing.begun += 1;
        hearing.last = Instant::now();
        let number = hearing.begun;
        hearing.calls.push((number, progress));
        CallListener { number, hearing: Arc::clone(&self.hearing) }
    }

    /// The call to which a message of the server belongs. Servers do not name the call; the newest one is the most
    /// likely.
    fn last(&self) -> Option<mpsc::Sender<Progress>> {
        locked(&self.hearing).calls.last().map(|(_, progress)| progress.clone())
    }

    async fn ask(&self, message: String, schema: Value, url: Option<String>) -> ElicitResult {
        locked(&self.hearing).questions += 1;
        let _waits = Question(&self.hearing);
        let (answer, answered) = oneshot::channel();
        let server = self.server.clone();
        let question = Elicitation { server, message, fields: fields_of(&schema), url, answer };
        let asked = match self.last() {
            Some(progress) => progress.send(Progress::Ask(question)).await.is_ok(),
            None => false,
        };
        match (asked, answered.await) {
            (true, Ok(QuestionAnswer { action: AnswerAction::Accept, answers, .. })) => {
                let content = Value::Object(answers.into_iter().collect());
                ElicitResult::new(ElicitationAction::Accept).with_content(content)
            }
            (true, Ok(QuestionAnswer { action: AnswerAction::Decline, .. })) => {
                ElicitResult::new(ElicitationAction::Decline)
            }
            (_, Ok(QuestionAnswer { .. }) | Err(_)) => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(match request {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                self.ask(message, schema, None).await
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                self.ask(message, Value::Null, Some(url)).await
            }
            // The library may add other kinds of questions.
            _ => ElicitResult::new(ElicitationAction::Decline),
        })
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(self.root.clone())]))
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        locked(&self.hearing).last = Instant::now();
        let Some(progress) = self.last() else { return };
        let mut line = match told.total {
            Some(total) => format!("{}/{total}", told.progress),
            None => told.progress.to_string(),
        };
        if let Some(message) = told.message {
            line = format!("{line} {message}");
        }
        // This fails if the receiver is gone.
        let _ = progress.send(Progress::Output(format!("{line}\n"))).await;
    }

    async fn on_tool_list_changed(&self, context: NotificationContext<RoleClient>) {
        let (tools, server) = (Arc::clone(&self.tools), self.server.clone());
        // The answer arrives through the task that called this function, so this must not wait for it.
        tokio::spawn(async move {
            match connect::tools(&context.peer).await {
                Ok(listed) => *tools.write().unwrap_or_else(PoisonError::into_inner) = listed,
                Err(error) => tracing::warn!(server, %error, "an mcp server did not list its tools again"),
            }
        });
    }

    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(rmcp::model::RootsCapabilities::default());
        capabilities.elicitation = Some(
            rmcp::model::ElicitationCapability::new()
                .with_form(rmcp::model::FormElicitationCapability::new())
                .with_url(rmcp::model::UrlElicitationCapability::new()),
        );
        ClientConfig::new(capabilities, Implementation::new("longshore", env!("CARGO_PKG_VERSION")))
    }
}

/// The URL of a folder, as roots need it.
fn file_url(path: &Path) -> String {
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                url.push(char::from(*byte));
            }
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url
}

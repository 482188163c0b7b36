//! An agent that wants a login first: what can be done without a person is done, the rest is said.

use longshore_model::anchor::Launch;
use longshore_model::driver::Output;
use longshore_model::id::Context;
use longshore_model::lifecycle::FaultCode;
use serde_json::json;

use super::Acp;
use super::calls::AcpCall;
use crate::acp::wire::AuthMethod;

impl Acp {
    /// Tries the next login that needs no person; when there is none, says what a person must do.
    pub(super) fn log_in(
        &mut self,
        launch: Box<Launch>,
        logins: usize,
        cx: &mut Context<'_>,
        out: &mut Output,
    ) {
        let next = self.logins.iter().filter(|method| needs_nobody(method)).nth(logins);
        if let Some(method) = next {
            let params = json!({"methodId": method.id});
            let call = AcpCall::Login { launch, logins: logins + 1 };
            self.calls.send("authenticate", params, call, cx, out);
        } else {
            let text = self.what_to_do();
            self.not_opened(launch.session, FaultCode::StartFailed, text, out);
        }
    }

    /// What a person must do before the agent can be used.
    fn what_to_do(&self) -> String {
        let mut ways: Vec<String> = Vec::new();
        ways.extend(self.row.login.map(|login| format!("run `{login}`")));
        for method in &self.logins {
            let way = way_of(method);
            if !way.is_empty() && !ways.contains(&way) {
                ways.push(way);
            }
        }
        let title = self.title();
        if ways.is_empty() {
            return format!("{title} wants a login first, and does not say how.");
        }
        format!("{title} wants a login first: {}.", ways.join(", or "))
    }
}

/// Whether a login only looks at the environment.
fn needs_nobody(method: &AuthMethod) -> bool {
    method.kind == "env_var" || method.meta.get("api-key").is_some()
}

fn way_of(method: &AuthMethod) -> String {
    let terminal = &method.meta["terminal-auth"];
    if let Some(command) = terminal["command"].as_str() {
        let arguments = terminal["args"].as_array().into_iter().flatten().filter_map(|word| word.as_str());
        let line: Vec<&str> = std::iter::once(command).chain(arguments).collect();
        return format!("run `{}`", line.join(" "));
    }
    if let [first, ..] = method.vars.as_slice() {
        return format!("set {} in its environment", first.name);
    }
    let described = if method.description.is_empty() { &method.name } else { &method.description };
    described.trim_end_matches('.').to_owned()
}

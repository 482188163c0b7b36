//! The login of an agent. The driver does every login that needs no person, and reports the others
//! to a person.

use longshore_model::anchor::Launch;
use longshore_model::lifecycle::FaultCode;
use serde_json::json;

use super::Acp;
use super::calls::AcpCall;
use crate::acp::wire::AuthMethod;
use crate::kit::Scribe;

impl Acp {
    /// Tries the next login that needs no person. If there is none, reports what a person must do.
    pub(super) fn log_in(&mut self, launch: Box<Launch>, logins: usize, scribe: &mut Scribe<'_>) {
        let next = self.logins.iter().filter(|method| needs_nobody(method)).nth(logins);
        if let Some(method) = next {
            let params = json!({"methodId": method.id});
            let call = AcpCall::Login { launch, logins: logins + 1 };
            self.calls.send("authenticate", params, call, scribe);
        } else {
            let text = self.what_to_do();
            self.not_opened(launch.session, FaultCode::StartFailed, text, scribe);
        }
    }

    /// What a person must do before the agent can work.
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

/// Whether a login only reads the environment.
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

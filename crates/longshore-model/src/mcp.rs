//! Servers of tools (Model Context Protocol) that a session gives its agent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server of tools, by the name that its tools get: `files` in `files.read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// Its name: letters, digits, `-` and `_`.
    pub name: String,
    /// How it is reached.
    #[serde(flatten)]
    pub transport: McpTransport,
}

/// How a server of tools is reached. Its keys tell which: a `command`, or a `url`.
///
/// A value of `env` or `headers` that is `${NAME}` stands for a variable of the anchor's environment, so that a secret
/// need not be told to the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum McpTransport {
    /// A program that the agent starts, and that speaks over its pipes.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        /// What its environment has beyond the agent's.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
    },
    /// A server that the agent calls: streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// What every request has.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
}

/// How many servers a session may give its agent.
pub const MOST_SERVERS: usize = 64;

/// What is wrong with a list of servers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadServers {
    /// A name that cannot be part of a tool's.
    #[error("`{0}` cannot be the name of an MCP server: letters, digits, - and _ can be in one")]
    Name(String),
    /// Two of one name.
    #[error("there are two MCP servers called `{0}`")]
    Twice(String),
    /// More than a session may have.
    #[error("there are {0} MCP servers; a session may have {MOST_SERVERS}")]
    TooMany(usize),
    /// A variable that is not a session's to use.
    #[error(
        "`${{{0}}}` is none of the variables that sessions may give to MCP servers; the owner lists those in `mcp_env` \
         of config.toml"
    )]
    Variable(String),
}

/// Whether a variable may be told to any server at all. Our own hold tokens and settings.
pub fn may_be_told(variable: &str) -> bool {
    !variable.starts_with("LONGSHORE_")
}

/// Whether the variables that these servers want are among those that sessions may use.
pub fn check_variables(servers: &[McpServer], allowed: &[String]) -> Result<(), BadServers> {
    let mut wanted = servers.iter().flat_map(|server| server.transport.variables());
    let refused = wanted.find(|name| !may_be_told(name) || !allowed.iter().any(|known| known == name));
    refused.map_or(Ok(()), |name| Err(BadServers::Variable(name.to_owned())))
}

/// Whether these can be given to an agent.
pub fn check(servers: &[McpServer]) -> Result<(), BadServers> {
    if servers.len() > MOST_SERVERS {
        return Err(BadServers::TooMany(servers.len()));
    }
    for (place, McpServer { name, .. }) in servers.iter().enumerate() {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(fits) {
            return Err(BadServers::Name(name.clone()));
        }
        if servers[..place].iter().any(|other| other.name == *name) {
            return Err(BadServers::Twice(name.clone()));
        }
    }
    Ok(())
}

impl McpTransport {
    /// The same, with what `${NAME}` stands for in place of it; a variable that is not set leaves an empty value.
    #[must_use]
    pub fn filled_in(&self, variable: impl Fn(&str) -> Option<String>) -> Self {
        let fill = |values: &BTreeMap<String, String>| {
            let fill = |value: &String| match variable_of(value) {
                Some(name) => variable(name).unwrap_or_default(),
                None => value.clone(),
            };
            values.iter().map(|(name, value)| (name.clone(), fill(value))).collect()
        };
        match self {
            Self::Stdio { command, args, env } => {
                Self::Stdio { command: command.clone(), args: args.clone(), env: fill(env) }
            }
            Self::Http { url, headers } => Self::Http { url: url.clone(), headers: fill(headers) },
        }
    }

    /// The variables that stand in it.
    fn variables(&self) -> impl Iterator<Item = &str> {
        let values = match self {
            Self::Stdio { env, .. } => env.values(),
            Self::Http { headers, .. } => headers.values(),
        };
        values.filter_map(|value| variable_of(value))
    }
}

/// The name in `${NAME}`.
fn variable_of(value: &str) -> Option<&str> {
    value.strip_prefix("${")?.strip_suffix('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> McpServer {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn its_keys_tell_how_it_is_reached() {
        let program =
            read(r#"{"name":"files","command":"npx","args":["-y","files"],"env":{"KEY":"${FILES_KEY}"}}"#);
        assert!(matches!(program.transport, McpTransport::Stdio { .. }));
        let called =
            read(r#"{"name":"docs","url":"https://docs.test/mcp","headers":{"authorization":"Bearer x"}}"#);
        assert!(matches!(called.transport, McpTransport::Http { .. }));
        let filled = program.transport.filled_in(|name| (name == "FILES_KEY").then(|| "s3cret".to_owned()));
        assert!(matches!(filled, McpTransport::Stdio { env, .. } if env["KEY"] == "s3cret"));
        assert!(serde_json::from_str::<McpServer>(r#"{"name":"neither"}"#).is_err());
    }

    #[test]
    fn a_session_uses_the_variables_that_are_listed_and_never_ours() {
        let server =
            read(r#"{"name":"docs","url":"https://docs.test","headers":{"x":"${DOCS_KEY}","y":"$z"}}"#);
        let allowed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(check_variables(std::slice::from_ref(&server), &allowed(&["DOCS_KEY"])), Ok(()));
        let refused = check_variables(&[server], &allowed(&["OTHER"]));
        assert_eq!(refused, Err(BadServers::Variable("DOCS_KEY".to_owned())));
        assert!(refused.unwrap_err().to_string().contains("`${DOCS_KEY}`"));
        let thief = read(r#"{"name":"t","command":"x","env":{"A":"${LONGSHORE_TOKEN}"}}"#);
        assert!(check_variables(&[thief], &allowed(&["LONGSHORE_TOKEN"])).is_err());
    }

    #[test]
    fn names_must_fit_into_names_of_tools_and_be_told_apart() {
        let named = |name: &str| read(&format!(r#"{{"name":"{name}","command":"x"}}"#));
        assert_eq!(check(&[named("a"), named("b-2_c")]), Ok(()));
        assert_eq!(check(&[named("a.b")]), Err(BadServers::Name("a.b".to_owned())));
        assert_eq!(check(&[named("a"), named("a")]), Err(BadServers::Twice("a".to_owned())));
        assert_eq!(check(&vec![named("a"); 65]), Err(BadServers::TooMany(65)));
    }
}

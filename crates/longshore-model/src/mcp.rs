//! MCP servers (Model Context Protocol): servers of tools that a session gives its agent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An MCP server. Its name begins the names of its tools: `files` in `files.read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    /// The name: letters, digits, `-` and `_`.
    pub name: String,
    /// How the agent reaches the server.
    #[serde(flatten)]
    pub transport: McpTransport,
}

/// How an agent reaches an MCP server. The keys tell the kind: a `command`, or a `url`.
///
/// The value `${NAME}` in `env` or `headers` stands for a variable of the anchor's environment. So the log
/// holds the name, not the secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "an MCP server needs a `command` or a `url`")]
pub enum McpTransport {
    /// A program that the agent starts, and that talks over its pipes.
    Stdio {
        /// The program.
        command: String,
        /// The arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        args: Vec<String>,
        /// Additional environment variables of the program.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        env: BTreeMap<String, String>,
    },
    /// A server that the agent calls over streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// The headers of every request.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
    },
}

/// The most servers that a session may give its agent.
pub const MOST_SERVERS: usize = 64;

/// The most bytes that all descriptions of servers may have together: every row of the session contains them.
pub const MOST_BYTES: usize = 64 << 10;

/// Why a list of servers is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadServers {
    /// The name contains other characters than a tool's name may have.
    #[error("`{0}` is not a valid name for an MCP server; use letters, digits, - and _")]
    Name(String),
    /// Two servers have the same name.
    #[error("two MCP servers are called `{0}`; rename one")]
    Twice(String),
    /// There are more servers than a session may have.
    #[error("the list has {0} MCP servers; a session may have at most {MOST_SERVERS}")]
    TooMany(usize),
    /// The descriptions are larger than a session may have.
    #[error("the descriptions of the MCP servers have {0} bytes; a session may have at most {MOST_BYTES}")]
    TooLarge(usize),
    /// The session may not use this variable.
    #[error(
        "sessions may not give the variable `${{{0}}}` to MCP servers; the owner can allow it in `mcp_env` of \
         config.toml"
    )]
    Variable(String),
    /// In this text, some agents would insert variables of their environment themselves.
    #[error(
        "the MCP server `{0}` has a `$` before a name, and some agents would replace it with a variable of the hub; \
         write a variable only as the whole value of an entry in `env` or `headers`, as `${{NAME}}`"
    )]
    Expands(String),
}

/// Whether a variable may go to an MCP server at all. The hub's own variables hold tokens and settings, so
/// they may not.
pub fn may_be_told(variable: &str) -> bool {
    !variable.starts_with("LONGSHORE_")
}

/// Checks that sessions may use the variables of these servers, and that each variable is a whole value.
///
/// Claude Code replaces `${NAME}` anywhere, Gemini also replaces `$NAME` in values. Both ignore the list of
/// allowed variables.
pub fn check_variables(servers: &[McpServer], allowed: &[String]) -> Result<(), BadServers> {
    for McpServer { name, transport } in servers {
        let expands = || Err(BadServers::Expands(name.clone()));
        for value in transport.values() {
            match variable_of(value) {
                Some(wanted) if may_be_told(wanted) && allowed.iter().any(|known| known == wanted) => {}
                Some(wanted) => return Err(BadServers::Variable(wanted.to_owned())),
                None if names_a_variable(value) => return expands(),
                None => {}
            }
        }
        if transport.other_texts().any(|text| text.contains("${")) {
            return expands();
        }
    }
    Ok(())
}

/// Checks whether an agent can get these servers.
pub fn check(servers: &[McpServer]) -> Result<(), BadServers> {
    if servers.len() > MOST_SERVERS {
        return Err(BadServers::TooMany(servers.len()));
    }
    let texts = servers.iter().flat_map(|server| {
        let transport = &server.transport;
        transport.values().chain(transport.other_texts()).chain([server.name.as_str()])
    });
    let bytes: usize = texts.map(|text| text.len() + 8).sum();
    if bytes > MOST_BYTES {
        return Err(BadServers::TooLarge(bytes));
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
    /// The same server with the values of its variables in place of `${NAME}`; a variable that is not set
    /// becomes empty.
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

    fn pairs(&self) -> &BTreeMap<String, String> {
        match self {
            Self::Stdio { env, .. } => env,
            Self::Http { headers, .. } => headers,
        }
    }

    /// The texts that may be a variable.
    fn values(&self) -> impl Iterator<Item = &str> {
        self.pairs().values().map(String::as_str)
    }

    /// The texts that may not contain a variable.
    fn other_texts(&self) -> impl Iterator<Item = &str> {
        let (first, args) = match self {
            Self::Stdio { command, args, .. } => (command, args.as_slice()),
            Self::Http { url, .. } => (url, [].as_slice()),
        };
        std::iter::once(first).chain(args).chain(self.pairs().keys()).map(String::as_str)
    }
}

/// The name in `${NAME}`.
fn variable_of(value: &str) -> Option<&str> {
    let name = value.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains(['$', '{', '}'])).then_some(name)
}

/// Whether a text contains a `$` with a name after it, with or without braces.
fn names_a_variable(text: &str) -> bool {
    let begins = |c: char| c == '{' || c == '_' || c.is_ascii_alphabetic();
    text.split('$').skip(1).any(|rest| rest.starts_with(begins))
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
        let server = read(
            r#"{"name":"docs","url":"https://docs.test/?$top=1","headers":{"x":"${DOCS_KEY}","y":"$5"}}"#,
        );
        let allowed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(check_variables(std::slice::from_ref(&server), &allowed(&["DOCS_KEY"])), Ok(()));
        let refused = check_variables(&[server], &allowed(&["OTHER"]));
        assert_eq!(refused, Err(BadServers::Variable("DOCS_KEY".to_owned())));
        assert!(refused.unwrap_err().to_string().contains("`${DOCS_KEY}`"));
        let thief = read(r#"{"name":"t","command":"x","env":{"A":"${LONGSHORE_TOKEN}"}}"#);
        assert!(check_variables(&[thief], &allowed(&["LONGSHORE_TOKEN"])).is_err());
    }

    #[test]
    fn no_agent_is_given_a_text_in_which_it_would_put_variables_by_itself() {
        for text in [
            r#"{"name":"t","url":"https://thief.test/${KEY}"}"#,
            r#"{"name":"t","url":"https://thief.test","headers":{"x":"Bearer ${KEY}"}}"#,
            r#"{"name":"t","url":"https://thief.test","headers":{"x":"Bearer $KEY"}}"#,
            r#"{"name":"t","url":"https://thief.test","headers":{"x":"${KEY}${OTHER}"}}"#,
            r#"{"name":"t","url":"https://thief.test","headers":{"${KEY}":"x"}}"#,
            r#"{"name":"t","command":"x","args":["--key","${KEY:-none}"]}"#,
            r#"{"name":"t","command":"${KEY}"}"#,
            r#"{"name":"t","command":"x","env":{"A":"a$KEY"}}"#,
        ] {
            let refused = check_variables(&[read(text)], &["KEY".to_owned(), "OTHER".to_owned()]);
            assert_eq!(refused, Err(BadServers::Expands("t".to_owned())), "{text}");
        }
    }

    #[test]
    fn names_must_fit_into_names_of_tools_and_be_told_apart() {
        let named = |name: &str| read(&format!(r#"{{"name":"{name}","command":"x"}}"#));
        assert_eq!(check(&[named("a"), named("b-2_c")]), Ok(()));
        assert_eq!(check(&[named("a.b")]), Err(BadServers::Name("a.b".to_owned())));
        assert_eq!(check(&[named("a"), named("a")]), Err(BadServers::Twice("a".to_owned())));
        assert_eq!(check(&vec![named("a"); 65]), Err(BadServers::TooMany(65)));
        let long = McpTransport::Stdio {
            command: "x".to_owned(),
            args: vec!["y".repeat(MOST_BYTES)],
            env: BTreeMap::new(),
        };
        let long = McpServer { name: "a".to_owned(), transport: long };
        assert!(matches!(check(&[long]), Err(BadServers::TooLarge(bytes)) if bytes > MOST_BYTES));
    }
}

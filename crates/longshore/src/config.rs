//! Paths and settings: defaults, then the file, then the environment, then flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use longshore_drivers::discover::AgentSettings;
use longshore_facades::guard;
use longshore_model::device::DeviceMode;
use longshore_model::mcp::{self, McpTransport};
use serde::Deserialize;

use crate::small_file;

/// Where Longshore keeps what.
#[derive(Clone, Debug)]
pub struct Places {
    /// The configuration file; it need not be there.
    pub config: PathBuf,
    /// The log, the token, the note of the running hub.
    pub data: PathBuf,
}

impl Places {
    /// `LONGSHORE_HOME` holds both when set; otherwise the XDG folders do.
    pub fn find() -> Result<Self> {
        use etcetera::BaseStrategy;
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (config, data) = match set("LONGSHORE_HOME") {
            Some(home) => (home.join("config.toml"), home.join("data")),
            None => {
                let base =
                    etcetera::choose_base_strategy().context("the home folder is unknown; set HOME")?;
                (base.config_dir().join("longshore/config.toml"), base.data_dir().join("longshore"))
            }
        };
        Ok(Self {
            config: set("LONGSHORE_CONFIG").unwrap_or(config),
            data: set("LONGSHORE_DATA_DIR").unwrap_or(data),
        })
    }

    /// Makes the data folder, for its owner alone.
    pub fn make_data(&self) -> Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.data)
            .with_context(|| format!("cannot make the data folder {}", self.data.display()))
    }

    /// The owner's token.
    pub fn token(&self) -> PathBuf {
        self.data.join("token")
    }

    /// The keys that push services know the hub by.
    pub fn push_keys(&self) -> PathBuf {
        self.data.join("push.key")
    }

    /// The key by which phones with mobile-agent know the hub.
    pub fn mobile_key(&self) -> PathBuf {
        self.data.join("mobile.key")
    }

    /// What the running hub has on its leash.
    pub fn leashes(&self) -> PathBuf {
        self.data.join("leashes")
    }

    /// Where `up` was last told to listen.
    pub fn listened(&self) -> PathBuf {
        self.data.join("listen.json")
    }

    /// The note of the running hub.
    pub fn running(&self) -> PathBuf {
        self.data.join("hub.json")
    }

    /// What `verify` found, agent by agent.
    pub fn verified(&self) -> PathBuf {
        self.data.join("verified.json")
    }

    /// The input history of `attach`.
    pub fn history(&self) -> PathBuf {
        self.data.join("history")
    }

    /// What a hub that runs in the background prints.
    pub fn hub_log(&self) -> PathBuf {
        self.data.join("hub.log")
    }
}

/// The settings. Every key is also an environment variable, `LONGSHORE_` and the key in capitals.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the hub listens.
    pub bind: String,
    /// Names besides loopback under which it may be reached.
    pub allow_hosts: Vec<String>,
    /// The origins of pages of others that may use the protocols of foreign clients.
    pub allow_origins: Vec<String>,
    /// Whether it speaks TLS, with a certificate of an authority of this machine's own.
    pub tls: bool,
    /// The certificate that it speaks TLS with instead, in PEM.
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key.
    pub tls_key: Option<PathBuf>,
    /// The address under which other machines reach the hub, if it differs from the listening address.
    pub public_url: Option<String>,
    /// Whether it may listen beyond this machine without TLS.
    pub insecure_http: bool,
    /// A folder with another web app, which is served instead of the built-in one.
    pub web_dir: Option<PathBuf>,
    /// What the OpenAgents app may do on a port of its own, without a token; none: there is no such port.
    pub openagents: Option<DeviceMode>,
    /// That port; 0 takes a free one.
    pub openagents_port: u16,
    /// The contact for push services: `mailto:` or `https:`.
    pub push_contact: String,
    /// Whether a commit waits for the disk: `full`, or `normal`, which a power cut may take back.
    pub durability: Durability,
    /// Hours after which the deltas of a finished turn are dropped.
    pub compact_after_hours: u32,
    /// Days after which a session in which nothing happens is forgotten; 0 is never.
    pub retention_days: u32,
    /// Minutes without anything to do after which an agent's process is given back; 0 is never.
    pub idle_minutes: u32,
    /// Whether conversations that were held elsewhere are looked for in the agents' own records.
    pub watch_past: bool,
    /// Servers of tools (MCP) that every session's agent is given, by name.
    pub mcp: BTreeMap<String, McpTransport>,
    /// The variables of the hub's environment that sessions may give to servers of tools which they bring themselves.
    pub mcp_env: Vec<String>,
    /// How agents are run, by name, and agents that are added.
    pub agents: BTreeMap<String, AgentSettings>,
}

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Durability {
    #[default]
    Full,
    Normal,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bind: "127.0.0.1:8790".to_owned(),
            allow_hosts: Vec::new(),
            allow_origins: Vec::new(),
            tls: false,
            tls_cert: None,
            tls_key: None,
            public_url: None,
            insecure_http: false,
            web_dir: None,
            openagents: None,
            openagents_port: longshore_facades::facade::OPENAGENTS.port,
            push_contact: "mailto:owner@example.com".to_owned(),
            durability: Durability::Full,
            compact_after_hours: 24,
            retention_days: 0,
            idle_minutes: 60,
            watch_past: true,
            mcp: BTreeMap::new(),
            mcp_env: Vec::new(),
            agents: BTreeMap::new(),
        }
    }
}

impl Config {
    /// The file, if there is one, with the environment over it.
    pub fn load(places: &Places) -> Result<Self> {
        let mut config = match small_file::read_text(&places.config) {
            Ok(text) => Self::parse(&text, &places.config)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::default(),
            Err(error) => {
                let path = places.config.display();
                return Err(error)
                    .with_context(|| format!("cannot read {path}; correct it, or move it away"));
            }
        };
        config.apply(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))?;
        Ok(config)
    }

    fn parse(text: &str, path: &Path) -> Result<Self> {
        toml::from_str(text).with_context(|| format!("cannot understand {}", path.display()))
    }

    fn apply(&mut self, env: impl Fn(&str) -> Option<String>) -> Result<()> {
        if let Some(bind) = env("LONGSHORE_BIND") {
            self.bind = bind;
        }
        if let Some(hosts) = env("LONGSHORE_ALLOW_HOSTS") {
            self.allow_hosts = hosts.split(',').map(|host| host.trim().to_owned()).collect();
        }
        if let Some(origins) = env("LONGSHORE_ALLOW_ORIGINS") {
            self.allow_origins = origins.split(',').map(|origin| origin.trim().to_owned()).collect();
        }
        if let Some(odd) = self.allow_origins.iter().find(|origin| !guard::is_origin(origin)) {
            bail!(
                "`allow_origins` lists `{odd}`, but an origin is like https://app.example or http://localhost:3000: \
                 a scheme, a host, and a port unless it is the usual one"
            );
        }
        match env("LONGSHORE_OPENAGENTS").as_deref() {
            None => {}
            Some("off") => self.openagents = None,
            Some(mode) => {
                let fault = |fault| anyhow!("LONGSHORE_OPENAGENTS: {fault}; `off` turns it off");
                self.openagents = Some(mode.parse().map_err(fault)?);
            }
        }
        if let Some(port) = env("LONGSHORE_OPENAGENTS_PORT") {
            let fault = || format!("LONGSHORE_OPENAGENTS_PORT is `{port}`; set it to a port");
            self.openagents_port = port.parse().with_context(fault)?;
        }
        if let Some(names) = env("LONGSHORE_MCP_ENV") {
            self.mcp_env = names.split(',').map(|name| name.trim().to_owned()).collect();
        }
        if let Some(ours) = self.mcp_env.iter().find(|name| !mcp::may_be_told(name)) {
            bail!(
                "`mcp_env` lists `{ours}`, but no MCP server may get a variable of Longshore; remove it from the list"
            );
        }
        if let Some(durability) = env("LONGSHORE_DURABILITY") {
            self.durability = match durability.as_str() {
                "full" => Durability::Full,
                "normal" => Durability::Normal,
                other => bail!("LONGSHORE_DURABILITY is `{other}`; set it to full or normal"),
            };
        }
        for (name, value) in [
            ("LONGSHORE_WATCH_PAST", &mut self.watch_past),
            ("LONGSHORE_TLS", &mut self.tls),
            ("LONGSHORE_INSECURE_HTTP", &mut self.insecure_http),
        ] {
            match env(name).as_deref() {
                None => {}
                Some("true" | "1") => *value = true,
                Some("false" | "0") => *value = false,
                Some(other) => bail!("{name} is `{other}`; set it to true or false"),
            }
        }
        self.tls_cert = env("LONGSHORE_TLS_CERT").map(PathBuf::from).or(self.tls_cert.take());
        self.tls_key = env("LONGSHORE_TLS_KEY").map(PathBuf::from).or(self.tls_key.take());
        self.public_url = env("LONGSHORE_PUBLIC_URL").or(self.public_url.take());
        self.web_dir = env("LONGSHORE_WEB_DIR").map(PathBuf::from).or(self.web_dir.take());
        if let Some(contact) = env("LONGSHORE_PUSH_CONTACT") {
            self.push_contact = contact;
        }
        for (name, value) in [
            ("LONGSHORE_COMPACT_AFTER_HOURS", &mut self.compact_after_hours),
            ("LONGSHORE_RETENTION_DAYS", &mut self.retention_days),
            ("LONGSHORE_IDLE_MINUTES", &mut self.idle_minutes),
        ] {
            if let Some(text) = env(name) {
                *value = text.parse().with_context(|| format!("{name} is `{text}`; set it to a number"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_goes_over_the_file() {
        let text = "bind = \"127.0.0.1:1\"\nretention_days = 3\n[agents.codex]\npath = \"/opt/codex\"\n";
        let mut config = Config::parse(text, Path::new("config.toml")).unwrap();
        config.apply(|name| (name == "LONGSHORE_BIND").then(|| "127.0.0.1:2".to_owned())).unwrap();
        assert_eq!((config.bind.as_str(), config.retention_days), ("127.0.0.1:2", 3));
        config.apply(|name| (name == "LONGSHORE_WEB_DIR").then(|| "/srv/app".to_owned())).unwrap();
        assert_eq!(config.web_dir.as_deref(), Some(Path::new("/srv/app")));
        assert_eq!(config.agents["codex"].path.as_deref(), Some(Path::new("/opt/codex")));
    }

    #[test]
    fn the_past_is_watched_unless_somebody_says_no() {
        let mut config = Config::default();
        assert!(config.watch_past);
        assert!(!Config::parse("watch_past = false", Path::new("config.toml")).unwrap().watch_past);
        let env = |value: &'static str| {
            move |name: &str| (name == "LONGSHORE_WATCH_PAST").then(|| value.to_owned())
        };
        config.apply(env("false")).unwrap();
        assert!(!config.watch_past);
        assert!(config.apply(env("perhaps")).unwrap_err().to_string().contains("LONGSHORE_WATCH_PAST"));
    }

    #[test]
    fn our_own_variables_are_listed_for_nobody() {
        let mut config = Config::parse("mcp_env = [\"DOCS_KEY\"]", Path::new("config.toml")).unwrap();
        config.apply(|_| None).unwrap();
        assert_eq!(config.mcp_env, ["DOCS_KEY"]);
        let env = |name: &str| (name == "LONGSHORE_MCP_ENV").then(|| "DOCS_KEY, LONGSHORE_TOKEN".to_owned());
        assert!(config.apply(env).unwrap_err().to_string().contains("LONGSHORE_TOKEN"));
    }

    #[test]
    fn only_origins_are_allowed_as_such() {
        assert!(Config::default().allow_origins.is_empty());
        let env = |value: &'static str| {
            move |name: &str| (name == "LONGSHORE_ALLOW_ORIGINS").then(|| value.to_owned())
        };
        let mut config = Config::default();
        config.apply(env("https://app.example, http://localhost:3000")).unwrap();
        assert_eq!(config.allow_origins, ["https://app.example", "http://localhost:3000"]);
        for odd in ["*", "https://app.example/", "app.example"] {
            assert!(config.apply(env(odd)).unwrap_err().to_string().contains(odd), "{odd}");
        }
    }

    #[test]
    fn the_app_has_a_port_only_if_somebody_says_so() {
        let mut config = Config::default();
        assert_eq!((config.openagents, config.openagents_port), (None, 9099));
        let text = "openagents = \"read_only\"\nopenagents_port = 0";
        config = Config::parse(text, Path::new("config.toml")).unwrap();
        assert_eq!((config.openagents, config.openagents_port), (Some(DeviceMode::ReadOnly), 0));
        let env = |value: &'static str| {
            move |name: &str| (name == "LONGSHORE_OPENAGENTS").then(|| value.to_owned())
        };
        config.apply(env("full")).unwrap();
        assert_eq!(config.openagents, Some(DeviceMode::Full));
        config.apply(env("off")).unwrap();
        assert_eq!(config.openagents, None);
        let refused = config.apply(env("on")).unwrap_err().to_string();
        assert!(refused.contains("LONGSHORE_OPENAGENTS") && refused.contains("approve"), "{refused}");
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = Config::parse("bnid = \"x\"", Path::new("config.toml")).unwrap_err();
        assert!(format!("{error:#}").contains("unknown field `bnid`"), "{error:#}");
    }

    #[test]
    fn a_bad_number_is_named() {
        let env = |name: &str| (name == "LONGSHORE_RETENTION_DAYS").then(|| "soon".to_owned());
        let error = Config::default().apply(env).unwrap_err();
        assert!(error.to_string().contains("LONGSHORE_RETENTION_DAYS"), "{error}");
    }
}

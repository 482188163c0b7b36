//! `longshore model`: the model of a session, a scripted model on loopback, or a gateway to a real one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use longshore_model::service::ModelApi;
use tokio::net::TcpListener;

use super::exit::Fault;
use super::set;
use super::terminal::put_line;
use super::up::start_logging;
use longshore_models::gateway::Gateway;
use longshore_models::script::{self, Script};

/// Show or set the model of a session; or serve a scripted model or a gateway on loopback.
#[derive(Debug, Args)]
#[command(override_usage = "longshore model <SESSION> [MODEL]
       longshore model --script <FILE> [--port <PORT>] [--requests <FILE>]
       longshore model --upstream <URL> [--api <API>] [--key-env <NAME>] [--port <PORT>]")]
#[command(after_help = "docs/model-script.md describes the script. docs/gateway.md describes the gateway.")]
pub(super) struct Model {
    /// The session: its id or a part of it; `-` means the latest one
    #[arg(required_unless_present_any = ["upstream", "script"], conflicts_with_all = ["upstream", "script"])]
    session: Option<String>,
    /// The new model; without it, the verb lists the available models
    model: Option<String>,
    /// Serve a scripted model from this file (JSON)
    #[arg(long, value_name = "FILE", conflicts_with = "upstream")]
    script: Option<PathBuf>,
    /// Serve a gateway to this service: its address up to /v1
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,
    /// The API of the service: chat, responses or messages
    #[arg(long, value_enum, default_value = "chat", hide_possible_values = true, requires = "upstream")]
    api: ServiceApi,
    /// The environment variable that holds the key of the service; without it, clients send their own key
    #[arg(long, value_name = "NAME", requires = "upstream")]
    key_env: Option<String>,
    /// The port; 0 chooses a free port and prints it
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Write every request to this file, one per line
    #[arg(long, value_name = "FILE", conflicts_with = "upstream")]
    requests: Option<PathBuf>,
}

/// The API of a service.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ServiceApi {
    Chat,
    Responses,
    Messages,
}

impl From<ServiceApi> for ModelApi {
    fn from(api: ServiceApi) -> Self {
        match api {
            ServiceApi::Chat => ModelApi::Chat,
            ServiceApi::Responses => ModelApi::Responses,
            ServiceApi::Messages => ModelApi::Messages,
        }
    }
}

/// What is served.
enum ModelServer {
    Script(Script, Option<PathBuf>),
    Gateway(Gateway),
}

impl Model {
    pub(super) async fn run(self, as_json: bool) -> Result<ExitCode> {
        let Self { session, model, script, upstream, api, key_env, port, requests } = self;
        if let Some(session) = session {
            if !set::could_be_session(&session) && Path::new(&session).is_file() {
                let hint = format!("to serve this file: longshore model --script {session}");
                return Err(Fault::usage(format!("`{session}` is a file, not a session"), hint).into());
            }
            return set::model(&session, model, as_json).await;
        }
        let served = match (script, upstream) {
            (_, Some(url)) => {
                start_logging();
                let key = key_env.map(|name| key(&name)).transpose()?;
                ModelServer::Gateway(Gateway::new(&url, api.into(), key)?)
            }
            (Some(script), None) => ModelServer::Script(Script::load(&script)?, requests),
            (None, None) => {
                anyhow::bail!("name a session, or give --script FILE or --upstream URL")
            }
        };
        let listener = TcpListener::bind(("127.0.0.1", port))
            .await
            .with_context(|| format!("cannot listen at port {port}"))?;
        put_line(serde_json::json!({ "url": format!("http://{}/v1", listener.local_addr()?) }))?;
        let stop = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        match served {
            ModelServer::Script(script, requests) => script::serve(listener, script, requests, stop).await?,
            ModelServer::Gateway(gateway) => gateway.serve(listener, stop).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn key(name: &str) -> Result<String> {
    let key = std::env::var(name)
        .ok()
        .with_context(|| format!("the variable {name} of --key-env is not set; put the key into it"))?;
    let key = key.trim().to_owned();
    anyhow::ensure!(!key.is_empty(), "the variable {name} of --key-env is empty");
    Ok(key)
}

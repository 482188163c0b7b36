//! `longshore model`: a scripted model on loopback.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use tokio::net::TcpListener;

use super::terminal::put_line;
use crate::script::{self, Script};

/// Serve a scripted model on loopback. `docs/model-script.md` describes the script.
#[derive(Debug, Args)]
#[command(after_help = "docs/model-script.md describes the script.")]
pub(super) struct Model {
    /// The script: JSON
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    /// The port; 0 takes a free one and prints it
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Write every request to this file, a line each
    #[arg(long, value_name = "FILE")]
    requests: Option<PathBuf>,
}

impl Model {
    pub(super) async fn run(self) -> Result<ExitCode> {
        let script = Script::load(&self.script)?;
        let listener = TcpListener::bind(("127.0.0.1", self.port))
            .await
            .with_context(|| format!("cannot listen at port {}", self.port))?;
        put_line(serde_json::json!({ "url": format!("http://{}/v1", listener.local_addr()?) }))?;
        let stop = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        script::serve(listener, script, self.requests, stop).await?;
        Ok(ExitCode::SUCCESS)
    }
}

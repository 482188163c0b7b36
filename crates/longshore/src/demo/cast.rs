//! Recordings of a terminal: asciicast v2, one JSON line per output.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use longshore_model::time::Timestamp;
use serde_json::json;
use tokio::time::Instant;

/// The size of a terminal, in columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How wide.
    pub columns: u16,
    /// How high.
    pub rows: u16,
}

impl Default for Size {
    /// What a recording has when there is no terminal.
    fn default() -> Self {
        Self { columns: 100, rows: 30 }
    }
}

/// A recording that is being made. Every line is whole when it is written, so that it can be cut anywhere.
#[derive(Debug)]
pub struct Cast {
    file: File,
    began: Instant,
}

impl Cast {
    /// Begins one. `at` is the time of its beginning, for those who ask when it was made.
    pub fn create(path: &Path, title: &str, size: Size, at: Timestamp) -> std::io::Result<Self> {
        let mut file = File::create(path)?;
        let head = json!({
            "version": 2,
            "width": size.columns,
            "height": size.rows,
            "timestamp": at.micros() / 1_000_000,
            "title": title,
            "env": { "TERM": "xterm-256color", "SHELL": "/bin/sh" },
        });
        writeln!(file, "{head}")?;
        Ok(Self { file, began: Instant::now() })
    }

    /// The terminal shows something now.
    pub fn show(&mut self, text: &str) -> std::io::Result<()> {
        let seconds = self.began.elapsed().as_secs_f64();
        // What a terminal does with the ends of lines before it shows them.
        let text = text.replace('\n', "\r\n");
        let line = json!([(seconds * 1e6).round() / 1e6, "o", text]);
        writeln!(self.file, "{line}")
    }
}

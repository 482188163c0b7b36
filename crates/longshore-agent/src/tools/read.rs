//! `read_file`, `fetch_file`, `list_dir`, `view_image`: tools that only read files.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use longshore_model::item::ToolStatus;
use serde::Deserialize;

use super::ToolResult;
use super::bound::floor;
use super::text::text_of;
use longshore_drivers::host_io::files::bytes_of;
use longshore_drivers::kit::contents::picture_of;

/// How many lines of a file a call returns by default.
pub(super) const LINES: usize = 2000;
/// How many bytes of a line a call returns.
const LINE_LIMIT: usize = 2000;
/// How many bytes of a file a call returns, whatever the number of lines.
const BYTES_LIMIT: usize = 128 * 1024;
/// How many entries of folders a call lists.
const ENTRIES_LIMIT: usize = 1000;
/// How deep a call lists folders.
const DEPTH_LIMIT: usize = 8;

/// The arguments of `read_file`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ReadArguments {
    #[serde(alias = "file_path")]
    pub(super) path: String,
    /// The first line, from 1.
    #[serde(default, alias = "offset", alias = "start_line")]
    pub(super) line: Option<usize>,
    #[serde(default)]
    pub(super) limit: Option<usize>,
}

/// The arguments of tools that need only a path.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PathArguments {
    #[serde(alias = "file_path")]
    pub(super) path: String,
}

/// The arguments of `list_dir`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ListArguments {
    #[serde(default = "here", alias = "dir_path")]
    pub(super) path: String,
    #[serde(default)]
    pub(super) depth: Option<usize>,
}

pub(super) fn here() -> String {
    ".".to_owned()
}

/// Reads lines of a file, with their numbers.
pub(super) fn lines(file: &Path, arguments: &ReadArguments) -> ToolResult {
    let text = match text_of(file, &arguments.path) {
        Ok((text, _)) => text,
        Err(fault) => return ToolResult::failed(fault.to_string()),
    };
    let total = text.lines().count();
    let first = arguments.line.unwrap_or(1).max(1);
    if total == 0 {
        return ToolResult::done("[the file is empty]");
    }
    if first > total {
        return ToolResult::failed(format!(
            "{} has {total} lines; line {first} is not there",
            arguments.path
        ));
    }
    let (mut shown, mut told) = (String::new(), 0);
    for (number, line) in (1..).zip(text.lines()).skip(first - 1).take(arguments.limit.unwrap_or(LINES)) {
        let cut = floor(line, LINE_LIMIT);
        let rest = line.len() - cut;
        // Writing to a string cannot fail.
        let _ = write!(shown, "{number:>6}\t{}", &line[..cut]);
        if rest > 0 {
            let _ = write!(shown, " [... {rest} bytes left out]");
        }
        shown.push('\n');
        told = number;
        if shown.len() > BYTES_LIMIT {
            break;
        }
    }
    if told < total {
        let _ = writeln!(shown, "[lines {first} to {told} of {total}; go on with \"line\": {}]", told + 1);
    }
    // The limits above are meant for the model. A cut in the middle would only make the model ask again.
    ToolResult { content: shown.clone(), ..ToolResult::done(shown) }
}

/// Reads a whole file, unchanged.
pub(super) fn whole(file: &Path, path: &str) -> ToolResult {
    match text_of(file, path) {
        Ok((text, _)) if text.len() <= BYTES_LIMIT => {
            ToolResult { content: text.clone(), ..ToolResult::done(text) }
        }
        Ok((text, _)) => ToolResult::done(text),
        Err(fault) => ToolResult::failed(fault.to_string()),
    }
}

/// Lists a folder: folders end with `/`, links name their targets.
pub(super) fn list(folder: &Path, arguments: &ListArguments) -> ToolResult {
    let mut listed = Vec::new();
    let depth = arguments.depth.unwrap_or(1).clamp(1, DEPTH_LIMIT);
    if let Err(error) = gather(folder, "", depth, &mut listed) {
        return ToolResult::failed(match error.kind() {
            std::io::ErrorKind::NotFound => format!("{} does not exist", arguments.path),
            std::io::ErrorKind::NotADirectory => format!("{} is no folder; read it instead", arguments.path),
            _ => format!("{}: {error}", arguments.path),
        });
    }
    let more = listed.len() > ENTRIES_LIMIT;
    listed.truncate(ENTRIES_LIMIT);
    let mut text = match listed.is_empty() {
        true => "[the folder is empty]".to_owned(),
        false => listed.join("\n"),
    };
    if more {
        let _ = write!(text, "\n[more than {ENTRIES_LIMIT} entries; list a folder of it, or less deep]");
    }
    ToolResult { content: text.clone(), ..ToolResult::done(text) }
}

fn gather(folder: &Path, prefix: &str, depth: usize, listed: &mut Vec<String>) -> std::io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.filter_map(Result::ok).collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if listed.len() > ENTRIES_LIMIT {
            break;
        }
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            listed.push(format!("{name}/"));
            // The content of `.git` is noise for the model.
            if depth > 1 && entry.file_name() != ".git" {
                // A folder that cannot be read is still listed.
                let _ = gather(&entry.path(), &format!("{name}/"), depth - 1, listed);
            }
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            listed.push(format!("{name} -> {}", target.display()));
        } else {
            listed.push(name);
        }
    }
    Ok(())
}

/// Reads an image for the model.
pub(super) fn image(file: &Path, path: &str) -> ToolResult {
    let bytes = match bytes_of(file, path) {
        Ok(bytes) => bytes,
        Err(fault) => return ToolResult::failed(fault.to_string()),
    };
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    let Some(image) = picture_of(name, &bytes) else {
        return ToolResult::failed(format!("{path} is no image that models can see (PNG, JPEG, GIF, WebP)"));
    };
    let text = format!("[{path}: {}, {} bytes]", image.media_type, bytes.len());
    ToolResult { images: vec![image], ..ToolResult::ended(ToolStatus::Completed, text) }
}

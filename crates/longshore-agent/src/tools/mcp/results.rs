//! Converts the results of an MCP server into results of the agent's tools.

use longshore_model::command::{Attachment, AttachmentSource};
use longshore_model::item::{ToolOutcome, ToolStatus};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::tools::ToolResult;

/// Joins the texts of a result. Images become attachments.
pub(super) fn of(result: CallToolResult) -> ToolResult {
    let mut texts = Vec::new();
    let mut images = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image) => {
                texts.push(format!("[an image: {}]", image.mime_type));
                let source = AttachmentSource::Data(image.data);
                images.push(Attachment { name: None, media_type: image.mime_type, source });
            }
            ContentBlock::Audio(audio) => {
                texts.push(format!("[a sound that is not shown: {}]", audio.mime_type))
            }
            ContentBlock::Resource(embedded) => texts.push(resource(embedded.resource)),
            ContentBlock::ResourceLink(link) => texts.push(format!("[{}]({})", link.name, link.uri)),
            // The library may add other kinds of content.
            other => texts.push(serde_json::to_string(&other).unwrap_or_default()),
        }
    }
    let data = result.structured_content.unwrap_or_default();
    if texts.is_empty() {
        // Some model APIs refuse an empty result.
        texts.push(if data.is_null() { "[no output]".to_owned() } else { data.to_string() });
    }
    let status = if result.is_error == Some(true) { ToolStatus::Failed } else { ToolStatus::Completed };
    ToolResult {
        outcome: ToolOutcome { result: data, ..ToolOutcome::of(status) },
        images,
        ..ToolResult::ended(status, texts.join("\n"))
    }
}

fn resource(contents: ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text,
        ResourceContents::BlobResourceContents { uri, blob, .. } => {
            format!("[{uri}: {} bytes of base64 that are not shown]", blob.len())
        }
        // The library may add other kinds of content.
        other => serde_json::to_string(&other).unwrap_or_default(),
    }
}

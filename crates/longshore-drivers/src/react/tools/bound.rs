//! What the model is told of a long text: its beginning and its end, with what was left out between them.

/// How many bytes of a result the model is told.
pub(super) const MODEL_LIMIT: usize = 16 * 1024;

/// The text, or its first and its last lines with a line between them that says what is missing.
pub(super) fn for_model(text: &str) -> String {
    head_and_tail(text, MODEL_LIMIT)
}

fn head_and_tail(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(limit / 2);
    let tail = text.ceil_char_boundary(text.len() - limit / 2);
    // Whole lines, unless a line is very long.
    let head = match text[..head].rfind('\n') {
        Some(end) if end >= head / 2 => end + 1,
        Some(_) | None => head,
    };
    let tail = match text[tail..].find('\n') {
        Some(end) if tail + end < text.len() - limit / 4 => tail + end + 1,
        Some(_) | None => tail,
    };
    let omitted = &text[head..tail];
    let lines = omitted.matches('\n').count();
    let feed = if text[..head].ends_with('\n') { "" } else { "\n" };
    format!(
        "{}{feed}[... {} bytes, {lines} lines left out ...]\n{}",
        &text[..head],
        omitted.len(),
        &text[tail..]
    )
}

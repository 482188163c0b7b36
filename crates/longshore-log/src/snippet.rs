//! Snippets for people: without terminal escapes, without Markdown, a few lines long at most.

use crate::search::bounded;

/// A snippet for people.
pub fn plain(snippet: &str) -> String {
    bounded(without_markdown(&without_escapes(snippet)))
}

/// Removes escape sequences and all other control characters.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // CSI: parameters, then one final letter.
                Some('[') => while chars.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
                // OSC and its like: up to BEL or ST.
                Some(']' | 'P' | '^' | '_' | 'X') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                            break;
                        }
                    }
                }
                Some(_) | None => {}
            },
            '\u{9b}' => while chars.next().is_some_and(|c| !('\u{40}'..='\u{7e}').contains(&c)) {},
            '\n' | '\t' => plain.push(c),
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}

/// Removes Markdown marks around words. Marks inside words (`foo_bar`) are part of the words.
fn without_markdown(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let heading = line.trim_start_matches('#');
        let line = if heading.len() < line.len() && heading.starts_with(' ') { &heading[1..] } else { line };
        line.replace("**", "").replace("__", "").replace('`', "")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{MATCH_BEGIN, MATCH_END, SNIPPET_CHARS};

    #[test]
    fn a_snippet_has_no_marks_of_terminals_or_markdown() {
        assert_eq!(plain("\u{1b}[32m1 passed\u{1b}[0m"), "1 passed");
        assert_eq!(plain("\u{1b}]0;title\u{7}a \u{1b}]8;;x\u{1b}\\b"), "a b");
        assert_eq!(plain("## Head\n**bold** and `code` in foo_bar"), "Head\nbold and code in foo_bar");
    }

    #[test]
    fn a_snippet_of_one_endless_word_is_cut_by_characters() {
        let text = format!("{}{MATCH_BEGIN}{}{MATCH_END}", "日本".repeat(100_000), "x".repeat(100_000));
        let cut = plain(&text);
        assert!(cut.chars().count() <= SNIPPET_CHARS + 3, "{}", cut.chars().count());
        assert!(cut.contains(MATCH_BEGIN) && cut.contains(MATCH_END));
        assert!(cut.starts_with('…'));
    }
}

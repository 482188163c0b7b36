//! Removes from foreign text everything that a terminal would obey.
//!
//! Agents print what they read, and a file may be written to deceive: escape sequences that change the
//! window's title or overwrite earlier output, text that runs backwards. [`clean`] removes that, for reading;
//! [`reveal`] shows it, for deciding.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use longshore_model::describe::is_commanding;
pub use longshore_model::describe::reveal;

use super::wrap::clusters;

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';
const STRING_END: char = '\u{9c}';

/// Text that a terminal can only print: newlines and tabs are all that is left of control characters.
///
/// Works line by line, and no escape sequence reaches past its line: cleaning a text by its lines is cleaning it
/// as a whole, so that a streamed text comes out as a whole one does.
pub fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c != '\n' && c != '\t' && is_commanding(c)) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            cleaned.push('\n');
        }
        clean_line(line.trim_end_matches('\r'), &mut cleaned);
    }
    Cow::Owned(cleaned)
}

/// The output of a program as a terminal would show it: text that a lone carriage return overwrote is
/// removed.
pub fn clean_output(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            cleaned.push('\n');
        }
        let line = line.trim_end_matches('\r');
        let last = line.rsplit('\r').next().unwrap_or(line);
        clean_line(last, &mut cleaned);
    }
    cleaned
}

/// A line with its tabs drawn out to stops of `stop` columns.
pub fn untab(line: &str, stop: usize) -> Cow<'_, str> {
    if !line.contains('\t') {
        return Cow::Borrowed(line);
    }
    let mut drawn = String::with_capacity(line.len() + 16);
    let mut column = 0;
    for (cluster, width) in clusters(line) {
        if cluster == "\t" {
            let gap = stop - column % stop;
            drawn.extend(std::iter::repeat_n(' ', gap));
            column += gap;
        } else {
            drawn.push_str(cluster);
            column += width;
        }
    }
    Cow::Owned(drawn)
}

fn clean_line(line: &str, out: &mut String) {
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\t' => out.push(c),
            '\r' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            ESCAPE => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            c if is_commanding(c) => {}
            c => out.push(c),
        }
    }
}

fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        _ => {
            while rest.next_if(|c| (' '..='/').contains(c)).is_some() {}
            rest.next_if(|c| ('0'..='~').contains(c));
        }
    }
}

fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| (' '..='?').contains(c)).is_some() {}
    rest.next_if(|c| ('@'..='~').contains(c));
}

/// A string sequence without an end is no reason to lose the text behind it: only its introducer goes.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        let ends = c == BELL || c == STRING_END || (c == ESCAPE && ahead.next_if_eq(&'\\').is_some());
        if ends {
            *rest = ahead;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_go_and_text_stays() {
        for (dirty, expected) in [
            ("plain\ntext\twith tab", "plain\ntext\twith tab"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}[38;2;1;2;3mx\u{1b}[K", "x"),
            ("a\u{1b}]0;owned\u{7}b", "ab"),
            ("a\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\b", "alinkb"),
            ("a\u{1b}Pq#0\u{1b}\\b", "ab"),
            ("a\u{9b}2Jb\u{9d}0;t\u{9c}c", "abc"),
            ("a\u{1b}(Bb\u{1b}cd", "abd"),
            ("bell\u{7} back\u{8} nul\0 del\u{7f}", "bell back nul del"),
            ("dos\r\nline\r\n", "dos\nline\n"),
            ("one\rtwo", "one\ntwo"),
            ("back\u{202e}wards\u{2066}", "backwards"),
        ] {
            assert_eq!(clean(dirty), expected, "{dirty:?}");
        }
    }

    #[test]
    fn an_unfinished_sequence_hides_nothing() {
        assert_eq!(clean("a\u{1b}]0;no end\nnext"), "a0;no end\nnext");
        assert_eq!(clean("a\u{1b}["), "a");
        assert_eq!(clean("a\u{1b}[31\nb"), "a\nb");
        assert_eq!(clean("a\u{1b}"), "a");
    }

    #[test]
    fn a_progress_bar_leaves_its_last_state() {
        assert_eq!(clean_output("10%\r50%\r\u{1b}[32m100%\u{1b}[0m\r\ndone"), "100%\ndone");
    }

    #[test]
    fn tabs_reach_their_stops() {
        assert_eq!(untab("a\tb\t漢\tc", 4), "a   b   漢  c");
        assert_eq!(untab("none", 8), "none");
    }
}

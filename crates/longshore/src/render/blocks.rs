//! Markdown cut into blocks while it is still being written.
//!
//! The cutter sees one whole line after the other and hands out a block as soon as nothing that may follow can
//! change it. A fenced block is handed out line by line, a list item by item. Because it never sees less than a
//! line, the pieces do not depend on how the text was chunked.

/// What was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Whether an empty line stands before it.
    pub(super) gap: bool,
    pub(super) content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The source of a block, or of one list item.
    Block(String),
    /// A fence opens; its language, if it names one.
    FenceOpen(String),
    /// A line within the fence.
    FenceLine(String),
}

/// Where the cutter stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum CutterState {
    #[default]
    Between,
    Paragraph,
    Table,
    Quote,
    Item {
        content: usize,
        fence: Option<Fence>,
    },
    Indented,
    Fence(Fence),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

/// What the last piece was, as far as the gap after it cares.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Last {
    #[default]
    Nothing,
    Paragraph,
    Item,
    Other,
}

/// Cuts a text of which more may come.
#[derive(Debug, Default)]
pub(super) struct Cutter {
    place: CutterState,
    open: Vec<String>,
    blank: bool,
    last: Last,
}

impl Cutter {
    /// Takes the next line, without its newline.
    pub(super) fn line(&mut self, line: &str, out: &mut Vec<Piece>) {
        let blank = line.trim().is_empty();
        match self.place {
            CutterState::Between => self.begin(line, out),
            CutterState::Fence(fence) if fence.closed_by(line) => self.place = CutterState::Between,
            CutterState::Fence(fence) => {
                let content = Content::FenceLine(dedent(line, fence.indent).to_owned());
                out.push(Piece { gap: false, content });
            }
            CutterState::Paragraph if !blank && self.open.len() == 1 && self.heads_table(line) => {
                self.open.push(line.to_owned());
                self.place = CutterState::Table;
            }
            CutterState::Paragraph if is_underline(line) => {
                self.open.push(line.to_owned());
                self.flush(out);
            }
            CutterState::Item { content, fence: Some(fence) } => {
                if !blank && indent(line) < content {
                    self.restart(line, out);
                } else {
                    let still = (!fence.closed_by(dedent(line, content))).then_some(fence);
                    self.place = CutterState::Item { content, fence: still };
                    self.open.push(line.to_owned());
                }
            }
            CutterState::Item { .. } | CutterState::Indented if blank => self.open.push(String::new()),
            CutterState::Item { content, fence: None } => self.in_item(line, content, out),
            CutterState::Indented if indent(line) >= 4 => self.open.push(line.to_owned()),
            CutterState::Quote if line.trim_start().starts_with('>') => self.open.push(line.to_owned()),
            CutterState::Paragraph | CutterState::Table | CutterState::Quote
                if !blank && !interrupts(line) =>
            {
                self.open.push(line.to_owned());
            }
            CutterState::Paragraph | CutterState::Table | CutterState::Quote | CutterState::Indented => {
                self.restart(line, out)
            }
        }
    }

    /// Nothing more comes.
    pub(super) fn end(&mut self, out: &mut Vec<Piece>) {
        self.flush(out);
    }

    /// Whether a fenced block is open, which is handed out line by line.
    pub(super) fn is_in_fence(&self) -> bool {
        matches!(self.place, CutterState::Fence(_))
    }

    /// The paragraph that is being written, with the line of it that has not ended: whether an empty line stands before it,
    /// and its source so far. None when it may turn out to be something else.
    pub(super) fn paragraph(&self, unfinished: &str) -> Option<(bool, String)> {
        let plain = |line: &str| {
            let begins = line.trim_start().chars().next().is_some_and(char::is_alphanumeric);
            begins && indent(line) < 4 && Marker::of(line).is_none() && !interrupts(line)
        };
        let source = match self.place {
            CutterState::Between if plain(unfinished) => unfinished.to_owned(),
            CutterState::Paragraph if unfinished.trim().is_empty() => self.open.join("\n"),
            CutterState::Paragraph if plain(unfinished) => format!("{}\n{unfinished}", self.open.join("\n")),
            CutterState::Between
            | CutterState::Paragraph
            | CutterState::Table
            | CutterState::Quote
            | CutterState::Item { .. }
            | CutterState::Indented
            | CutterState::Fence(_) => return None,
        };
        Some((self.last != Last::Nothing, source))
    }

    fn in_item(&mut self, line: &str, content: usize, out: &mut Vec<Piece>) {
        let inside = indent(line) >= content;
        let after_blank = self.open.last().is_some_and(String::is_empty);
        let lazy = !after_blank && !interrupts(line) && Marker::of(line).is_none();
        if inside {
            let fence = Fence::opened_by(dedent(line, content)).map(|(fence, _)| fence);
            self.place = CutterState::Item { content, fence };
        }
        if inside || lazy {
            self.open.push(line.to_owned());
        } else {
            self.restart(line, out);
        }
    }

    fn restart(&mut self, line: &str, out: &mut Vec<Piece>) {
        self.flush(out);
        self.begin(line, out);
    }

    fn begin(&mut self, line: &str, out: &mut Vec<Piece>) {
        if line.trim().is_empty() {
            self.blank = true;
        } else if indent(line) >= 4 {
            self.place = CutterState::Indented;
            self.open.push(line.to_owned());
        } else if let Some((fence, language)) = Fence::opened_by(line) {
            let gap = self.gap(Last::Other);
            out.push(Piece { gap, content: Content::FenceOpen(language.to_owned()) });
            self.place = CutterState::Fence(fence);
        } else if is_heading(line) || is_rule(line) {
            self.emit(line.to_owned(), Last::Other, out);
        } else {
            self.place = match Marker::of(line) {
                Some(marker) => CutterState::Item {
                    content: marker.content,
                    fence: Fence::opened_by(marker.rest.trim_start()).map(|(fence, _)| fence),
                },
                None if line.trim_start().starts_with('>') => CutterState::Quote,
                None => CutterState::Paragraph,
            };
            self.open.push(line.to_owned());
        }
    }

    fn flush(&mut self, out: &mut Vec<Piece>) {
        let mut trailing_blank = false;
        while self.open.last().is_some_and(String::is_empty) {
            self.open.pop();
            trailing_blank = true;
        }
        if !self.open.is_empty() {
            let kind = match self.place {
                CutterState::Item { .. } => Last::Item,
                CutterState::Paragraph => Last::Paragraph,
                CutterState::Between
                | CutterState::Table
                | CutterState::Quote
                | CutterState::Indented
                | CutterState::Fence(_) => Last::Other,
            };
            let source = self.open.join("\n");
            self.open.clear();
            self.emit(source, kind, out);
        }
        self.blank |= trailing_blank;
        self.place = CutterState::Between;
    }

    fn emit(&mut self, source: String, kind: Last, out: &mut Vec<Piece>) {
        let gap = self.gap(kind);
        out.push(Piece { gap, content: Content::Block(source) });
    }

    /// A list stands close to its introduction and its items to each other, if they were written so.
    fn gap(&mut self, next: Last) -> bool {
        let blank = std::mem::take(&mut self.blank);
        let close = next == Last::Item && matches!(self.last, Last::Item | Last::Paragraph) && !blank;
        let first = self.last == Last::Nothing;
        self.last = next;
        !first && !close
    }

    fn heads_table(&self, line: &str) -> bool {
        let is_delimiter = line.contains('-')
            && line.contains('|')
            && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'));
        is_delimiter && self.open.first().is_some_and(|head| head.contains('|'))
    }
}

impl Fence {
    fn opened_by(line: &str) -> Option<(Fence, &str)> {
        let text = line.trim_start();
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        let sound = length >= 3 && indent(line) < 4 && !(mark == '`' && info.contains('`'));
        let language = info.trim().split([' ', ',', '{']).next().unwrap_or_default();
        sound.then_some((Fence { mark, length, indent: indent(line) }, language))
    }

    fn closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        indent(line) < 4 && text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }
}

/// What begins a list item.
struct Marker<'a> {
    /// The column where its content begins.
    content: usize,
    /// Its number, if it has one.
    number: Option<u64>,
    /// What stands behind it.
    rest: &'a str,
}

impl<'a> Marker<'a> {
    fn of(line: &'a str) -> Option<Marker<'a>> {
        let text = line.trim_start();
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let after = text.get(digits..)?;
        let sound = match after.chars().next()? {
            '-' | '*' | '+' => digits == 0,
            '.' | ')' => (1..=9).contains(&digits),
            _ => false,
        };
        let rest = after.get(1..)?;
        let spaces = indent(rest);
        let empty = rest.trim().is_empty();
        if !sound || (!empty && spaces == 0) || is_rule(line) {
            return None;
        }
        let spaces = if empty || spaces > 4 { 1 } else { spaces };
        let number = text.get(..digits).and_then(|digits| digits.parse().ok());
        Some(Marker { content: indent(line) + digits + 1 + spaces, number, rest })
    }
}

/// Whether a line ends the paragraph before it.
fn interrupts(line: &str) -> bool {
    let item = Marker::of(line)
        .is_some_and(|marker| !marker.rest.trim().is_empty() && marker.number.is_none_or(|n| n == 1));
    indent(line) < 4
        && (item
            || Fence::opened_by(line).is_some()
            || is_heading(line)
            || is_rule(line)
            || line.trim_start().starts_with('>'))
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start();
    let after = text.trim_start_matches('#');
    let level = text.len() - after.len();
    (1..=6).contains(&level) && (after.is_empty() || after.starts_with([' ', '\t']))
}

fn is_rule(line: &str) -> bool {
    let marks: Vec<char> = line.chars().filter(|c| !c.is_whitespace()).collect();
    marks.len() >= 3 && matches!(marks[0], '-' | '*' | '_') && marks.iter().all(|mark| *mark == marks[0])
}

/// The second line of a heading that is underlined.
pub(super) fn is_underline(line: &str) -> bool {
    let text = line.trim();
    indent(line) < 4 && !text.is_empty() && (text.chars().all(|c| c == '=') || text.chars().all(|c| c == '-'))
}

/// How many columns of white space a line begins with.
fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

/// The line without up to `columns` columns of white space at its beginning.
fn dedent(line: &str, columns: usize) -> &str {
    let mut left = columns;
    line.trim_start_matches(|c| {
        let space = left > 0 && matches!(c, ' ' | '\t');
        left = left.saturating_sub(if c == '\t' { 4 } else { 1 });
        space
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a text: `=` for a block, `[` and `|` for a fence, a `_` before what has a gap.
    fn cut(text: &str) -> Vec<String> {
        let (mut cutter, mut pieces) = (Cutter::default(), Vec::new());
        text.lines().for_each(|line| cutter.line(line, &mut pieces));
        cutter.end(&mut pieces);
        let show = |piece: Piece| {
            let gap = if piece.gap { "_" } else { "" };
            match piece.content {
                Content::Block(source) => format!("{gap}={source}"),
                Content::FenceOpen(language) => format!("{gap}[{language}"),
                Content::FenceLine(line) => format!("{gap}|{line}"),
            }
        };
        pieces.into_iter().map(show).collect()
    }

    #[test]
    fn paragraphs_end_at_blank_lines_and_at_what_interrupts() {
        assert_eq!(cut("a\nb\n\nc\n# d\ne"), ["=a\nb", "_=c", "_=# d", "_=e"]);
        assert_eq!(cut("title\n---\ntext\n\n***\nmore"), ["=title\n---", "_=text", "_=***", "_=more"]);
        assert_eq!(cut("see\n> quoted\nlazily\n\nend"), ["=see", "_=> quoted\nlazily", "_=end"]);
    }

    #[test]
    fn fences_come_line_by_line() {
        assert_eq!(cut("```rust\nfn a\n\n# no\n```\nafter"), ["[rust", "|fn a", "|", "|# no", "_=after"]);
        assert_eq!(cut("~~~~\n```\n~~~~~\nx"), ["[", "|```", "_=x"]);
        assert_eq!(cut("never\n```sh {x}\nclosed"), ["=never", "_[sh", "|closed"]);
    }

    #[test]
    fn lists_come_item_by_item() {
        assert_eq!(
            cut("so:\n- a\n- b\n  more\nlazy\n\nend"),
            ["=so:", "=- a", "=- b\n  more\nlazy", "_=end"]
        );
        assert_eq!(cut("1. a\n\n   still\n2. b\n\n3. c"), ["=1. a\n\n   still", "=2. b", "_=3. c"]);
        assert_eq!(cut("- a\n  - nested\n    deep\n- b"), ["=- a\n  - nested\n    deep", "=- b"]);
    }

    #[test]
    fn a_fence_within_an_item_is_part_of_it() {
        assert_eq!(cut("- a\n  ```\n  - b\n\n  x\n  ```\n- c"), ["=- a\n  ```\n  - b\n\n  x\n  ```", "=- c"]);
        assert_eq!(cut("1. a\n```\n2. b\n```\n2. c"), ["=1. a", "_[", "|2. b", "_=2. c"]);
        assert_eq!(cut("- ```\n  x\n  ```\n- b"), ["=- ```\n  x\n  ```", "=- b"]);
    }

    #[test]
    fn tables_stay_whole() {
        assert_eq!(
            cut("| a | b |\n|---|---|\n| 1 | 2 |\ntext\n\nend"),
            ["=| a | b |\n|---|---|\n| 1 | 2 |\ntext", "_=end"]
        );
    }

    #[test]
    fn numbers_and_dashes_within_prose_are_prose() {
        assert_eq!(cut("it was\n1987. Then\n-5 degrees"), ["=it was\n1987. Then\n-5 degrees"]);
    }
}

//! A text that an agent is still writing: printed block by block, and corrected if the final text differs.

use super::blocks::{Content, Cutter, Piece, is_underline};
use super::clean::clean;
use super::style::Style;
use super::{code, inline, line::InkLine, markdown};

/// How long a paragraph may be to be printed row by row, in bytes.
const LONGEST: usize = 8 << 10;

/// One item's text so far.
#[derive(Debug, Default)]
pub(super) struct Prose {
    cutter: Cutter,
    /// The line that has not ended yet, as it came.
    unfinished: String,
    /// What was handed out, to be compared with the whole.
    pieces: Vec<Piece>,
    fence: String,
    /// The rows of the paragraph that is being written that were handed out already.
    rows: Vec<InkLine>,
    /// How wide they are: the paragraph ends as wide as it began, whatever becomes of the terminal.
    rows_width: usize,
    /// How long that paragraph was when rows were last looked for.
    looked_at: usize,
}

/// What is still to be printed when the whole text is known.
pub(super) enum Rest {
    /// It goes on where the stream ended.
    Continues(Vec<InkLine>),
    /// The stream said something else: this is all of it.
    Differs(Vec<InkLine>),
}

impl Prose {
    /// Takes more text; gives the lines that are certain now.
    pub(super) fn push(&mut self, text: &str, width: usize, style: &Style) -> Vec<InkLine> {
        let mut pieces = Vec::new();
        self.cut(text, &mut pieces);
        let mut lines = self.draw(&pieces, width, style);
        self.pieces.append(&mut pieces);
        lines.extend(self.more_rows(width, style));
        lines
    }

    /// Whether a part of a block was handed out, and the rest of it is still to come.
    pub(super) fn is_amid_a_block(&self) -> bool {
        !self.rows.is_empty() || self.cutter.is_in_fence()
    }

    /// The last characters of the line that is being written, for a glance.
    pub(super) fn tail(&self, most: usize) -> &str {
        let line = self.unfinished.trim();
        let from = line.char_indices().rev().take(most).last().map_or(0, |(at, _)| at);
        line.get(from..).unwrap_or(line).trim_start()
    }

    /// The rows of the paragraph that is being written that nothing can change any more: all but the last.
    fn more_rows(&mut self, width: usize, style: &Style) -> Vec<InkLine> {
        let width = self.width_of_rows(width);
        let unfinished = clean(&self.unfinished);
        let Some((gap, source)) = self.cutter.paragraph(&unfinished) else { return Vec::new() };
        // Not for every word, and not for what is no paragraph any more but a flood: that comes with its end.
        if source.len() < self.looked_at + width / 2 || source.len() > LONGEST {
            return Vec::new();
        }
        self.looked_at = source.len();
        if !inline::is_settled(&source) {
            return Vec::new();
        }
        // Blanks at the end may make a row of their own, which is none once the paragraph ends there.
        let mut rows = markdown::lines(source.trim_end(), width, style);
        rows.pop();
        if rows.len() <= self.rows.len() || !rows.starts_with(&self.rows) {
            return Vec::new();
        }
        let mut lines = Vec::new();
        if gap && self.rows.is_empty() {
            lines.push(InkLine::default());
        }
        lines.extend(rows.iter().skip(self.rows.len()).cloned());
        self.rows = rows;
        self.rows_width = width;
        lines
    }

    fn width_of_rows(&self, width: usize) -> usize {
        if self.rows.is_empty() { width } else { self.rows_width }
    }

    /// The text is over, as far as it was streamed.
    pub(super) fn end(mut self, width: usize, style: &Style) -> Vec<InkLine> {
        let pieces = self.remaining();
        self.draw(&pieces, width, style)
    }

    /// The text is known as a whole, which is the truth: agents lose chunks.
    pub(super) fn done(mut self, whole: &str, width: usize, style: &Style) -> Rest {
        let mut truth = Prose::default();
        let mut pieces = Vec::new();
        truth.cut(whole, &mut pieces);
        pieces.extend(truth.remaining());
        match pieces.strip_prefix(self.pieces.as_slice()) {
            Some(rest) if self.is_continued_by(rest, width, style) => {
                Rest::Continues(self.draw(rest, width, style))
            }
            _ => Rest::Differs(Prose::default().draw(&pieces, width, style)),
        }
    }

    /// Whether the rows that were handed out are the beginning of what comes.
    fn is_continued_by(&self, rest: &[Piece], width: usize, style: &Style) -> bool {
        match rest.first().map(|piece| &piece.content) {
            Some(Content::Block(source)) => {
                block(source, self.width_of_rows(width), style).starts_with(&self.rows)
            }
            Some(Content::FenceOpen(_) | Content::FenceLine(_)) | None => self.rows.is_empty(),
        }
    }

    fn cut(&mut self, text: &str, pieces: &mut Vec<Piece>) {
        let mut rest = text;
        while let Some((end, after)) = rest.split_once('\n') {
            self.unfinished.push_str(end);
            for line in clean(&std::mem::take(&mut self.unfinished)).split('\n') {
                self.cutter.line(line, pieces);
            }
            rest = after;
        }
        self.unfinished.push_str(rest);
    }

    fn remaining(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if !self.unfinished.is_empty() {
            self.cut("\n", &mut pieces);
        }
        self.cutter.end(&mut pieces);
        pieces
    }

    fn draw(&mut self, pieces: &[Piece], width: usize, style: &Style) -> Vec<InkLine> {
        let mut lines = Vec::new();
        for piece in pieces {
            let block_width = self.width_of_rows(width);
            let rows = std::mem::take(&mut self.rows);
            self.looked_at = 0;
            if piece.gap && rows.is_empty() {
                lines.push(InkLine::default());
            }
            match &piece.content {
                Content::Block(source) => {
                    let drawn = block(source, block_width, style);
                    let known = if drawn.starts_with(&rows) { rows.len() } else { 0 };
                    lines.extend(drawn.into_iter().skip(known));
                }
                Content::FenceOpen(language) => {
                    lines.extend(code::label(language, style));
                    self.fence.clone_from(language);
                }
                Content::FenceLine(line) => lines.extend(code::lines(line, &self.fence, width, style)),
            }
        }
        lines
    }
}

/// A block as lines. A line under a text of several rows makes no heading of it: these rows may have been printed.
fn block(source: &str, width: usize, style: &Style) -> Vec<InkLine> {
    if let Some((text, line)) = source.rsplit_once('\n').filter(|(_, line)| is_underline(line)) {
        let mut lines = markdown::lines(text, width, style);
        if lines.len() > 1 {
            if line.trim_start().starts_with('-') {
                lines.push(InkLine::default());
                lines.extend(markdown::lines("---", width, style));
            }
            return lines;
        }
    }
    markdown::lines(source, width, style)
}

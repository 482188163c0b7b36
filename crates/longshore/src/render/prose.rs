//! A text that an agent is still writing: printed block by block, corrected when its whole turns out otherwise.

use super::blocks::{Content, Cutter, Piece};
use super::clean::clean;
use super::style::Style;
use super::{code, line::Line, markdown};

/// One item's text so far.
#[derive(Debug, Default)]
pub(super) struct Prose {
    cutter: Cutter,
    /// The line that has not ended yet, as it came.
    unfinished: String,
    /// What was handed out, to be compared with the whole.
    pieces: Vec<Piece>,
    fence: String,
}

/// What is still to be printed when the whole text is known.
pub(super) enum Rest {
    /// It goes on where the stream ended.
    Continues(Vec<Line>),
    /// The stream said something else: this is all of it.
    Differs(Vec<Line>),
}

impl Prose {
    /// Takes more text; gives the lines that are certain now.
    pub(super) fn push(&mut self, text: &str, width: usize, style: &Style) -> Vec<Line> {
        let mut pieces = Vec::new();
        self.cut(text, &mut pieces);
        let lines = self.draw(&pieces, width, style);
        self.pieces.append(&mut pieces);
        lines
    }

    /// The text is over, as far as it was streamed.
    pub(super) fn end(mut self, width: usize, style: &Style) -> Vec<Line> {
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
            Some(rest) => Rest::Continues(self.draw(rest, width, style)),
            None => Rest::Differs(Prose::default().draw(&pieces, width, style)),
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

    fn draw(&mut self, pieces: &[Piece], width: usize, style: &Style) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in pieces {
            if piece.gap {
                lines.push(Line::default());
            }
            match &piece.content {
                Content::Block(source) => lines.extend(markdown::lines(source, width, style)),
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

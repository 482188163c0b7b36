//! The layout: blocks with an empty line between them, except where they belong together.

use longshore_model::id::{ApprovalId, ItemId, QuestionId};

use super::line::{InkLine, print};
use super::style::Style;

/// The item that a block tells of, if it has one.
pub(super) type BlockItem = Option<ItemId>;

/// Whose words a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProseVoice {
    Message,
    Thought,
    Plan,
}

/// What blocks the agent until somebody answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AskId {
    Approval(ApprovalId),
    Question(QuestionId),
}

/// What was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageBlock {
    /// A text that may go on.
    Prose(ProseVoice, BlockItem),
    /// The head of a card.
    Head(BlockItem),
    /// What belongs under the head.
    Body(BlockItem),
    /// A question, and the item that waits for its answer.
    Asked(AskId, BlockItem),
    /// Its answer.
    Answered(AskId, BlockItem),
    /// A line by the way.
    Remark,
    /// A block of its own.
    Whole,
}

impl PageBlock {
    fn item(self) -> BlockItem {
        match self {
            PageBlock::Prose(_, item)
            | PageBlock::Head(item)
            | PageBlock::Body(item)
            | PageBlock::Asked(_, item)
            | PageBlock::Answered(_, item) => item,
            PageBlock::Remark | PageBlock::Whole => None,
        }
    }
}

/// What was printed so far, as far as the next block cares.
#[derive(Debug, Default)]
pub(super) struct PageState {
    last: Option<PageBlock>,
}

impl PageState {
    /// Whether the last block told of this item, so that its name need not be said again.
    pub(super) fn stands_at(&self, item: BlockItem) -> bool {
        item.is_some() && self.last.is_some_and(|last| last.item() == item)
    }

    /// Whether this is what was printed last.
    pub(super) fn ends_with(&self, block: PageBlock) -> bool {
        self.last == Some(block)
    }

    /// Whether this was asked right above.
    pub(super) fn just_asked(&self, ask: AskId) -> bool {
        matches!(self.last, Some(PageBlock::Asked(last, _)) if last == ask)
    }

    /// Whether the card of this item stands right above.
    pub(super) fn stands_under(&self, item: BlockItem) -> bool {
        item.is_some()
            && matches!(self.last, Some(PageBlock::Head(last) | PageBlock::Body(last)) if last == item)
    }

    /// Whether the last thing said was the answer to what this item waited for.
    pub(super) fn just_answered(&self, item: BlockItem) -> bool {
        item.is_some() && matches!(self.last, Some(PageBlock::Answered(_, last)) if last == item)
    }

    /// Prints the head of a card a second time, apart from the heads of cards that are still open.
    pub(super) fn put_again(&mut self, item: BlockItem, lines: Vec<InkLine>, style: &Style) -> String {
        let printed = self.put(PageBlock::Whole, lines, style);
        self.last = Some(PageBlock::Head(item));
        printed
    }

    /// Prints a block.
    pub(super) fn put(&mut self, block: PageBlock, lines: Vec<InkLine>, style: &Style) -> String {
        if lines.is_empty() {
            return String::new();
        }
        let close = self.last.is_some_and(|last| self.closes_up(last, block));
        let printed = if close {
            print(&lines, style)
        } else {
            let text = lines.iter().position(|line| !line.is_empty()).unwrap_or(0);
            let gap = if self.last.is_some() { "\n" } else { "" };
            format!("{gap}{}", print(lines.get(text..).unwrap_or_default(), style))
        };
        self.last = Some(block);
        printed
    }

    fn closes_up(&self, last: PageBlock, next: PageBlock) -> bool {
        match next {
            PageBlock::Prose(..) => last == next,
            PageBlock::Head(_) => matches!(last, PageBlock::Head(_)),
            PageBlock::Body(item) => self.stands_at(item),
            PageBlock::Asked(..) | PageBlock::Whole => false,
            PageBlock::Answered(ask, item) => self.just_asked(ask) || self.stands_under(item),
            PageBlock::Remark => last == PageBlock::Remark,
        }
    }
}

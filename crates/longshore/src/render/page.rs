//! What stands where: blocks with an empty line between them, except where they belong together.

use longshore_model::id::{ApprovalId, ItemId, QuestionId};

use super::line::{Line, print};
use super::style::Style;

/// The item that a block tells of, if it has one.
pub(super) type Item = Option<ItemId>;

/// Whose words a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    Message,
    Thought,
    Plan,
}

/// What blocks the agent until somebody answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    Approval(ApprovalId),
    Question(QuestionId),
}

/// What was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// A text that may go on.
    Prose(Voice, Item),
    /// The head of a card.
    Head(Item),
    /// What belongs under the head.
    Body(Item),
    /// A question, and the item that waits for its answer.
    Asked(Ask, Item),
    /// Its answer.
    Answered(Ask, Item),
    /// A line by the way.
    Remark,
    /// A block of its own.
    Whole,
}

impl Block {
    fn item(self) -> Item {
        match self {
            Block::Prose(_, item)
            | Block::Head(item)
            | Block::Body(item)
            | Block::Asked(_, item)
            | Block::Answered(_, item) => item,
            Block::Remark | Block::Whole => None,
        }
    }
}

/// What was printed so far, as far as the next block cares.
#[derive(Debug, Default)]
pub(super) struct Page {
    last: Option<Block>,
}

impl Page {
    /// Whether the last block told of this item, so that its name need not be said again.
    pub(super) fn stands_at(&self, item: Item) -> bool {
        item.is_some() && self.last.is_some_and(|last| last.item() == item)
    }

    /// Whether this is what was printed last.
    pub(super) fn ends_with(&self, block: Block) -> bool {
        self.last == Some(block)
    }

    /// Whether this was asked right above.
    pub(super) fn just_asked(&self, ask: Ask) -> bool {
        matches!(self.last, Some(Block::Asked(last, _)) if last == ask)
    }

    /// Whether the card of this item stands right above.
    pub(super) fn stands_under(&self, item: Item) -> bool {
        item.is_some() && matches!(self.last, Some(Block::Head(last) | Block::Body(last)) if last == item)
    }

    /// Whether the last thing said was the answer to what this item waited for.
    pub(super) fn just_answered(&self, item: Item) -> bool {
        item.is_some() && matches!(self.last, Some(Block::Answered(_, last)) if last == item)
    }

    /// Prints the head of a card a second time, apart from the heads of cards that are still open.
    pub(super) fn put_again(&mut self, item: Item, lines: Vec<Line>, style: &Style) -> String {
        let printed = self.put(Block::Whole, lines, style);
        self.last = Some(Block::Head(item));
        printed
    }

    /// Prints a block.
    pub(super) fn put(&mut self, block: Block, lines: Vec<Line>, style: &Style) -> String {
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

    fn closes_up(&self, last: Block, next: Block) -> bool {
        match next {
            Block::Prose(..) => last == next,
            Block::Head(_) => matches!(last, Block::Head(_)),
            Block::Body(item) => self.stands_at(item),
            Block::Asked(..) | Block::Whole => false,
            Block::Answered(ask, item) => self.just_asked(ask) || self.stands_under(item),
            Block::Remark => last == Block::Remark,
        }
    }
}

//! Sessions on a terminal: events as they stream, questions to answer, lists to read.
//!
//! Pure functions of data: no clock, no terminal, no files. The caller knows the terminal and describes it in a
//! [`Style`]. The caller prints the returned text, and draws [`Renderer::status`] below it while something runs.
//!
//! All foreign text passes [`clean`](clean::clean) or [`reveal`](clean::reveal) into spans that cannot hold a control
//! character, so no agent can control the terminal.
//!
//! | module | holds |
//! |---|---|
//! | `renderer`, `order`, `page`, `status` | events to text, order and layout, the live line |
//! | `prose`, `blocks`, `inline`, `markdown`, `grid`, `code` | messages of agents, block by block while they grow |
//! | `fold`, `tool`, `diff`, `plan`, `footer`, `lifecycle` | work of agents, and how it ended |
//! | `ask`, `question` | requests of agents to a person, and the parsed answer |
//! | `sessions`, `inbox`, `agents`, `devices`, `usage`, `search`, `columns` | lists |
//! | `rows`, `line`, `wrap`, `style`, [`clean`], [`human`] | the building blocks |

#![deny(clippy::wildcard_enum_match_arm)]

mod agents;
mod ask;
mod blocks;
pub mod clean;
mod code;
mod columns;
mod devices;
mod diff;
mod fold;
mod footer;
mod grid;
pub mod human;
mod inbox;
mod inline;
mod lifecycle;
mod line;
mod markdown;
mod order;
mod page;
mod plan;
mod prose;
mod question;
mod renderer;
mod rows;
mod search;
mod sessions;
mod status;
mod style;
#[cfg(test)]
mod tests;
mod tool;
mod usage;
mod wrap;

pub use agents::{AgentStanding, agents_table, agents_tsv};
pub use ask::{approval_brief, approval_prompt, keys, parse_decision};
pub use devices::{devices_table, devices_tsv};
pub use inbox::{WaitingList, inbox_table, inbox_tsv};
pub use order::InOrder;
pub use question::{BadAnswer, field_prompt, parse_answer, question_prompt};
pub use renderer::Renderer;
pub use rows::{dimmed, fitted, remark, wanted};
pub use search::{Hit, search_hits};
pub use sessions::{held, session_detail, sessions_table, sessions_tsv, state_word};
pub use status::SPINNER_PACE;
pub use style::{Show, Style};
pub use usage::{usage_table, usage_tsv};

//! What `longshore demo` plays, where it plays it, and the recording of what a terminal showed.
//!
//! | module | holds |
//! |---|---|
//! | [`story`] | the sessions and the model's texts, as data: `story.json` |
//! | [`folder`] | the private folder with the projects: `projects/` |
//! | [`cast`] | recordings of a terminal |

pub mod cast;
pub mod folder;
pub mod story;

pub use cast::Cast;
pub use folder::DemoFolder;
pub use story::{Stands, Story, StorySession};

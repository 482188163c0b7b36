//! OpenCode, which is asked for its conversations.

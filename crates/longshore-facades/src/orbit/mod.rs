//! The protocol of Codex Pocket, so that its web app works with every agent.

pub(crate) mod http;

use crate::facade::Facade;

/// Codex Pocket.
pub(crate) const FACADE: Facade =
    Facade { name: "orbit", private: http::private, open: http::open, problem: http::in_its_form };

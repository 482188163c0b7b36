//! longshore-session

//! longshore-log

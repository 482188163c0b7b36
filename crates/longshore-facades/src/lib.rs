//! longshore-facades

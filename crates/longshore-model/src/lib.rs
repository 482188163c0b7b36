//! longshore-model

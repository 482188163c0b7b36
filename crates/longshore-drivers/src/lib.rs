//! longshore-drivers

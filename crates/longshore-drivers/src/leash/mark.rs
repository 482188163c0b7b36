//! The mark that a process and all its descendants carry in their environment.

use std::sync::{Arc, OnceLock};

/// The variable with the mark. Its name does not begin with `LONGSHORE_`, because agents do not inherit such
/// variables.
pub(crate) const VARIABLE: &str = "LEASH_OF_LONGSHORE";

/// The names of leashes, the outermost first: the leash of the hub's run, of the agent, of a command for the
/// agent. Nobody can guess a name, so every process that carries it belongs to the leash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mark(Arc<str>);

impl Mark {
    /// The mark of everything that this process starts. If this process is itself on a leash, the mark
    /// includes that leash.
    pub fn of_this_process() -> &'static Mark {
        static RUN: OnceLock<Mark> = OnceLock::new();
        RUN.get_or_init(|| match std::env::var(VARIABLE) {
            Ok(outer) if !outer.is_empty() => Mark(outer.into()).under(),
            Ok(_) | Err(_) => Mark(name().into()),
        })
    }

    /// A new mark within this mark.
    pub fn under(&self) -> Mark {
        Mark(format!("{}:{}", self.0, name()).into())
    }

    /// A mark of which only the name is known.
    #[cfg(target_os = "linux")]
    pub(super) fn named(name: &str) -> Mark {
        Mark(name.into())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The unique name of this mark.
    pub(super) fn name(&self) -> &str {
        self.0.rsplit_once(':').map_or(&*self.0, |(_, name)| name)
    }

    /// Whether a process that carries this text belongs to the mark.
    #[cfg(target_os = "linux")]
    pub(super) fn holds(&self, carried: &str) -> bool {
        carried.split(':').any(|name| name == self.name())
    }
}

/// Sixteen new random bytes. If the system has none, the name is made from the pid and a counter.
fn name() -> String {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        bytes[..8].copy_from_slice(&count.to_be_bytes());
        bytes[8..12].copy_from_slice(&std::process::id().to_be_bytes());
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_below_a_mark_belongs_to_it_and_nobody_else() {
        let hub = Mark(name().into());
        let (agent, other) = (hub.under(), hub.under());
        let command = agent.under();
        assert!(hub.holds(command.as_str()) && agent.holds(command.as_str()));
        assert!(command.holds(command.as_str()) && !command.holds(agent.as_str()));
        assert!(!other.holds(command.as_str()) && !hub.holds(""));
    }
}

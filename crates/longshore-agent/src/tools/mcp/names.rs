//! Names of tools that every model API accepts.

use std::collections::BTreeMap;

use super::Target;

/// The maximal length of a name.
const LIMIT: usize = 64;

/// The tools by their names.
#[derive(Debug, Default)]
pub(super) struct ToolNames {
    known: BTreeMap<String, Target>,
}

impl ToolNames {
    /// Gives a tool a name: `server__tool`, of letters, digits, `_` and `-`.
    pub(super) fn add(&mut self, target: Target) -> String {
        let plain = |text: &str| -> String {
            text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
        };
        let wanted = format!("{}__{}", plain(&target.server), plain(&target.tool));
        let name = match wanted.len() > LIMIT || self.known.contains_key(&wanted) {
            true => self.marked(&wanted, &target),
            false => wanted,
        };
        self.known.insert(name.clone(), target);
        name
    }

    /// A name for a tool whose usual name is too long or taken. It ends with a mark that depends on the tool only, so
    /// the name stays the same.
    fn marked(&self, wanted: &str, target: &Target) -> String {
        let mut mark = 0xcbf2_9ce4_8422_2325_u64;
        loop {
            for byte in target.name().bytes() {
                mark = (mark ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
            let mark = format!("_{:08x}", mark >> 32);
            let kept: String = wanted.chars().take(LIMIT - mark.len()).collect();
            let name = format!("{kept}{mark}");
            if !self.known.contains_key(&name) {
                return name;
            }
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Target> {
        self.known.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(server: &str, tool: &str) -> Target {
        Target { server: server.to_owned(), tool: tool.to_owned() }
    }

    #[test]
    fn every_tool_has_a_name_of_its_own_that_apis_take() {
        let long = "x".repeat(80);
        let targets = [
            target("files", "read"),
            target("my server", "do.it"),
            target("my.server", "do/it"),
            target("files", &long),
            target("files", &format!("{long}y")),
        ];
        let mut names = ToolNames::default();
        let given: Vec<String> = targets.iter().map(|target| names.add(target.clone())).collect();
        assert_eq!(given[..2], ["files__read", "my_server__do_it"]);
        for (name, target) in given.iter().zip(&targets) {
            assert!(name.len() <= LIMIT, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)), "{name}");
            assert_eq!(names.find(name), Some(target));
        }
    }
}

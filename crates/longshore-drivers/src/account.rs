//! Whether a person is logged in to an agent, according to its files and the environment. No agent starts for
//! this.

use crate::discover::Surroundings;

/// Where an agent keeps its login.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Variables that count as a login: keys.
    pub variables: &'static [&'static str],
    /// The variable that names the agent's home, and the default below the person's home folder.
    pub home: (&'static str, &'static str),
    /// Files in the home. Any of them means a login.
    pub files: &'static [&'static str],
    /// A file in the home and a text in it. With this text, the agent needs no login, because the person uses
    /// another model.
    pub without: Option<(&'static str, &'static str)>,
}

impl Account {
    /// Whether a person is logged in. None if only the running agent knows it.
    pub fn logged_in(&self, around: &Surroundings) -> Option<bool> {
        if self.variables.iter().any(|name| around.var(name).is_some()) {
            return Some(true);
        }
        let (variable, usual) = self.home;
        let set = around.var(variable).map(std::path::PathBuf::from);
        let home = set.or_else(|| Some(around.home()?.join(usual)))?;
        if self.files.iter().any(|file| home.join(file).is_file()) {
            return Some(true);
        }
        let needs_none = self.without.is_some_and(|(file, words)| {
            std::fs::read_to_string(home.join(file)).is_ok_and(|text| text.contains(words))
        });
        // On macOS, the login may be in the keychain.
        (!needs_none && !cfg!(target_os = "macos")).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_files_are_logins_and_own_models_need_none() {
        let folder = tempfile::tempdir().unwrap();
        let account = Account {
            variables: &["THE_KEY"],
            home: ("THE_HOME", ".agent"),
            files: &["auth.json"],
            without: Some(("config.toml", "model_provider")),
        };
        let around = Surroundings::of([("HOME", folder.path())]);
        let home = folder.path().join(".agent");
        std::fs::create_dir(&home).unwrap();
        assert_eq!(account.logged_in(&around), Some(false));
        assert_eq!(account.logged_in(&Surroundings::of([("THE_KEY", "k")])), Some(true));
        assert_eq!(account.logged_in(&Surroundings::of([("PATH", "/bin")])), None, "nobody's folder");
        std::fs::write(home.join("config.toml"), "model_provider = \"mine\"").unwrap();
        assert_eq!(account.logged_in(&around), None);
        std::fs::write(home.join("auth.json"), "{}").unwrap();
        assert_eq!(account.logged_in(&around), Some(true));
        let elsewhere =
            Surroundings::of([("HOME", folder.path()), ("THE_HOME", std::path::Path::new("/nowhere"))]);
        assert_eq!(account.logged_in(&elsewhere), Some(false));
    }
}

//! Whether somebody is logged in to an agent, as far as its files and the environment tell. No agent is started for it.

use crate::discover::Surroundings;

/// Where an agent keeps who is logged in.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Variables that are as good as a login: keys.
    pub variables: &'static [&'static str],
    /// The variable that says where the agent keeps everything, and where it does otherwise, below the person's folder.
    pub home: (&'static str, &'static str),
    /// Files there, any of which is a login.
    pub files: &'static [&'static str],
    /// A file there, and words in it, with which it is asked for no login: a model of the person's own.
    pub without: Option<(&'static str, &'static str)>,
}

impl Account {
    /// Whether somebody is logged in; none when that cannot be told from outside.
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
        // Where there is a keychain, it may be in there.
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

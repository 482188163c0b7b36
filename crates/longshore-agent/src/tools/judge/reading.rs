//! The commands that only read, and the options with which they would do more.

/// The arguments with which a program still only reads.
struct Reads {
    program: &'static str,
    /// Letters of short options with which it does more, alone or in a cluster.
    letters: &'static str,
    /// Long options with which it does more; the model may abbreviate them. Also options of one dash and several
    /// letters.
    options: &'static [&'static str],
    /// How many operands it may have. It would write to a further one.
    operands: usize,
}

const fn reads(program: &'static str) -> Reads {
    Reads { program, letters: "", options: &[], operands: usize::MAX }
}

const fn but(program: &'static str, letters: &'static str, options: &'static [&'static str]) -> Reads {
    Reads { program, letters, options, operands: usize::MAX }
}

/// Programs that walk folders may not follow links, which could lead out of the work tree.
const PROGRAMS: [Reads; 41] = [
    reads("basename"),
    reads("cat"),
    reads("cksum"),
    reads("cmp"),
    reads("column"),
    reads("comm"),
    reads("cut"),
    but("date", "sf", &["--set", "--file"]),
    but("diff", "r", &["--recursive"]),
    reads("dirname"),
    but("du", "LD", &["--dereference", "--files0-from"]),
    reads("echo"),
    but("egrep", "Rf", &["--dereference-recursive", "--file"]),
    reads("false"),
    but("fgrep", "Rf", &["--dereference-recursive", "--file"]),
    but("file", "Cf", &["--compile", "--files-from"]),
    but(
        "find",
        "LH",
        &[
            "-exec",
            "-execdir",
            "-ok",
            "-okdir",
            "-delete",
            "-fls",
            "-fprint",
            "-fprint0",
            "-fprintf",
            "-follow",
            "-files0-from",
        ],
    ),
    but("grep", "Rf", &["--dereference-recursive", "--file"]),
    reads("head"),
    reads("id"),
    but("ls", "LH", &["--dereference"]),
    reads("md5sum"),
    reads("nl"),
    reads("od"),
    reads("pwd"),
    reads("readlink"),
    reads("realpath"),
    but("rg", "Lzf", &["--pre", "--follow", "--search-zip", "--hostname-bin", "--file"]),
    reads("seq"),
    reads("sha1sum"),
    reads("sha256sum"),
    but("sort", "oT", &["--output", "--compress-program", "--files0-from", "--temporary-directory"]),
    reads("stat"),
    // A `tail` that follows its file does not end.
    but("tail", "fF", &["--follow", "--retry"]),
    reads("tr"),
    but("tree", "oRl", &["--output", "--fromfile"]),
    reads("true"),
    reads("uname"),
    Reads { program: "uniq", letters: "", options: &[], operands: 1 },
    but("wc", "", &["--files0-from"]),
    reads("which"),
];

/// The commands of git that only read, and the options with which they would do more.
const GIT: [(&str, &[&str]); 16] = [
    ("blame", &["--contents"]),
    ("cat-file", &["--textconv", "--filters"]),
    ("describe", &["--dirty", "--broken"]),
    ("diff", &["--output", "--ext-diff", "--textconv", "--no-index", "--remerge-diff"]),
    ("grep", &["--open-files-in-pager", "--no-index", "--textconv", "--ext-grep"]),
    ("log", &["--output", "--ext-diff", "--textconv", "--remerge-diff", "--show-signature"]),
    ("ls-files", &[]),
    ("ls-tree", &[]),
    ("merge-base", &[]),
    ("name-rev", &[]),
    ("reflog", &["--output", "--ext-diff", "--textconv"]),
    ("rev-list", &[]),
    ("rev-parse", &[]),
    ("shortlog", &["--output"]),
    ("show", &["--output", "--ext-diff", "--textconv", "--remerge-diff", "--show-signature"]),
    ("status", &[]),
];

/// Options that start another git in submodules, which have other settings.
const SUBMODULES: [&str; 3] = ["--ignore-submodules", "--submodule", "--recurse-submodules"];

/// Whether a command only reads. This does not say where it reads.
pub(super) fn only_reads(words: &[String]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    if rest == ["--version"] || rest == ["-V"] {
        return ["cargo", "rustc", "node", "npm", "python", "python3", "go", "git", "make", "gcc"]
            .contains(&program.as_str());
    }
    match program.as_str() {
        "git" => git_reads(rest),
        "sed" => sed_reads(rest),
        name => PROGRAMS.iter().find(|reads| reads.program == name).is_some_and(|reads| reads.allows(rest)),
    }
}

impl Reads {
    fn allows(&self, words: &[String]) -> bool {
        let operands = words.iter().filter(|word| !word.starts_with('-') || *word == "-").count();
        operands <= self.operands && !words.iter().any(|word| self.forbids(word))
    }

    fn forbids(&self, word: &str) -> bool {
        if self.options.iter().any(|option| names(word, option)) {
            return true;
        }
        match word.strip_prefix('-') {
            // The options of `find` have one dash and several letters; they are no clusters.
            Some(letters) if self.program == "find" => self.letters.contains(letters) && letters.len() == 1,
            Some(letters) if !letters.starts_with('-') => letters.contains(|c| self.letters.contains(c)),
            Some(_) | None => false,
        }
    }
}

/// Whether a word is this option, complete or abbreviated, with or without a value.
fn names(word: &str, option: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    match option.starts_with("--") {
        true => name.len() > 2 && option.starts_with(name) || name.starts_with(option),
        false => name == option,
    }
}

fn git_reads(words: &[String]) -> bool {
    let words = words.strip_prefix(&["--no-pager".to_owned()]).unwrap_or(words);
    let Some((verb, rest)) = words.split_first() else { return false };
    let only = |allowed: &[&str]| rest.iter().all(|word| allowed.contains(&word.as_str()));
    match verb.as_str() {
        "branch" => only(&["-a", "-r", "-v", "-vv", "--all", "--list", "--show-current", "--verbose"]),
        "remote" => only(&["-v", "--verbose"]),
        "tag" => only(&["-l", "--list"]),
        "stash" => rest == ["list"],
        // These commands delete old entries.
        "reflog" if rest.iter().any(|word| ["expire", "delete", "drop"].contains(&word.as_str())) => false,
        verb => GIT.iter().find(|(name, _)| *name == verb).is_some_and(|(_, options)| {
            let forbidden = |word: &String| {
                let pager = verb == "grep" && word.starts_with("-O");
                pager || options.iter().chain(&SUBMODULES).any(|option| names(word, option))
            };
            !rest.iter().any(forbidden)
        }),
    }
}

/// Commands of git that show differences, or that do so with an option.
const DIFFERENCES: [&str; 6] = ["diff", "log", "reflog", "show", "stash", "blame"];
/// Commands of git that change its settings or make a repository, and run no hooks.
const SETTING: [&str; 8] =
    ["branch", "clone", "config", "init", "remote", "sparse-checkout", "submodule", "worktree"];

/// Whether a command makes git show differences. A repository can name a program for this.
pub(super) fn shows_differences(words: &[String]) -> bool {
    git_verb(words).is_some_and(|verb| DIFFERENCES.contains(&verb))
}

/// Whether a command makes git change its settings.
pub(super) fn sets_git(words: &[String]) -> bool {
    git_verb(words).is_some_and(|verb| SETTING.contains(&verb))
}

/// The command of git in these words.
fn git_verb(words: &[String]) -> Option<&str> {
    let (program, mut rest) = words.split_first()?;
    loop {
        rest = match rest.split_first()? {
            (option, more) if ["-c", "-C", "--git-dir", "--work-tree"].contains(&option.as_str()) => {
                more.get(1..)?
            }
            (option, more) if option.starts_with('-') => more,
            (verb, _) => return (program == "git").then_some(verb),
        };
    }
}

/// `sed -n 10,20p FILES` shows lines; nothing else of it is looked into.
fn sed_reads(words: &[String]) -> bool {
    let [flag, script, files @ ..] = words else { return false };
    let lines = script.strip_suffix('p').unwrap_or("x");
    let is_number =
        |text: &str| text == "$" || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (first, last) = lines.split_once(',').unwrap_or((lines, "1"));
    flag == "-n" && is_number(first) && is_number(last) && !files.iter().any(|file| file.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::super::shell_lexer::commands;
    use super::*;

    fn all_read(line: &str) -> bool {
        commands(line).is_some_and(|all| all.iter().all(|command| only_reads(&command.words)))
    }

    #[test]
    fn commands_that_only_read_are_known() {
        for line in [
            "ls -la src",
            "cat a b",
            "head -20 a | wc -l",
            "rg -n 'fn main' src && git status --short",
            "git --no-pager log --oneline -5",
            "git diff HEAD~1 -- src",
            "git branch --show-current",
            "find . -name main.rs -type f",
            "sed -n 10,20p a",
            "sed -n '5,$p' a",
            "sort -u a | uniq -c",
            "cargo --version",
            "grep -rn x .",
        ] {
            assert!(all_read(line), "{line}");
        }
    }

    #[test]
    fn options_that_do_more_are_seen() {
        for line in [
            "rm a",
            "cargo test",
            "ls; rm a",
            "ls && rm a",
            "ls | tee a",
            "cat a | sh",
            "xargs rm",
            "find . -delete",
            "find . -name a -exec rm a +",
            "find . -fprint a",
            "find -L .",
            "sort -o a b",
            "sort -uo a b",
            "sort -oa b",
            "sort --output=a b",
            "sort --out=a b",
            "sort --compress-program=sh a",
            "uniq a b",
            "sed -i s/a/b/ c",
            "sed -n 1w\\ a b",
            "sed -n 1,2p -i a",
            "sed p a",
            "git push",
            "git -c core.pager=sh log",
            "git -C /elsewhere log",
            "git diff --output=a",
            "git diff --outp=a",
            "git diff --ext-diff",
            "git diff --no-index a b",
            "git grep -Osh x",
            "git branch new",
            "git branch -D old",
            "git tag v1",
            "git stash",
            "git reflog expire --all",
            "git remote add a b",
            "rg --pre sh x",
            "rg --pre=sh x",
            "rg -L x",
            "grep -Rn x .",
            "date -s tomorrow",
            "tree -o a",
            "./ls",
            "env ls",
            "sudo ls",
            "cargo --version --config a",
            "tail -f a",
            "tail -n5 -F a",
            "tail --follow=name a",
            "ls -lL a",
            "ls --dereference a",
            "git log --show-signature",
            "git show --remerge-diff",
            "git status --ignore-submodules=none",
            "git diff --submodule=diff",
            "git grep --recurse-submodules x",
            "git describe --dirty",
        ] {
            assert!(!all_read(line), "{line}");
        }
    }
}

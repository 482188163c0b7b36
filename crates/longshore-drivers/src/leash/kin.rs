//! The parents and children of processes, as `/proc` shows them.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::Read;

use super::mark::{Mark, VARIABLE};

/// The pid of a process and its start time, in ticks since the machine started. The system uses a pid again,
/// but never both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ProcessKey {
    pub(super) pid: i32,
    pub(super) start: u64,
}

/// A process at the time of a look.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessEntry {
    pub(super) who: ProcessKey,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Whether the process has ended and was not reaped.
    pub(super) ended: bool,
}

/// More bytes than a line of `/proc/PID/stat` has: fifty numbers and a name of sixteen bytes.
const STAT: usize = 2 * 1024;

/// All visible processes.
pub(super) fn all() -> Vec<ProcessEntry> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(look).collect()
}

/// One process. None if it is gone.
pub(super) fn look(pid: i32) -> Option<ProcessEntry> {
    // One read gets the whole line. The system reports size zero for the file, so a growing buffer would need
    // five reads.
    let mut line = [0; STAT];
    let length = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut line).ok()?;
    parse(pid, &String::from_utf8_lossy(line.get(..length)?))
}

/// Parses a line of `/proc/PID/stat`. The name of the program, in brackets, may contain anything.
fn parse(pid: i32, stat: &str) -> Option<ProcessEntry> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse().ok();
    Some(ProcessEntry {
        who: ProcessKey { pid, start: fields.get(19)?.parse().ok()? },
        parent: number(1)?,
        group: number(2)?,
        session: number(3)?,
        ended: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// The mark in the environment of a process.
pub(super) fn carried(pid: i32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    marked(&environment).map(str::to_owned)
}

fn marked(environment: &[u8]) -> Option<&str> {
    let value = |one: &'_ [u8]| -> Option<usize> {
        let rest = one.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        Some(one.len() - rest.len())
    };
    let found = environment.split(|byte| *byte == 0).find_map(|one| one.get(value(one)?..))?;
    std::str::from_utf8(found).ok()
}

/// The descendants of these processes, without the processes themselves.
pub(super) fn below(above: impl IntoIterator<Item = i32>, all: &[ProcessEntry]) -> HashSet<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for seen in all {
        children.entry(seen.parent).or_default().push(seen.who.pid);
    }
    let mut found = HashSet::new();
    let mut waiting: Vec<i32> = above.into_iter().collect();
    while let Some(parent) = waiting.pop() {
        for child in children.get(&parent).into_iter().flatten() {
            if found.insert(*child) {
                waiting.push(*child);
            }
        }
    }
    found
}

/// The processes that belong to a mark: the processes of `among` that carry it or are in `known`, the members
/// of the groups and sessions that these lead, and all descendants. This process and its ancestors are never
/// included.
pub(super) fn of(
    mark: &Mark,
    known: &HashSet<ProcessKey>,
    among: &[ProcessEntry],
    all: &[ProcessEntry],
) -> Vec<ProcessEntry> {
    let above = ancestors(all);
    let mut found: HashSet<i32> = among
        .iter()
        .filter(|seen| !above.contains(&seen.who.pid))
        .filter(|seen| {
            known.contains(&seen.who) || carried(seen.who.pid).is_some_and(|carried| mark.holds(&carried))
        })
        .map(|seen| seen.who.pid)
        .collect();
    let led = |seen: &&ProcessEntry| found.contains(&seen.group) || found.contains(&seen.session);
    let led: Vec<i32> = among.iter().filter(led).map(|seen| seen.who.pid).collect();
    found.extend(led);
    found.extend(below(found.clone(), all));
    all.iter()
        .filter(|seen| found.contains(&seen.who.pid) && !above.contains(&seen.who.pid) && !seen.ended)
        .copied()
        .collect()
}

/// This process and its ancestors.
fn ancestors(all: &[ProcessEntry]) -> HashSet<i32> {
    let parents: HashMap<i32, i32> = all.iter().map(|seen| (seen.who.pid, seen.parent)).collect();
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let mut above = HashSet::from([own]);
    let mut at = own;
    while let Some(parent) = parents.get(&at).filter(|parent| above.insert(**parent)) {
        at = *parent;
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_be_called_anything() {
        let stat = "7 (a) S 9 (z)) S 3 4 5 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 4711 99 1";
        let seen = parse(7, stat).unwrap();
        assert_eq!((seen.parent, seen.group, seen.session, seen.who.start), (3, 4, 5, 4711));
        assert!(!seen.ended && parse(7, "7 (a) Z").is_none());
    }

    #[test]
    fn a_mark_is_read_from_among_other_variables() {
        assert_eq!(marked(b"A=b\0LEASH_OF_LONGSHORE=x:y\0C=d\0"), Some("x:y"));
        assert_eq!(marked(b"NO_LEASH_OF_LONGSHORE=x\0LEASH_OF_LONGSHOREMEN=z\0"), None);
    }

    #[test]
    fn this_process_and_those_above_it_are_nobodys_kin() {
        let all = all();
        let own = i32::try_from(std::process::id()).unwrap();
        let me = *all.iter().find(|seen| seen.who.pid == own).unwrap();
        let mark = Mark::of_this_process().under();
        assert!(of(&mark, &HashSet::from([me.who]), &all, &all).iter().all(|seen| seen.who != me.who));
    }
}

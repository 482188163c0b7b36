//! Remembers which processes were once on a leash.
//!
//! A process that leaves its group, its parent and its environment looks unrelated. But it began as a
//! descendant, and this module remembers every process that it once saw below a leash. If a process left
//! before anybody saw it, it has become a child of the hub. If there is only one leash that can have started
//! it, it belongs to that leash. In any case it belongs to this run of the hub, and is recorded for the next
//! run.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::kin::{self, ProcessEntry, ProcessKey};
use super::mark::Mark;

/// The memory. The bell wakes the watcher when the memory has changed.
pub(super) static MEMORY: Mutex<LeashMemory> = Mutex::new(LeashMemory::new());
static BELL: Condvar = Condvar::new();

/// How often the watcher looks while there is a leash, and how often shortly after the end of one.
const EVERY: Duration = Duration::from_secs(10);
const SOON: Duration = Duration::from_secs(1);
/// How long a starter may take to claim its process, which may have ended before that.
const SAYS_SO_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct LeashMemory {
    live: Vec<LeashEntry>,
    /// The marks of processes that do not carry their mark.
    seen: Option<HashMap<ProcessKey, String>>,
    /// When each start began whose leader is not known yet, in ticks since the machine started.
    starts: Vec<u64>,
    /// The processes that the hub itself started, until they are gone. Their starters reap them.
    ours: Vec<ProcessKey>,
    /// Children that have ended and were not reaped, and since when that is known.
    ended: Vec<(ProcessKey, Instant)>,
    /// How many of the next looks come soon.
    hurry: u8,
    record: Option<PathBuf>,
    written: Vec<ProcessKey>,
}

#[derive(Debug)]
struct LeashEntry {
    mark: Mark,
    leader: ProcessKey,
    cwd: Option<PathBuf>,
}

pub(super) fn memory() -> MutexGuard<'static, LeashMemory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The start of a program, until its leader is known or the start has failed.
#[derive(Debug)]
pub(super) struct ProgramStart {
    /// In ticks since the machine started. The process cannot be older.
    since: u64,
}

impl ProgramStart {
    pub(super) fn begin() -> Self {
        let mut memory = memory();
        let since = now();
        memory.starts.push(since);
        Self { since }
    }
}

impl Drop for ProgramStart {
    fn drop(&mut self) {
        let mut memory = memory();
        if let Some(at) = memory.starts.iter().position(|since| *since == self.since) {
            memory.starts.swap_remove(at);
        }
    }
}

/// The current time in the system's ticks for process starts: hundredths of a second since the machine
/// started.
fn now() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let hundredths = uptime.split(' ').next().unwrap_or_default().replace('.', "");
    hundredths.parse().unwrap_or_default()
}

/// Notes that a process is on a leash from now on.
pub(super) fn begins(mark: &Mark, pid: i32) {
    let Some(seen) = kin::look(pid) else { return };
    let cwd = fs::read_link(format!("/proc/{pid}/cwd")).ok();
    let mut memory = memory();
    memory.ours.push(seen.who);
    memory.live.push(LeashEntry { mark: mark.clone(), leader: seen.who, cwd });
    if memory.live.len() == 1 {
        BELL.notify_all();
    }
}

/// Notes that the leader of a leash was reaped.
pub(super) fn ends(mark: &Mark) {
    let mut memory = memory();
    memory.live.retain(|live| live.mark != *mark);
    memory.hurry = 3;
    BELL.notify_all();
}

/// Sets the file for the record of processes that carry no mark.
pub(super) fn write_to(record: PathBuf) {
    let mut memory = memory();
    memory.record = Some(record);
    BELL.notify_all();
}

/// Waits until it is time for the next look.
pub(super) fn wait() {
    let mut memory = memory();
    let pause = if memory.hurry > 0 || !memory.ended.is_empty() { SOON } else { EVERY };
    memory.hurry = memory.hurry.saturating_sub(1);
    if memory.live.is_empty() && memory.ended.is_empty() && pause == EVERY {
        let memory = BELL.wait(memory).unwrap_or_else(PoisonError::into_inner);
        // A new leash has no descendants yet, and a person waits for its start. A look at all processes would
        // only slow the start down.
        drop(BELL.wait_timeout(memory, SOON));
    } else {
        drop(BELL.wait_timeout(memory, pause));
    }
}

impl LeashMemory {
    const fn new() -> Self {
        Self {
            live: Vec::new(),
            seen: None,
            starts: Vec::new(),
            ours: Vec::new(),
            ended: Vec::new(),
            hurry: 0,
            record: None,
            written: Vec::new(),
        }
    }

    fn leads(&self, who: ProcessKey) -> bool {
        self.live.iter().any(|live| live.leader == who)
    }

    /// The known processes that belong to a mark without carrying it.
    pub(super) fn known(&self, mark: &Mark, all: &[ProcessEntry]) -> HashSet<ProcessKey> {
        let seen = self.seen.iter().flatten();
        let leaders = self.live.iter().map(|live| (&live.leader, live.mark.as_str()));
        let remembered = seen.map(|(who, carried)| (who, carried.as_str())).chain(leaders);
        let mut known: HashSet<ProcessKey> =
            remembered.filter(|(_, carried)| mark.holds(carried)).map(|(who, _)| *who).collect();
        known
            .extend(self.strays(all).filter(|stray| self.can_only_be_of(mark, stray)).map(|stray| stray.who));
        known
    }

    /// The same for a mark that holds everything that still runs. Processes of unknown origin belong to it
    /// too.
    pub(super) fn known_at_last(&self, mark: &Mark, all: &[ProcessEntry]) -> HashSet<ProcessKey> {
        let mut known = self.known(mark, all);
        if self.live.iter().all(|live| mark.holds(live.mark.as_str())) {
            known.extend(self.strays(all).map(|stray| stray.who));
        }
        known
    }

    /// Children of this process that other processes started and nobody knows. While the hub starts a
    /// program, the new process carries no mark until it executes the program, and that may happen during the
    /// look. So a process that is younger than a running start does not count as a stray.
    fn strays<'a>(&'a self, all: &'a [ProcessEntry]) -> impl Iterator<Item = &'a ProcessEntry> {
        let own = own_group(all);
        let being_started = self.starts.iter().min().copied().unwrap_or(u64::MAX);
        all.iter().filter(move |seen| {
            // In a container, the orphans of all processes become children of the first process.
            own.is_some_and(|(pid, group)| pid != 1 && seen.parent == pid && seen.group != group)
                && seen.who.start < being_started
                && !self.leads(seen.who)
                && self.seen.as_ref().is_none_or(|known| !known.contains_key(&seen.who))
                && kin::carried(seen.who.pid).is_none()
                && !is_this_program(seen.who.pid)
        })
    }

    fn can_only_be_of(&self, mark: &Mark, stray: &ProcessEntry) -> bool {
        let older: Vec<&LeashEntry> =
            self.live.iter().filter(|live| live.leader.start <= stray.who.start).collect();
        let only = |those: &[&LeashEntry]| {
            !those.is_empty() && those.iter().all(|live| mark.holds(live.mark.as_str()))
        };
        if only(&older) {
            return true;
        }
        let Ok(cwd) = fs::read_link(format!("/proc/{}/cwd", stray.who.pid)) else { return false };
        let near = |live: &&LeashEntry| live.cwd.as_ref().is_some_and(|of| cwd.starts_with(of));
        only(&older.into_iter().filter(near).collect::<Vec<_>>())
    }

    /// Remembers which processes belong to which leash. Returns the children to reap: processes that the hub
    /// did not start itself, and that ended a while ago. The starters of the hub's own processes reap them.
    pub(super) fn look_around(&mut self, all: &[ProcessEntry]) -> Vec<ProcessKey> {
        let Some((own, group)) = own_group(all) else { return Vec::new() };
        let by_pid: HashMap<i32, &ProcessEntry> = all.iter().map(|seen| (seen.who.pid, seen)).collect();
        let before = self.seen.take().unwrap_or_default();
        let mut marks: HashMap<i32, Option<String>> = HashMap::from([(own, None)]);
        let mut seen = HashMap::new();
        for pid in kin::below([own], all) {
            // The chain of ancestors, read downwards from the first known one.
            let mut line = vec![pid];
            while let Some(parent) = line.last().and_then(|pid| by_pid.get(pid)).map(|seen| seen.parent) {
                if marks.contains_key(&parent) || !by_pid.contains_key(&parent) {
                    break;
                }
                line.push(parent);
            }
            for pid in line.into_iter().rev().filter_map(|pid| by_pid.get(&pid)) {
                let who = pid.who;
                let carried = kin::carried(who.pid);
                let unmarked = carried.is_none();
                let mark = carried
                    .or_else(|| {
                        self.live
                            .iter()
                            .find(|live| live.leader == who)
                            .map(|live| live.mark.as_str().to_owned())
                    })
                    .or_else(|| before.get(&who).cloned())
                    .or_else(|| marks.get(&pid.parent).cloned().flatten());
                if let (true, Some(mark)) = (unmarked && !pid.ended, &mark) {
                    seen.insert(who, mark.clone());
                }
                marks.insert(who.pid, mark);
            }
        }
        self.seen = Some(seen);
        // A process that began after the look is not in `all`.
        let live = &self.live;
        self.ours.retain(|who| {
            live.iter().any(|live| live.leader == *who)
                || by_pid.get(&who.pid).is_some_and(|seen| seen.who == *who)
        });
        // The waiter for a leader first examines the rest of the leader's group.
        let is_looked_at = |seen: &ProcessEntry| {
            let leader = by_pid.get(&seen.group).filter(|leader| leader.ended);
            leader.is_some_and(|leader| self.live.iter().any(|live| live.leader == leader.who))
        };
        let foreign = |seen: &&ProcessEntry| {
            seen.ended
                && seen.parent == own
                && seen.group != group
                && !self.ours.contains(&seen.who)
                && !is_looked_at(seen)
        };
        let now = Instant::now();
        let since = |who| self.ended.iter().find(|(known, _)| *known == who).map_or(now, |(_, since)| *since);
        let ended: Vec<(ProcessKey, Instant)> =
            all.iter().filter(foreign).map(|seen| (seen.who, since(seen.who))).collect();
        let long_ago = |(_, since): &&(ProcessKey, Instant)| now - *since >= SAYS_SO_WITHIN;
        let nobodys = ended.iter().filter(long_ago).map(|(who, _)| *who).collect();
        self.ended = ended;
        self.write_down(all);
        nobodys
    }

    fn write_down(&mut self, all: &[ProcessEntry]) {
        let Some(record) = &self.record else { return };
        let strays = self.strays(all).filter(|stray| !stray.ended).map(|stray| stray.who);
        let mut unmarked: Vec<ProcessKey> = self.seen.iter().flatten().map(|(who, _)| *who).collect();
        unmarked.extend(strays);
        unmarked.sort_unstable();
        if unmarked != self.written {
            match super::record::write(record, &unmarked) {
                Ok(()) => self.written = unmarked,
                Err(error) => tracing::debug!(%error, "who runs could not be written down"),
            }
        }
    }
}

fn is_this_program(pid: i32) -> bool {
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    program(&pid.to_string()).is_none_or(|theirs| program("self") == Some(theirs))
}

/// The pid of this process, and its group.
fn own_group(all: &[ProcessEntry]) -> Option<(i32, i32)> {
    let own = i32::try_from(std::process::id()).ok()?;
    all.iter().find(|seen| seen.who.pid == own).map(|seen| (own, seen.group))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;

    use super::*;

    #[test]
    fn one_that_begins_while_we_look_around_is_left_to_whoever_started_it() {
        let before = kin::all();
        let mut child = std::process::Command::new("true").process_group(0).spawn().unwrap();
        let who = kin::look(i32::try_from(child.id()).unwrap()).unwrap().who;
        let mut memory = LeashMemory::new();
        memory.ours.push(who);
        memory.live.push(LeashEntry { mark: Mark::named("one"), leader: who, cwd: None });
        assert!(memory.look_around(&before).is_empty());
        assert!(memory.ours.contains(&who), "it was not there when we looked");
        for _ in 0..3 {
            assert!(!memory.look_around(&kin::all()).contains(&who));
        }
        // No starter has claimed the process yet.
        let mut memory = LeashMemory::new();
        while kin::look(who.pid).is_some_and(|seen| !seen.ended) {
            std::thread::yield_now();
        }
        for _ in 0..3 {
            assert!(!memory.look_around(&kin::all()).contains(&who), "whoever started it may be about to");
        }
        assert!(child.wait().unwrap().success(), "it is still there to be waited for");
    }

    #[test]
    fn nobody_is_taken_for_a_stray_who_may_be_the_one_that_is_being_started() {
        let before = now();
        // This start protects the child from parallel tests, which may end strays.
        let _start = ProgramStart::begin();
        let mut child = std::process::Command::new("sleep").arg("60").process_group(0).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let who = kin::look(pid).unwrap().who;
        assert!((before..=now()).contains(&who.start), "ticks are hundredths of a second");
        while is_this_program(pid) {
            std::thread::yield_now();
        }
        let mut memory = LeashMemory::new();
        let is_stray = |memory: &LeashMemory| memory.strays(&kin::all()).any(|stray| stray.who == who);
        assert!(is_stray(&memory));
        memory.starts.push(before);
        assert!(!is_stray(&memory), "it may be the one");
        memory.starts = vec![who.start + 1];
        assert!(is_stray(&memory), "it is older than that start");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

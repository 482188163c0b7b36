//! Remembers which processes were once seen on a leash.
//!
//! A process that leaves its group, its parent and its environment looks unrelated. But it began as a
//! descendant, and a process that was once seen below a leash is remembered. A process that was too quick for
//! that has become our own child; it belongs to the only leash that can have started it, if there is only
//! one. In any case it belongs to this run of the hub, and is recorded for the next run.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::kin::{self, ProcessEntry, ProcessKey};
use super::mark::Mark;

/// What is remembered, and the bell that says that there is more of it.
pub(super) static MEMORY: Mutex<LeashMemory> = Mutex::new(LeashMemory::new());
static BELL: Condvar = Condvar::new();

/// How often we look around while somebody is on a leash, and after some were ended.
const EVERY: Duration = Duration::from_secs(10);
const SOON: Duration = Duration::from_secs(1);
/// How long whoever started a process may take to say so: it may have ended before that.
const SAYS_SO_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct LeashMemory {
    live: Vec<LeashEntry>,
    /// The marks of those that do not carry them.
    seen: Option<HashMap<ProcessKey, String>>,
    /// When we began to start those that are not known as leaders yet, in ticks since the machine began.
    starts: Vec<u64>,
    /// Those that we started, until they are gone: whoever started them waits for them.
    ours: Vec<ProcessKey>,
    /// Children of ours that have ended and that nobody has taken notice of, since when we know.
    ended: Vec<(ProcessKey, Instant)>,
    /// How many times we look around soon.
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

/// A program that is being started, until its leader is known or its start failed.
#[derive(Debug)]
pub(super) struct ProgramStart {
    /// In ticks since the machine began; the process itself cannot be older.
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

/// The time in ticks, as the system writes when a process began: hundredths of a second since the machine did.
fn now() -> u64 {
    let uptime = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let hundredths = uptime.split(' ').next().unwrap_or_default().replace('.', "");
    hundredths.parse().unwrap_or_default()
}

/// Somebody is on a leash from now on.
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

/// The leader was taken notice of.
pub(super) fn ends(mark: &Mark) {
    let mut memory = memory();
    memory.live.retain(|live| live.mark != *mark);
    memory.hurry = 3;
    BELL.notify_all();
}

/// Where those are written down that carry no mark.
pub(super) fn write_to(record: PathBuf) {
    let mut memory = memory();
    memory.record = Some(record);
    BELL.notify_all();
}

/// Waits until it is time to look around again.
pub(super) fn wait() {
    let mut memory = memory();
    let pause = if memory.hurry > 0 || !memory.ended.is_empty() { SOON } else { EVERY };
    memory.hurry = memory.hurry.saturating_sub(1);
    if memory.live.is_empty() && memory.ended.is_empty() && pause == EVERY {
        let memory = BELL.wait(memory).unwrap_or_else(PoisonError::into_inner);
        // Whoever begins has started nobody yet, and people wait for it: a look at all processes would only slow it down.
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

    /// Those who belong to a mark without carrying it, as far as is known.
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

    /// The same for a mark under which all is that still runs: whoever nobody knows belongs to it too.
    pub(super) fn known_at_last(&self, mark: &Mark, all: &[ProcessEntry]) -> HashSet<ProcessKey> {
        let mut known = self.known(mark, all);
        if self.live.iter().all(|live| mark.holds(live.mark.as_str())) {
            known.extend(self.strays(all).map(|stray| stray.who));
        }
        known
    }

    /// Children of ours that somebody else started, and nobody knows who. One that we are just starting carries no mark
    /// before it has become the other program, and may do so while we look: as long as we start somebody, nobody who is
    /// that young is taken for a stray.
    fn strays<'a>(&'a self, all: &'a [ProcessEntry]) -> impl Iterator<Item = &'a ProcessEntry> {
        let own = own_group(all);
        let being_started = self.starts.iter().min().copied().unwrap_or(u64::MAX);
        all.iter().filter(move |seen| {
            // Everybody's orphans become children of the first process of a container.
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

    /// Remembers who belongs to whom, and says which of our children can be taken notice of: those that somebody else
    /// started, and that have ended a while ago. Ours are waited for by those who started them.
    pub(super) fn look_around(&mut self, all: &[ProcessEntry]) -> Vec<ProcessKey> {
        let Some((own, group)) = own_group(all) else { return Vec::new() };
        let by_pid: HashMap<i32, &ProcessEntry> = all.iter().map(|seen| (seen.who.pid, seen)).collect();
        let before = self.seen.take().unwrap_or_default();
        let mut marks: HashMap<i32, Option<String>> = HashMap::from([(own, None)]);
        let mut seen = HashMap::new();
        for pid in kin::below([own], all) {
            // From the first that is known downwards.
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
        // One that has begun since we looked is not among those that we saw.
        let live = &self.live;
        self.ours.retain(|who| {
            live.iter().any(|live| live.leader == *who)
                || by_pid.get(&who.pid).is_some_and(|seen| seen.who == *who)
        });
        // Whoever waits for a leader looks at what is left of its group first.
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

/// This process, and its group.
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
        // Nobody has said yet that it is theirs.
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
        // What other tests end at the same time is not this one.
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

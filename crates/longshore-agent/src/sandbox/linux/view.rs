//! A separate view of the file system. In it, everything is read-only except the writable folders, and
//! protected places inside these are read-only again. Unlike Landlock, the view covers attributes and knows
//! read-only places inside a writable folder. The folders on the way to such a place are mount points too,
//! which the system does not rename, so a command cannot put something else in the place.
//!
//! The view needs a mount namespace. Root may create one; other users may create one inside a user namespace,
//! in which they keep their identity. Where neither is allowed (in many containers), there is no view, and
//! Landlock does what it can.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::super::{Reach, Sandbox};

const CLONE_TREE: libc::c_uint = 1;
const RECURSIVE: libc::c_uint = 0x8000;
const EMPTY_PATH: libc::c_uint = 0x1000;
const MOVE_EMPTY_PATH: libc::c_uint = 4;
const READ_ONLY: u64 = 1;

/// The kernel's `struct mount_attr`.
#[repr(C)]
struct Attributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user: u64,
}

/// The way in which the process gets a mount namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Privileged,
    User,
}

/// The mounts of a view.
#[derive(Debug)]
pub(super) struct View {
    way: Way,
    /// The identity of this process, in the form of the files in `/proc`.
    maps: [(CString, Vec<u8>); 3],
    places: Vec<ViewPlace>,
    cwd: CString,
}

#[derive(Debug)]
struct ViewPlace {
    path: CString,
    kept: bool,
    /// The copy of the mount, while the view is being made.
    copy: RawFd,
}

/// Whether this system allows a view. The agent tries it once, in a separate process.
pub(super) fn is_possible() -> bool {
    way().is_some()
}

#[allow(unsafe_code, reason = "there is no other way to do something between fork and exec")]
fn way() -> Option<Way> {
    static WAY: OnceLock<Option<Way>> = OnceLock::new();
    *WAY.get_or_init(|| {
        let folder = std::env::temp_dir().canonicalize().ok()?;
        let tried = Sandbox { writable: vec![folder], kept: Vec::new(), reach: Reach::All, network: true };
        [Way::Privileged, Way::User].into_iter().find(|way| {
            let Ok(Some(mut view)) = View::by(*way, &tried, Path::new("/")) else { return false };
            let mut process = std::process::Command::new("true");
            // SAFETY: `enter` makes only system calls that take no memory and no lock.
            unsafe { process.pre_exec(move || view.enter()) };
            process.status().is_ok_and(|status| status.success())
        })
    })
}

impl View {
    /// The view of a sandbox. Returns none if the system allows no view, or if the command may write everywhere.
    pub(super) fn new(sandbox: &Sandbox, cwd: &Path) -> io::Result<Option<Self>> {
        way().map_or(Ok(None), |way| Self::by(way, sandbox, cwd))
    }

    fn by(way: Way, sandbox: &Sandbox, cwd: &Path) -> io::Result<Option<Self>> {
        let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let mut real: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
            real.sort();
            real.dedup();
            real
        };
        let writable = real(&sandbox.writable);
        if writable.iter().any(|folder| folder == Path::new("/")) {
            return Ok(None);
        }
        let within = |path: &Path, folders: &[PathBuf]| {
            folders.iter().any(|folder| path != folder && path.starts_with(folder))
        };
        let open = writable.iter().filter(|folder| !within(folder, &writable));
        let all_kept = real(&sandbox.kept);
        let kept = all_kept.iter().filter(|path| within(path, &writable) && !within(path, &all_kept));
        let mut places: BTreeMap<&Path, bool> = open.map(|folder| (folder.as_path(), false)).collect();
        for path in kept {
            let way = path.ancestors().skip(1).take_while(|folder| within(folder, &writable));
            places.extend(way.map(|folder| (folder, false)));
            places.insert(path, true);
        }
        let place = |(path, kept)| Ok(ViewPlace { path: c_path(path)?, kept, copy: -1 });
        // The order of the map puts folders before their content.
        let places: io::Result<Vec<ViewPlace>> = places.into_iter().map(place).collect();
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let maps = [
            (c_path(Path::new("/proc/self/setgroups"))?, b"deny".to_vec()),
            (c_path(Path::new("/proc/self/uid_map"))?, format!("{user} {user} 1").into_bytes()),
            (c_path(Path::new("/proc/self/gid_map"))?, format!("{group} {group} 1").into_bytes()),
        ];
        Ok(Some(Self { way, maps, places: places?, cwd: c_path(cwd)? }))
    }

    /// Makes the view and enters it. The process must have only one thread.
    #[allow(unsafe_code, reason = "the system calls have no other way in")]
    pub(super) fn enter(&mut self) -> io::Result<()> {
        // SAFETY: all strings end with a zero byte and outlive the calls, which keep none of them.
        unsafe {
            match self.way {
                Way::Privileged => done(libc::unshare(libc::CLONE_NEWNS))?,
                Way::User => {
                    // A process that is not dumpable may not write these files, although they are its own. The process
                    // is dumpable only for these writes, because it still has a copy of its parent's memory.
                    libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
                    done(libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
                    for (file, text) in &self.maps {
                        write(file, text)?;
                    }
                    libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
                }
            }
            let root = c"/".as_ptr();
            let private = libc::MS_REC | libc::MS_SLAVE;
            done(libc::mount(std::ptr::null(), root, std::ptr::null(), private, std::ptr::null()))?;
            for place in &mut self.places {
                let copy = libc::syscall(
                    libc::SYS_open_tree,
                    libc::AT_FDCWD,
                    place.path.as_ptr(),
                    CLONE_TREE | RECURSIVE | libc::O_CLOEXEC as libc::c_uint,
                );
                done(copy as libc::c_int)?;
                place.copy = copy as RawFd;
                if place.kept {
                    read_only(place.copy, c"".as_ptr(), EMPTY_PATH)?;
                }
            }
            read_only(libc::AT_FDCWD, root, 0)?;
            for place in &self.places {
                let moved = libc::syscall(
                    libc::SYS_move_mount,
                    place.copy,
                    c"".as_ptr(),
                    libc::AT_FDCWD,
                    place.path.as_ptr(),
                    MOVE_EMPTY_PATH,
                );
                done(moved as libc::c_int)?;
                libc::close(place.copy);
            }
            // The working folder of the process is still the folder outside of the view.
            done(libc::chdir(self.cwd.as_ptr()))
        }
    }
}

/// Makes a mount and all mounts in it read-only.
#[allow(unsafe_code, reason = "the system call has no other way in")]
unsafe fn read_only(folder: RawFd, path: *const libc::c_char, flags: libc::c_uint) -> io::Result<()> {
    let wanted = Attributes { set: READ_ONLY, clear: 0, propagation: 0, user: 0 };
    // SAFETY: the path is a string of the caller, and the size is that of the structure.
    let changed = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder,
            path,
            flags | RECURSIVE,
            &wanted,
            size_of::<Attributes>(),
        )
    };
    done(changed as libc::c_int)
}

/// Writes a small file in one go.
#[allow(unsafe_code, reason = "the standard library would allocate")]
unsafe fn write(file: &CString, text: &[u8]) -> io::Result<()> {
    // SAFETY: the strings outlive the calls.
    unsafe {
        let opened = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        done(opened)?;
        let written = libc::write(opened, text.as_ptr().cast(), text.len());
        let written = done(written as libc::c_int);
        libc::close(opened);
        written
    }
}

fn done(returned: libc::c_int) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

//! File in which the sockets behind one link describe the messages that they receive. Each socket has a slot, which it
//! alone writes. docs/due-sockets.md says who may use the file.

use duetime_memory::Words;
use duetime_proto::due::MAX_DEMANDS;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// First word of the file, with the version of its format.
const MAGIC: u64 = 0xDE_4C_69_6E_6B_00_00_01;
/// Maximum number of sockets.
pub const MAX_SOCKETS: u16 = 64;
/// Words of a description.
pub const DEMAND_WORDS: usize = 6;
/// Age in nanoseconds above which a slot counts as empty: its process ended or is stopped. Sockets with messages under
/// way write their slots every few hundred microseconds.
const MAX_AGE_NS: u64 = 20_000_000;
/// Reads of a slot that is being written.
const ATTEMPTS: usize = 4;

/// Positions of the words before the slots: the format, the link's rate and the number of changes.
const FORMAT: usize = 0;
const RATE: usize = 1;
const CHANGES: usize = 2;
const HEADER_WORDS: usize = 8;
/// Positions in a slot: a number that is odd while the slot is written, the time of the last writing, and the number of
/// descriptions, which follow.
const SEQUENCE: usize = 0;
const WRITTEN_AT: usize = 1;
const COUNT: usize = 2;
const DEMANDS: usize = 8;
const SLOT_WORDS: usize = DEMANDS + MAX_DEMANDS * DEMAND_WORDS;
const ALL_WORDS: usize = HEADER_WORDS + MAX_SOCKETS as usize * SLOT_WORDS;

/// Encoded description of a message.
pub type Demand = [u64; DEMAND_WORDS];

/// A socket's slot in the file, and those of the others.
#[derive(Debug)]
pub struct LinkFile {
    words: Words,
    slot: u16,
    /// Contents of the slot.
    written: Vec<Demand>,
    /// Keeps the lock of the slot.
    _file: File,
}

impl LinkFile {
    /// Takes a slot of the file, which is created if it does not exist. Fails with [`io::ErrorKind::InvalidData`] if the
    /// file is another one, and with [`io::ErrorKind::InvalidInput`] if its sockets have links of another rate or it has
    /// no free slot.
    pub fn open(path: &Path, bits_per_second: u64) -> io::Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.mode(0o660).open(path)?;
        let opening = MAX_SOCKETS;
        lock(&file, opening, true)?;
        if file.metadata()?.len() == 0 {
            file.set_len((ALL_WORDS * size_of::<u64>()) as u64)?;
        }
        let words = Words::map(&file, ALL_WORDS)?;
        let format = &words.all()[FORMAT];
        if format.load(Relaxed) == 0 {
            format.store(MAGIC, Relaxed);
        }
        if format.load(Relaxed) != MAGIC {
            let message = "not a link file of this version of duetime";
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let free: Vec<u16> = (0..MAX_SOCKETS)
            .filter(|&slot| lock(&file, slot, false).is_ok())
            .collect();
        for &slot in free.iter().skip(1) {
            unlock(&file, slot)?;
        }
        let Some(&slot) = free.first() else {
            let message = format!("{MAX_SOCKETS} sockets share the link, which is the maximum");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        };
        let rate = &words.all()[RATE];
        if free.len() == usize::from(MAX_SOCKETS) {
            rate.store(bits_per_second, Relaxed);
        }
        let theirs = rate.load(Relaxed);
        if theirs != bits_per_second {
            let message = format!(
                "the sockets that share the link have a rate of {theirs} bps, and this one of {bits_per_second} bps"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        unlock(&file, opening)?;
        let link_file = Self {
            words,
            slot,
            written: Vec::new(),
            _file: file,
        };
        link_file.store(&[]);
        Ok(link_file)
    }

    /// Returns the number of the slot.
    pub const fn slot(&self) -> u16 {
        self.slot
    }

    /// Returns a number that grows with each change of any slot.
    pub fn changes(&self) -> u64 {
        self.words.all()[CHANGES].load(Acquire)
    }

    /// Replaces the contents of the socket's slot.
    pub fn write(&mut self, demands: &[Demand]) {
        debug_assert!(demands.len() <= MAX_DEMANDS);
        self.word(self.slot, WRITTEN_AT).store(now_ns(), Relaxed);
        if self.written != demands {
            self.written.clear();
            self.written.extend_from_slice(demands);
            self.store(demands);
        }
    }

    fn store(&self, demands: &[Demand]) {
        let sequence = self.word(self.slot, SEQUENCE);
        // An odd number is of a process that ended while it wrote.
        let odd = sequence.load(Relaxed) | 1;
        sequence.store(odd, Relaxed);
        fence(Release);
        self.word(self.slot, COUNT)
            .store(demands.len() as u64, Relaxed);
        for (index, &value) in demands.as_flattened().iter().enumerate() {
            self.word(self.slot, DEMANDS + index).store(value, Relaxed);
        }
        sequence.store(odd.wrapping_add(1), Release);
        self.words.all()[CHANGES].fetch_add(1, AcqRel);
    }

    /// Calls `each` with the descriptions of the other sockets' messages and the numbers of the sockets.
    pub fn read_others(&self, mut each: impl FnMut(u16, Demand)) {
        let now = now_ns();
        for slot in (0..MAX_SOCKETS).filter(|&slot| slot != self.slot) {
            let age = now.saturating_sub(self.word(slot, WRITTEN_AT).load(Relaxed));
            if age > MAX_AGE_NS || self.word(slot, COUNT).load(Relaxed) == 0 {
                continue;
            }
            // A slot that changes all the time is read after its next change.
            let demands = (0..ATTEMPTS).find_map(|_| self.read(slot));
            for demand in demands.into_iter().flatten() {
                each(slot, demand);
            }
        }
    }

    /// Returns the contents of a slot, or `None` if it is being written.
    fn read(&self, slot: u16) -> Option<Vec<Demand>> {
        let before = self.word(slot, SEQUENCE).load(Acquire);
        let count = usize::try_from(self.word(slot, COUNT).load(Relaxed)).unwrap_or(MAX_DEMANDS);
        let demand = |index: usize| {
            let start = DEMANDS + index * DEMAND_WORDS;
            std::array::from_fn(|word| self.word(slot, start + word).load(Relaxed))
        };
        let demands = (0..count.min(MAX_DEMANDS)).map(demand).collect();
        fence(Acquire);
        let after = self.word(slot, SEQUENCE).load(Relaxed);
        (before == after && before.is_multiple_of(2)).then_some(demands)
    }

    fn word(&self, slot: u16, position: usize) -> &AtomicU64 {
        &self.words.all()[HEADER_WORDS + usize::from(slot) * SLOT_WORDS + position]
    }
}

impl Drop for LinkFile {
    fn drop(&mut self) {
        self.store(&[]);
    }
}

/// Returns the system's monotonic time, which all processes share, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(now.tv_sec) * 1_000_000_000 + part(now.tv_nsec)
}

/// Locks one byte of the file, which the kernel unlocks when the file is closed. Fails if another socket has the lock,
/// unless `waits` is true.
fn lock(file: &File, byte: u16, waits: bool) -> io::Result<()> {
    let range = range(byte, libc::F_WRLCK);
    let argument = if waits {
        FcntlArg::F_OFD_SETLKW(&range)
    } else {
        FcntlArg::F_OFD_SETLK(&range)
    };
    fcntl(file, argument)?;
    Ok(())
}

fn unlock(file: &File, byte: u16) -> io::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&range(byte, libc::F_UNLCK)))?;
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the constants fit the fields"
)]
fn range(byte: u16, kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: byte.into(),
        l_len: 1,
        l_pid: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::thread;
    use std::time::Duration;

    fn open_two(name: &str) -> [LinkFile; 2] {
        let name = format!("duetime-link-file-{name}-{}", std::process::id());
        let path: PathBuf = std::env::temp_dir().join(name);
        let files = [(); 2].map(|()| LinkFile::open(&path, 1_000).unwrap());
        std::fs::remove_file(path).unwrap();
        files
    }

    fn others(file: &LinkFile) -> Vec<(u16, Demand)> {
        let mut all = Vec::new();
        file.read_others(|slot, demand| all.push((slot, demand)));
        all
    }

    #[test]
    fn others_see_what_a_socket_writes() {
        let [mut one, mut two] = open_two("write");
        let demands = [[1, 2, 3, 4, 5, 6], [u64::MAX; DEMAND_WORDS]];
        let before = two.changes();
        one.write(&demands);
        assert_eq!(others(&two), demands.map(|demand| (one.slot(), demand)));
        assert_eq!(others(&one), []);
        two.write(&[[9; DEMAND_WORDS]; MAX_DEMANDS]);
        assert_eq!(others(&one).len(), MAX_DEMANDS);
        assert!(two.changes() >= before + 2);
        let changes = two.changes();
        one.write(&demands);
        assert_eq!(two.changes(), changes, "the same contents");
        drop(one);
        assert_eq!(others(&two), []);
    }

    #[test]
    fn contents_of_a_stopped_process_expire() {
        let [mut one, two] = open_two("expire");
        one.write(&[[7; DEMAND_WORDS]]);
        thread::sleep(Duration::from_nanos(MAX_AGE_NS + 1));
        assert_eq!(others(&two), []);
        one.write(&[[7; DEMAND_WORDS]]);
        assert_eq!(others(&two).len(), 1);
    }

    #[test]
    fn contents_are_read_whole() {
        let [mut one, two] = open_two("whole");
        let writing = thread::spawn(move || {
            for number in 0..200_000 {
                one.write(&[[number; DEMAND_WORDS]; 3]);
            }
        });
        let mut most = 0;
        while !writing.is_finished() {
            let all = others(&two);
            for (_, demand) in &all {
                assert_eq!(*demand, [all[0].1[0]; DEMAND_WORDS]);
            }
            most = most.max(all.len());
        }
        writing.join().unwrap();
        assert_eq!(most, 3);
    }
}

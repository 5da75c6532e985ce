//! Words of memory that several processes share.

use memmap2::{MmapOptions, MmapRaw};
use std::fs::File;
use std::io;
use std::sync::atomic::AtomicU64;

/// The first words of a file, shared with all processes that map it. A process that shortens the file ends the others,
/// so only trusted users may write to it.
#[derive(Debug)]
pub struct Words {
    map: MmapRaw,
    count: usize,
}

impl Words {
    /// Maps the first `count` words. Fails with [`io::ErrorKind::InvalidData`] if the file is shorter.
    pub fn map(file: &File, count: usize) -> io::Result<Self> {
        let bytes = count * size_of::<AtomicU64>();
        if file.metadata()?.len() < bytes as u64 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the file is too short",
            ));
        }
        let map = MmapOptions::new().len(bytes).map_raw(file)?;
        Ok(Self { map, count })
    }

    /// Returns the words.
    pub fn all(&self) -> &[AtomicU64] {
        #[expect(clippy::cast_ptr_alignment, reason = "mappings start at a page")]
        let words = self.map.as_ptr().cast::<AtomicU64>();
        #[expect(unsafe_code, reason = "mapped memory is a pointer")]
        // SAFETY: the mapping starts at a page, has `count` words and lives as long as `self`. Atomic words may be
        // changed by other processes, and every bit pattern is valid.
        unsafe {
            std::slice::from_raw_parts(words, self.count)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn maps_of_a_file_share_words() {
        let path = std::env::temp_dir().join(format!("duetime-words-{}", std::process::id()));
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(path).unwrap();
        file.set_len(64).unwrap();
        let [one, two] = [(); 2].map(|()| Words::map(&file, 8).unwrap());
        one.all()[7].store(5, Relaxed);
        assert_eq!(two.all()[7].load(Relaxed), 5);
        assert_eq!(two.all().len(), 8);
        let error = Words::map(&file, 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}

//! The system's memory allocator, with huge pages on request.
//!
//! The state of a large network spans tens of thousands of ordinary pages, more than a processor keeps translations of. A
//! program installs [`Allocator`] as its global allocator; [`prefer_huge_pages`] then applies to memory allocated later.
//! Other systems than Linux ignore the request.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_PREFERRED: AtomicBool = AtomicBool::new(false);

/// Requests huge pages for memory that the process allocates from now on through [`Allocator`].
pub fn prefer_huge_pages() {
    IS_PREFERRED.store(true, Ordering::Relaxed);
}

/// The system's allocator, which advises the kernel to use huge pages after [`prefer_huge_pages`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

#[expect(unsafe_code, reason = "an allocator is an unsafe trait")]
// SAFETY: every block comes from `System` and returns to it with the same layout. Advice to the kernel changes neither the
// contents of memory nor its owner.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, which is that of `System`.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as in `alloc`; the block is from `System`.
        advised(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn advised(block: *mut u8, size: usize) -> *mut u8 {
    if IS_PREFERRED.load(Ordering::Relaxed) && !block.is_null() {
        pages::advise(block.addr(), size);
    }
    block
}

#[cfg(target_os = "linux")]
mod pages {
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Binary logarithm of the size of a huge page.
    const SHIFT: u32 = 21;
    /// One bit for each huge page of an address space of 47 bits: set once the kernel was advised. The system provides only
    /// the parts of the table that are used.
    static ADVISED: [AtomicU64; 1 << (47 - SHIFT - 6)] = [const { AtomicU64::new(0) }; _];

    /// Advises the kernel to use huge pages for a block.
    pub(super) fn advise(address: usize, size: usize) {
        let first = address >> SHIFT;
        let last = (address + size.max(1) - 1) >> SHIFT;
        if last - first > 1 {
            // The kernel gives large blocks a place of their own each time, at addresses that earlier blocks had.
            return of_kernel(first, last);
        }
        for page in first..=last {
            let bit = 1 << (page % 64);
            let Some(word) = ADVISED.get(page / 64) else {
                return;
            };
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
                of_kernel(page, page);
            }
        }
    }

    #[cold]
    fn of_kernel(first: usize, last: usize) {
        let from = std::ptr::without_provenance_mut(first << SHIFT);
        let length = (last - first + 1) << SHIFT;
        // SAFETY: this advice reads and writes no memory. It selects the size of the pages that the kernel provides, also for
        // neighbours of the block, and leaves contents and protection as they are. Where nothing is mapped it fails, which
        // is no harm.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        let _failed = unsafe { libc::madvise(from, length, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
mod pages {
    pub(super) fn advise(_: usize, _: usize) {}
}

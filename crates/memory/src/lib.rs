//! The system's memory allocator, with huge pages on request; and words of memory that processes share.
//!
//! The state of a large network spans tens of thousands of ordinary pages, more than a TLB holds. A program installs
//! [`Allocator`] as its global allocator; [`prefer_huge_pages`] then applies to memory allocated later. Systems other
//! than Linux ignore the request.

#[cfg(unix)]
mod words;

#[cfg(unix)]
pub use words::Words;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_PREFERRED: AtomicBool = AtomicBool::new(false);

/// Requests huge pages for all later allocations of the process through [`Allocator`]. With glibc, all threads started
/// later share one heap, which grows in steps of 64 MiB.
pub fn prefer_huge_pages() {
    pages::grow_heap_in_large_steps();
    IS_PREFERRED.store(true, Ordering::Relaxed);
}

/// The system's allocator, which advises the kernel to use huge pages after [`prefer_huge_pages`] is called.
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

#[expect(unsafe_code, reason = "`GlobalAlloc` is an unsafe trait")]
// SAFETY: every block comes from `System` and returns to it with the same layout. Advising the kernel changes neither
// the contents of memory nor its owner.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `GlobalAlloc`, and `System` requires the same.
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
    /// One bit per huge page of a 47-bit address space, set after the kernel was advised. The system backs only the
    /// parts of the table that are used.
    static ADVISED: [AtomicU64; 1 << (47 - SHIFT - 6)] = [const { AtomicU64::new(0) }; _];

    /// Makes all threads use one heap that grows in large steps. By default the steps are smaller than a huge page,
    /// which the kernel provides only within mapped memory, and the steps of the threads' heaps cannot be set.
    pub(super) fn grow_heap_in_large_steps() {
        #[cfg(target_env = "gnu")]
        {
            const STEP: i32 = 64 << 20;
            /// Larger blocks are mapped separately. This is the largest value that the allocator accepts; setting the
            /// steps would otherwise fix it at 128 KiB.
            const LARGEST_ON_HEAP: i32 = 32 << 20;
            for (option, value) in [
                (libc::M_ARENA_MAX, 1),
                (libc::M_TOP_PAD, STEP),
                (libc::M_MMAP_THRESHOLD, LARGEST_ON_HEAP),
            ] {
                // SAFETY: this changes the allocator's parameters under its lock. Blocks stay where they are.
                #[expect(unsafe_code, reason = "a library call without a safe wrapper")]
                let _refused = unsafe { libc::mallopt(option, value) };
            }
        }
    }

    /// Advises the kernel to use huge pages for the block.
    pub(super) fn advise(address: usize, size: usize) {
        let first = address >> SHIFT;
        let last = (address + size.max(1) - 1) >> SHIFT;
        if last - first > 1 {
            // The kernel maps large blocks separately each time, possibly at addresses that were advised for earlier
            // blocks.
            return madvise(first, last);
        }
        for page in first..=last {
            let bit = 1 << (page % 64);
            let Some(word) = ADVISED.get(page / 64) else {
                return;
            };
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
                // The system's allocator writes a header behind the last block, and a page that was written before the
                // advice stays small. So the advice is one page ahead of the blocks.
                madvise(page, page + 1);
            }
        }
    }

    #[cold]
    fn madvise(first: usize, last: usize) {
        let start = std::ptr::without_provenance_mut(first << SHIFT);
        let length = (last - first + 1) << SHIFT;
        // SAFETY: this advice reads and writes no memory. It selects the size of the pages that the kernel provides,
        // also for neighbours of the block, and changes neither contents nor protection. It fails on unmapped
        // addresses, which is harmless.
        #[expect(unsafe_code, reason = "a system call without a safe wrapper")]
        let _failed = unsafe { libc::madvise(start, length, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
mod pages {
    pub(super) fn grow_heap_in_large_steps() {}
    pub(super) fn advise(_: usize, _: usize) {}
}

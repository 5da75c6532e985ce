//! Prefetching into the processor's caches. The only unsafe code of this crate.

use core::ptr;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks the processor to load the cache line of `value`, and does not wait for it. No effect on processors other than
/// x86-64 and ARM64.
#[inline]
pub fn prefetch<T>(value: &T) {
    prefetch_address(ptr::from_ref(value).cast());
}

/// Asks the processor to load the first `LINES` cache lines of `value`, or all if it has fewer; see [`prefetch`].
#[inline]
pub fn prefetch_lines<const LINES: usize, T>(value: &T) {
    let first = ptr::from_ref(value).cast::<i8>();
    for line in 0..LINES.min(size_of::<T>().div_ceil(LINE)) {
        prefetch_address(first.wrapping_add(line * LINE));
    }
}

#[inline]
#[cfg_attr(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    expect(unsafe_code, reason = "an instruction of the processor")
)]
fn prefetch_address(address: *const i8) {
    // SAFETY: the instruction only moves data between caches, and ignores an invalid address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address);
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

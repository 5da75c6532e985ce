//! Allocations for which the kernel is advised to use huge pages.

#![cfg(target_os = "linux")]

use duetime_memory::{Allocator, prefer_huge_pages};
use std::fs;
use std::path::Path;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Returns true if the middle of the block is advised: flag `hg` in `/proc/self/smaps`. The ends of a block share huge
/// pages with neighbours.
fn is_advised<T>(block: &[T]) -> bool {
    let address = std::ptr::from_ref(&block[block.len() / 2]).addr();
    let maps = fs::read_to_string("/proc/self/smaps").expect("smaps is readable");
    let mut in_mapping = false;
    for line in maps.lines() {
        let ends = line.split(' ').next().and_then(|ends| ends.split_once('-'));
        let ends = ends.map(|(from, to)| [from, to].map(|end| usize::from_str_radix(end, 16)));
        if let Some([Ok(from), Ok(to)]) = ends {
            in_mapping = (from..to).contains(&address);
        } else if in_mapping && let Some(flags) = line.strip_prefix("VmFlags:") {
            return flags.split_whitespace().any(|flag| flag == "hg");
        }
    }
    panic!("no mapping has the address")
}

#[test]
fn only_later_allocations_are_advised() {
    if !Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return;
    }
    let before = vec![1_u8; 64 << 20];
    assert!(!is_advised(&before));
    prefer_huge_pages();
    let large = vec![1_u8; 64 << 20];
    assert!(is_advised(&large) && !is_advised(&before));
    drop(large);
    // This address may have been advised for the freed block.
    let mut grown = vec![1_u8; 48 << 20];
    assert!(is_advised(&grown));
    grown.resize(200 << 20, 2);
    assert!(is_advised(&grown) && grown[0] == 1);
    // Simulations allocate small blocks on several threads.
    let thread = std::thread::spawn(|| {
        let blocks: Vec<Vec<u64>> = (0..20_000).map(|i| vec![i; 50]).collect();
        is_advised(blocks.last().expect("blocks"))
    });
    assert!(thread.join().expect("no panic"));
}

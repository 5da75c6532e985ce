//! The simulator's rounds with loom's primitives.

#[path = "../../src/parallel/barrier.rs"]
pub mod barrier;
#[path = "../../src/parallel/rounds.rs"]
pub mod rounds;
#[path = "../../src/sides.rs"]
#[expect(dead_code, reason = "one thread uses `reached`")]
pub mod sides;

mod sync {
    pub use loom::hint::spin_loop;
    pub use loom::sync::Mutex;
    pub use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize};
    pub use loom::thread::yield_now;
}

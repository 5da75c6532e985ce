//! One partition of a run: the event loop over the hosts, switches and links of the partition. A run on one thread has
//! one partition.
//!
//! Each part has its own state: the [wire] with ports and links, the [hosts] with NICs and timers, the [endpoints] of
//! the transports, and the [applications]. The [context] is shared by all parts: the clock with the pending [events],
//! and the [recorder].
//!
//! From the bottom up, where a module uses only modules of the same line and of earlier ones:
//!
//! 1. Clock and pending events: [size], [wheel], [events], [windows].
//! 2. Packets: [family], [contents] with a file `contents.rs` for each family, [extras].
//! 3. Shared state: [faults], [recorder], [context].
//! 4. Network: [wire], with the ports' rules of the families (`d3/port.rs`, `d3/edge.rs`, `pdq/port.rs`,
//!    `pfabric/queue.rs`).
//! 5. Transports: [endpoint] is the interface of the families [tcp], [d3], [due], [homa], [pdq], [pfabric] and [sird].
//! 6. Hosts: [endpoints], [hosts], [prefetch], [applications].
//! 7. Event loop: [partition].
//!
//! To add a family of transports, write a module like `tcp` or `d3` and add a line to the list in `family`. To add a
//! port discipline, add it to `wire::discipline`.

mod applications;
mod contents;
mod context;
mod d3;
pub mod due;
mod endpoint;
mod endpoints;
mod events;
mod extras;
mod family;
mod faults;
mod homa;
mod hosts;
mod partition;
mod pdq;
mod pfabric;
mod prefetch;
mod recorder;
mod sird;
mod size;
mod tcp;
mod wheel;
mod windows;
pub mod wire;

pub use partition::Partition;
pub use recorder::{Observed, PartRecords, merge};
pub use windows::subpartitions;
#[cfg(feature = "threads")]
pub use wire::Messages;

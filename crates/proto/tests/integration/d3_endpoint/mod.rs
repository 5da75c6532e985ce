//! Endpoints on a virtual network: guarantees that hold under any network behaviour.

mod allocation;
mod buffers;
mod content;
mod deadlines;
mod delivery;
mod endings;
mod exchange;
mod faults;
mod flood;
mod limits;
mod router;
mod world;

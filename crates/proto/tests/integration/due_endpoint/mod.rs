//! Endpoints of `due` on a virtual network: guarantees that hold under any network behaviour.

mod addresses;
mod endings;
mod faults;
mod flood;
mod forged;
mod limits;
mod marks;
mod messages;
mod world;

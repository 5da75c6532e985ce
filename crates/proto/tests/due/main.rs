//! `due`: sources send messages to one host over a link that can lose, duplicate and delay packets.

mod behaviour;
mod faults;
mod network;

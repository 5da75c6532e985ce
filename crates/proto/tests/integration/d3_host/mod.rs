//! Sending host of D3, packet by packet.

mod bursts;
mod deadlines;
mod host;
mod losses;
mod pace;
mod worlds;

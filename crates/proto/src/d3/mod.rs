//! D3: deadline-driven delivery with explicit rates; and RCPdc, which is D3 without deadlines.
//!
//! A [`Sender`] requests the rate that its deadline needs from every router on its path, once per round trip. An
//! [`Allocator`] at each outgoing interface answers without per-flow state. The [`Receiver`] returns the answers.
//! `repair` describes how the routers' counters recover from loss and host failures.

mod config;
mod desired;
mod downlink;
pub mod endpoint;
mod police;
mod port;
mod rate;
mod receiver;
mod repair;
mod router;
mod sender;
pub mod wire;

pub use config::{
    Allocation, AlphaReference, BaseRate, Config, HostOptions, HostVariant, Late, Policy,
    QueueSample, RequestBytes, Rounding, RouterOptions, RouterVariant, Speculation, WireOptions,
};
pub use downlink::{Answer, Downlink, Grants, Offer};
pub use police::{Claim, Police, Policer};
pub use port::{PortDriver, Reading};
pub use rate::{EncodedRate, FixedRate};
pub use receiver::{Delivery, Receiver};
pub use router::Allocator;
pub use sender::{Counters, Sender, Timer};
pub use wire::{Flags, HopAnswer, HopRequest, MAX_HOPS, Outcome, Packet, Request, Tag};

//! Other endpoints behind the same link.
//!
//! Drivers of several endpoints whose datagrams arrive over one link can share it: before each call of
//! [`Endpoint::input`] and [`Endpoint::timeout`] they pass the others' messages to [`Endpoint::share_link`], if these have
//! changed; if [`Endpoint::take_ranked`] returns true after a call, they pass [`Endpoint::demands`] to the others.

use super::super::Demand;
use super::Endpoint;
use duetime_core::Time;

impl Endpoint {
    /// Returns descriptions of the incomplete incoming messages for the other endpoints behind the link, at most
    /// [`MAX_DEMANDS`](super::super::MAX_DEMANDS), the most urgent first. `endpoint` is the number of this endpoint.
    pub fn demands(&self, endpoint: u16) -> impl Iterator<Item = Demand> + '_ {
        self.receiver.demands(endpoint)
    }

    /// Returns true if [`demands`](Self::demands) may have changed since the last call.
    pub const fn take_ranked(&mut self) -> bool {
        self.receiver.take_ranked()
    }

    /// Replaces the messages of the other endpoints behind the link. Messages of this endpoint are granted what more
    /// urgent ones leave. `endpoint` is the number of this endpoint, which differs from theirs.
    pub fn share_link(&mut self, now: Time, endpoint: u16, demands: &[Demand]) {
        let config = &self.options.config;
        self.receiver.share_link(config, now, endpoint, demands);
    }
}

//! Identities and tokens, which are keyed hashes of addresses.

use core::hash::Hasher;
use core::net::SocketAddr;
use duetime_core::{Span, Time};
use siphasher::sip::SipHasher24;
use std::collections::BTreeMap;

/// Minimum validity of a token; the maximum is twice as long.
const TOKEN_PERIOD: Span = Span::from_secs(4);
/// Maximum number of tokens of peers per generation.
const MAX_TOKENS: usize = 1 << 14;

/// Secret of an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys(pub [u64; 2]);

impl Keys {
    /// Returns the identity that the peer sees. Each peer sees another one, so that none can forge replies of others.
    pub fn identity(&self, peer: SocketAddr) -> u64 {
        self.hash(b'i', peer, 0, 0)
    }

    /// Returns the token by which a source proves its address. It is recomputed to check it, so nothing is stored.
    pub fn token(&self, now: Time, peer: SocketAddr, identity: u64) -> u64 {
        self.hash(b't', peer, identity, period(now))
    }

    pub fn is_token(&self, now: Time, peer: SocketAddr, identity: u64, token: u64) -> bool {
        let newest = period(now);
        [newest, newest.saturating_sub(1)]
            .iter()
            .any(|&period| token != 0 && self.hash(b't', peer, identity, period) == token)
    }

    fn hash(&self, kind: u8, peer: SocketAddr, identity: u64, period: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.0[0], self.0[1]);
        hasher.write_u8(kind);
        match peer {
            SocketAddr::V4(peer) => hasher.write(&peer.ip().octets()),
            SocketAddr::V6(peer) => hasher.write(&peer.ip().octets()),
        }
        hasher.write(&peer.port().to_be_bytes());
        hasher.write(&identity.to_be_bytes());
        hasher.write(&period.to_be_bytes());
        hasher.finish().max(1)
    }
}

fn period(now: Time) -> u64 {
    now.as_ps() / TOKEN_PERIOD.as_ps()
}

/// Latest tokens from peers, by which this endpoint proves its address. Forgets the older half after a while or if
/// there are many.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    newer: BTreeMap<SocketAddr, u64>,
    older: BTreeMap<SocketAddr, u64>,
    since: Time,
    /// Peer whose token was read last, with the token, since consecutive datagrams often have the same peer.
    last: Option<(SocketAddr, u64)>,
}

impl Tokens {
    pub fn insert(&mut self, now: Time, peer: SocketAddr, token: u64) {
        if self.newer.len() >= MAX_TOKENS || now.since(self.since) > TOKEN_PERIOD * 2 {
            self.older = core::mem::take(&mut self.newer);
            self.since = now;
        }
        self.newer.insert(peer, token);
        self.last = None;
    }

    /// Returns the peer's token, or zero.
    pub fn get(&mut self, peer: SocketAddr) -> u64 {
        if let Some((last, token)) = self.last
            && last == peer
        {
            return token;
        }
        let token = self.newer.get(&peer).or_else(|| self.older.get(&peer));
        let token = token.copied().unwrap_or_default();
        self.last = Some((peer, token));
        token
    }
}

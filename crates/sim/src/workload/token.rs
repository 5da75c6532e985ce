//! Tokens of wake-ups and tags of messages, which encode a query at a role as one number.

/// Purpose of a wake-up. A token contains one bit that is set if the query is measured, the purpose (3 bits), the role
/// (28 bits), the attempt (4 bits) and the index of the query (28 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The tree of this root receives a query.
    Arrival = 0,
    /// The parent of this role submits its query to this role.
    Ask = 1,
    /// This role submits its answer.
    Answer = 2,
    /// This role stops waiting for answers.
    Timeout = 3,
    /// The parent of this role hedges the request.
    Hedge = 4,
    /// The parent of this role retries the request.
    Retry = 5,
    /// The parent of this role opens a connection to it, or this role opens one to its parent (`attempt` 1).
    Connect = 6,
    /// The computation of this role ends and frees its slot.
    Computed = 7,
}

/// Limit (exclusive) of the number of roles.
pub(super) const MAX_ROLES: u64 = 1 << ROLE_BITS;
/// Mask of the role in a message's tag; the attempt is above it.
pub(super) const MAX_ROLE: u32 = (1 << ROLE_BITS) - 1;
const ROLE_BITS: u32 = 28;
/// Bits of the index of a query in a slot; the attempt is above it.
const NUMBER_BITS: u32 = 28;

/// Maximum number of retries: attempts are numbered in four bits and include the first and a hedge.
pub(super) const MAX_RETRIES: u32 = 14;

/// Returns the attempt in a message's tag.
pub(super) fn attempt(tag: u32) -> u32 {
    tag >> ROLE_BITS
}

/// A query at a role.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) role: u32,
    /// Index of the query in its tree.
    pub(super) number: u32,
    /// Attempt of the request to this role: 0 for the first, less than 16.
    pub(super) attempt: u8,
    /// True if the query is in the measurement window.
    pub(super) measured: bool,
}

impl At {
    /// Returns the query and the attempt as one number.
    pub(super) fn slot(self) -> u32 {
        u32::from(self.attempt) << NUMBER_BITS | self.number
    }

    /// Returns the tag of the attempt's messages.
    pub(super) fn tag(self) -> u32 {
        u32::from(self.attempt) << ROLE_BITS | self.role
    }

    /// Returns the attempt's bit in a set of attempts.
    pub(super) fn bit(self) -> u16 {
        1 << self.attempt
    }
}

impl Due {
    /// Returns the purpose and the query of a token.
    pub(super) fn from_token(token: u64) -> (Self, At) {
        let due = match token >> 60 & 7 {
            0 => Self::Arrival,
            1 => Self::Ask,
            2 => Self::Answer,
            3 => Self::Timeout,
            4 => Self::Hedge,
            5 => Self::Retry,
            6 => Self::Connect,
            _ => Self::Computed,
        };
        let at = At {
            role: (token >> 32) as u32 & (MAX_ROLES - 1) as u32,
            number: token as u32 & ((1 << NUMBER_BITS) - 1),
            attempt: (token as u32 >> NUMBER_BITS) as u8,
            measured: token >> 63 != 0,
        };
        (due, at)
    }

    /// Returns the token of a wake-up.
    pub(super) fn token(self, query: At) -> u64 {
        u64::from(query.measured) << 63
            | (self as u64) << 60
            | u64::from(query.role) << 32
            | u64::from(query.slot())
    }
}

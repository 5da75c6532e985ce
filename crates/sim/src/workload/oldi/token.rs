//! Tokens of wakes and tags of messages: a query at a role, and why it is woken, as one number.

/// Purpose of a wake. A token has one bit that is set if the query is measured, the purpose (3 bits), the role (28 bits), the
/// number of the question (4 bits) and the query's number (28 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// The tree of this root gets a query.
    Arrival = 0,
    /// The parent of this role hands its query over.
    Ask = 1,
    /// This role hands its answer over.
    Answer = 2,
    /// This role waits no longer.
    GiveUp = 3,
    /// The parent of this role asks it a second time.
    Hedge = 4,
    /// The parent of this role asks it anew.
    Retry = 5,
    /// The parent of this role opens a connection to it, or this role one to its parent (`attempt` 1).
    Connect = 6,
    /// This role's computation ends, and frees its slot.
    Computed = 7,
}

/// One more than the largest role.
pub(super) const MAX_ROLES: u64 = 1 << ROLE_BITS;
/// The role of a message's tag; above it is the number of the question.
pub(super) const MAX_ROLE: u32 = (1 << ROLE_BITS) - 1;
const ROLE_BITS: u32 = 28;
/// Above the query's number is that of the question.
const NUMBER_BITS: u32 = 28;

/// The number of the question that a message's tag names.
pub(in crate::workload) fn attempt(tag: u32) -> u32 {
    tag >> ROLE_BITS
}

/// One query at one role.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) role: u32,
    /// The query's number at its tree.
    pub(super) number: u32,
    /// The number of the question to this role, 0 the first; below 16.
    pub(super) attempt: u8,
    /// Whether the query is in the measurement window.
    pub(super) measured: bool,
}

impl At {
    /// The query and the question as one number.
    pub(super) fn slot(self) -> u32 {
        u32::from(self.attempt) << NUMBER_BITS | self.number
    }

    /// The tag of the messages of this question.
    pub(super) fn tag(self) -> u32 {
        u32::from(self.attempt) << ROLE_BITS | self.role
    }

    /// The question in a set of questions.
    pub(super) fn bit(self) -> u16 {
        1 << self.attempt
    }
}

impl Due {
    /// Returns the purpose and the query of a token.
    pub(super) fn of(token: u64) -> (Self, At) {
        let due = match token >> 60 & 7 {
            0 => Self::Arrival,
            1 => Self::Ask,
            2 => Self::Answer,
            3 => Self::GiveUp,
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

    /// Returns the token of a wake.
    pub(super) fn token(self, query: At) -> u64 {
        u64::from(query.measured) << 63
            | (self as u64) << 60
            | u64::from(query.role) << 32
            | u64::from(query.slot())
    }
}

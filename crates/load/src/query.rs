//! Query format: the first bytes that a root sends to a leaf.

use std::io;
use std::time::Duration;

const MAGIC: [u8; 4] = *b"dlq1";
/// Length of a congestion control name, as in the kernel.
const NAME_BYTES: usize = 16;
/// Maximum length of an answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 1 << 30;
/// Maximum time until a deadline.
const MAX_DEADLINE: Duration = Duration::from_hours(1);

/// Query. Numbers are big-endian: four bytes `dlq1`, the answer's length in 8 bytes, the time left in microseconds in 8
/// (0 for no deadline), and the name of the congestion control in 16, padded with zeros (all zeros for D3 and `due`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Length of the answer: a zero byte, followed by any bytes. A leaf that cannot answer sends a nonzero byte and its
    /// error.
    pub answer_bytes: u64,
    /// Time from the query's arrival until the answer should have arrived.
    pub within: Option<Duration>,
    /// Congestion control for the answer; empty over D3 and `due`.
    pub congestion_control: String,
}

impl Query {
    /// Length of the encoded query.
    pub const BYTES: usize = 4 + 8 + 8 + NAME_BYTES;

    /// Encodes the query.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let within = self.within.map_or(0, |within| within.as_micros().max(1));
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..12].copy_from_slice(&self.answer_bytes.to_be_bytes());
        let within = u64::try_from(within).unwrap_or(u64::MAX);
        bytes[12..20].copy_from_slice(&within.to_be_bytes());
        let name = self.congestion_control.as_bytes();
        let length = name.len().min(NAME_BYTES - 1);
        bytes[20..20 + length].copy_from_slice(&name[..length]);
        bytes
    }

    /// Decodes a query. Returns [`io::ErrorKind::InvalidData`] with the allowed values if it is invalid.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> io::Result<Self> {
        let wrong = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message.to_owned());
        let long = |at: usize| u64::from_be_bytes(std::array::from_fn(|i| bytes[at + i]));
        if bytes[..4] != MAGIC {
            return Err(wrong("not a query of duetime load"));
        }
        let answer_bytes = long(4);
        if !(1..=MAX_ANSWER_BYTES).contains(&answer_bytes) {
            return Err(wrong("an answer has 1 byte to 1 GiB"));
        }
        let within = Duration::from_micros(long(12));
        if within > MAX_DEADLINE {
            return Err(wrong("a deadline is at most one hour away"));
        }
        let name = bytes[20..].split(|byte| *byte == 0).next();
        let name = std::str::from_utf8(name.unwrap_or_default());
        Ok(Self {
            answer_bytes,
            within: (!within.is_zero()).then_some(within),
            congestion_control: name
                .map_err(|_| wrong("the congestion control's name is not UTF-8"))?
                .to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_round_trip_and_invalid_ones_fail() {
        let query = Query {
            answer_bytes: 20_000,
            within: Some(Duration::from_millis(30)),
            congestion_control: "duetime_d2tcp".to_owned(),
        };
        let bytes = query.encode();
        assert_eq!(Query::decode(&bytes).unwrap(), query);
        let wrong = |at: usize, byte: u8| {
            let mut bytes = bytes;
            bytes[at] = byte;
            Query::decode(&bytes).unwrap_err().to_string()
        };
        assert!(wrong(0, 0).contains("not a query"));
        assert!(wrong(4, 1).contains("1 GiB"));
        assert!(wrong(12, 1).contains("one hour"));
        assert!(wrong(20, 0xff).contains("UTF-8"));
    }
}

//! Hosts of the topology, as values of keys.

use crate::diagnostic::Result;
use crate::expected::Expected;
use crate::keys::Kind::{self, Integer};
use crate::place::Place;

pub(super) const HOST: Kind = Integer(0, 999_999);

/// Reads a host of the topology.
pub(super) fn host<T: From<u32>>(place: &Place<'_>, _: &'static Kind) -> Result<T> {
    let hosts = place.scope.hosts;
    let allowed = Expected::range(0, hosts - 1);
    let host: u64 = place
        .integer(0, i64::MAX)
        .map_err(|error| error.expected(allowed.clone()))?;
    match u32::try_from(host) {
        Ok(host) if host < hosts => Ok(T::from(host)),
        _ => place.refuse(format!("the topology has {hosts} hosts"), allowed),
    }
}

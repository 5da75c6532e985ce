//! Systems other than Linux have no link files.

use duetime_core::Time;
use duetime_proto::due::endpoint::Endpoint;
use std::io;
use std::path::Path;

/// Link that the socket shares with others: none.
#[derive(Debug)]
pub enum SharedLink {}

impl SharedLink {
    pub fn join(_: &Path, _: u64) -> io::Result<Self> {
        let message = "only Linux has sockets that share a link";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    pub fn read(&mut self, _: Time, _: &mut Endpoint) {
        match *self {}
    }

    pub fn write(&mut self, _: Time, _: &mut Endpoint) {
        match *self {}
    }
}

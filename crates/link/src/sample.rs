//! Packet for unit tests.

use crate::Frame;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) bytes: u32,
    pub(crate) class: usize,
    pub(crate) marked: bool,
}

impl Sample {
    pub(crate) fn new(bytes: u32) -> Self {
        Self {
            bytes,
            class: 0,
            marked: false,
        }
    }
}

impl Frame for Sample {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn is_ecn_capable(&self) -> bool {
        true
    }
    fn mark(&mut self) {
        self.marked = true;
    }
    fn class(&self) -> usize {
        self.class
    }
}

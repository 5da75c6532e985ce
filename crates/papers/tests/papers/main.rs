//! Tests of whole campaigns: error messages of the reader, resuming after failures, and equal output where required.

mod beyond;
mod campaign;
mod reader;
mod settled;
mod shared;

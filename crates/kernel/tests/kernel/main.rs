//! The programs in the running kernel. Each test needs root and BTF; where one lacks, it says so in one line and passes.

#![forbid(unsafe_code)]

mod attach;
mod machine;
mod option;
mod verifier;

//! The programs in the running kernel. Each test needs root and BTF; where one lacks, it says so in one line and passes.

#![forbid(unsafe_code)]

mod attach;
mod churn;
mod deadline;
mod loss;
mod machine;
mod marks;
mod option;
mod policy;
mod verifier;
#[path = "../wire/mod.rs"]
mod wire;

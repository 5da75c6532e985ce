//! Tests of the programs in the running kernel. Tests without root or BTF print a line and pass.

#![forbid(unsafe_code)]

mod attach;
mod churn;
mod deadline;
mod loss;
mod machine;
mod marks;
mod option;
mod policy;
mod programs;
mod totals;
mod verifier;
#[path = "../wire/mod.rs"]
mod wire;

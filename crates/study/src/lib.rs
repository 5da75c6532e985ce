//! Studies: the runs of a scenario for each point of a sweep, each transport and each seed.
//!
//! A [`Request`] is resolved into a [`Plan`]. [`execute()`] makes the runs that the plan's folder lacks, and
//! [`gather()`], [`report()`] and [`explain()`] read the folder. The results depend on the plan alone: not on the
//! number of jobs, on interruptions, or on the processes that made the runs ([`remote`]). [`capacity`] chooses its own
//! points: it searches for the most that a transport carries.

#![forbid(unsafe_code)]

mod archive;
pub mod bound;
pub mod capacity;
pub mod compare;
mod demand;
mod effort;
mod error;
mod eta;
mod event;
mod execute;
mod explain;
mod gather;
mod looks;
mod memory;
mod objective;
mod plan;
mod pool;
pub mod remote;
mod report;
mod resume;
pub mod tables;
pub mod verdict;
pub mod warnings;

pub use error::StudyError;
pub use event::{Event, Listener, RunName, Silent};
pub mod text;

pub use archive::{manifest, plan, request};
pub use demand::describe_checked;
pub use effort::Effort;
pub use execute::{check, estimate, execute, missing};
pub use explain::{
    Choice, Explained, ExplainedFlow, ExplainedQuery, FlowChoice, QueryChoice, RunChoice, explain,
};
pub use gather::{Cell, Gathered, QueryRow, Row, gather, write_summary};
pub use looks::{known_as, palette};
pub use memory::{MANY_HOSTS, prefer_huge_pages};
pub use objective::{objective, objective_of_all, target};
pub use plan::{Job, Plan, Point, Request, load};
pub use pool::{
    ActiveRun, End, Engine, Estimator, Execution, Found, Made, Outcome, Simulator, Work, each,
};
pub use report::{PAGE_STYLE, capacity_page, page_script, report};
pub use resume::{Resume, pending, resume};
pub use warnings::{About, Warning};

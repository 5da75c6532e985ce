//! Whole runs compared with exact expectations: arithmetic to the picosecond, equal transports, conservation,
//! determinism.

mod bytes;
mod captures;
mod classes;
mod d3_counters;
mod determinism;
mod equal_transports;
mod line;
mod lone_d3;
mod lone_homa;
mod lone_pdq;
mod lone_pfabric;
mod lone_sird;
mod lone_tcp;
mod long_flows;
mod pdq_examples;
mod policed;
mod reception;
mod retries;
mod scaling;
mod servers;
mod spares;
mod workload_transports;

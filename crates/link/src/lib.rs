//! Switch ports without I/O.

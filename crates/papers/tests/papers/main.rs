//! The papers' campaign as a whole: experiments are read with messages that help, finished points survive anything, and
//! what must be equal is equal in the campaign's own output.

mod campaign;
mod reader;
mod shared;

//! Calls without a browser: reads requests as JSON lines and prints the responses with their durations, as
//! `{"seconds": …, "answer": …}`. `script/browser playground` compares a page with this program.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program with input, output and a clock"
)]

use duetime_web::Page;
use std::io::{BufRead, Write};
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let mut page = Page::default();
    let mut to = std::io::stdout().lock();
    for request in std::io::stdin().lock().lines() {
        let start = Instant::now();
        let answer = page.call(&request?);
        let seconds = start.elapsed().as_secs_f64();
        writeln!(to, "{{\"seconds\":{seconds},\"answer\":{answer}}}")?;
        to.flush()?;
    }
    Ok(())
}

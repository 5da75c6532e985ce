//! The same calls without a browser: reads requests, a line of JSON each, and prints the answers with the seconds that each
//! took, as `{"seconds": …, "answer": …}`. `script/playground` holds a page against it.

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
        let began = Instant::now();
        let answer = page.call(&request?);
        let seconds = began.elapsed().as_secs_f64();
        writeln!(to, "{{\"seconds\":{seconds},\"answer\":{answer}}}")?;
        to.flush()?;
    }
    Ok(())
}

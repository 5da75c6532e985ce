//! Measurements of the controllers in the running kernel, over a link between network namespaces (script/bench kernel).
//! Requires root.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "prints measurements")]

mod calls;
mod churn;
mod cpu;
mod fairness;
#[path = "../../tests/wire/mod.rs"]
mod wire;

use duetime_results::stats::Estimate;
use std::process::ExitCode;

const USAGE: &str =
    "kernel_bench fairness [PAIRS] | churn [CONNECTIONS] | cpu [PAIRS] | calls [PAIRS]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (benchmark, count) = match words[..] {
        [benchmark] => (benchmark, None),
        [benchmark, count] => match count.parse() {
            Ok(count @ 1..) => (benchmark, Some(count)),
            _ => ("", None),
        },
        _ => ("", None),
    };
    let good = match benchmark {
        "fairness" => fairness::measure(count.unwrap_or(40)),
        "churn" => churn::measure(count.unwrap_or(10_000)),
        "calls" => calls::measure(count.unwrap_or(20)),
        "cpu" => cpu::measure(count.unwrap_or(30)),
        _ => {
            println!("usage: {USAGE}");
            false
        }
    };
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Returns the mean with its 95 % interval.
fn mean(values: &[f64]) -> Estimate {
    Estimate::of(values, |drawn| {
        Some(drawn.iter().copied().sum::<f64>() / drawn.len() as f64)
    })
    .expect("values")
}

/// Formats an estimate, such as `0.5003 [0.4987, 0.5021]`.
fn format_estimate(estimate: &Estimate, digits: usize) -> String {
    let (value, low, high) = (estimate.value, estimate.low(), estimate.high());
    format!("{value:.digits$} [{low:.digits$}, {high:.digits$}]")
}

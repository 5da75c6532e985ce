//! One run of the simulator in this process, measured from inside.

use duetime_results::digest;
use duetime_scenario::NoFiles;
use duetime_sim::Options;
use std::time::Instant;

/// Runs `SCENARIO TRANSPORT [--threads N] [--rounds yes] [--set KEY=VALUE]...` and prints the cost.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let [file, transport, rest @ ..] = arguments else {
        return Err("child requires a scenario and a transport".to_owned());
    };
    let mut overrides = vec![("transport".to_owned(), format!("\"{transport}\""))];
    let mut options = Options {
        threads: 1,
        ..Options::default()
    };
    for pair in rest.chunks(2) {
        match pair {
            [flag, value] if flag == "--threads" => {
                options.threads = value.parse().map_err(|_| "--threads requires a number")?;
            }
            [flag, value] if flag == "--rounds" && value == "yes" => options.measures_rounds = true,
            [flag, value] if flag == "--set" => {
                let (key, value) = value.split_once('=').ok_or("--set requires KEY=VALUE")?;
                overrides.push((key.to_owned(), value.to_owned()));
            }
            other => return Err(format!("unknown argument: {}", other.join(" "))),
        }
    }
    measure(file, transport, &overrides, &options)
}

#[expect(clippy::print_stdout, reason = "the parent process reads the output")]
fn measure(
    file: &str,
    transport: &str,
    overrides: &[(String, String)],
    options: &Options,
) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let scenario = duetime_scenario::load(&text, file, overrides, &NoFiles)
        .map_err(|error| error.to_string())?;
    if !matches!(&scenario.transports[..], [only] if only.name == transport) {
        return Err(format!("{file} does not run under {transport} only"));
    }
    duetime_study::prefer_huge_pages(&scenario);
    let started = Instant::now();
    let output = duetime_sim::run(&scenario, 0, 0, options).map_err(|error| error.to_string())?;
    let nanoseconds = started.elapsed().as_nanos() as f64;
    let resident = peak_resident_kib();
    let totals = output.records.totals;
    let unfinished = output
        .records
        .flows
        .iter()
        .filter(|flow| flow.finish.is_none())
        .count();
    let finished = output
        .records
        .flows
        .iter()
        .filter_map(|flow| flow.finish)
        .max()
        .unwrap_or_default();
    let busiest = output.partition_hops.iter().max().copied();
    println!(
        "packet_hops={} busiest_share={:.4} ns_per_packet_hop={:.2} finished_us={:.3} flows={} unfinished={unfinished} resident_kib={resident} digest={}",
        totals.packet_hops,
        busiest.unwrap_or(0) as f64 / totals.packet_hops as f64,
        nanoseconds / totals.packet_hops as f64,
        finished.as_ps() as f64 / 1e6,
        output.records.flows.len(),
        digest(&output.records),
    );
    if let Some(rounds) = output.rounds {
        println!(
            "rounds={} longest_hops={} crossings={} work_s={:.3}",
            rounds.count,
            rounds.longest_hops,
            rounds.crossings,
            rounds.work.as_secs_f64(),
        );
    }
    Ok(())
}

/// Returns the peak resident memory of this process in KiB, or 0 if the system does not report it.
fn peak_resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

//! `duetime switch`.

mod live;
mod metrics;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use duetime_scenario::Diagnostic;
use duetime_study::text;
use duetime_switch::{Config, Report, Statistics, plain_interface};
use indicatif::ProgressBar;
use serde_json::json;

use crate::args::switch::Switch;
use crate::failure::Failure;
use crate::interrupt;
use crate::table::{Align, Table};
use crate::terminal::{stderr, stdout};

/// Interval of JSON lines and of updates on a terminal.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of checks for the end.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Forwards packets between interfaces until Ctrl-C, then prints a report.
pub fn switch(args: &Switch) -> Result<(), Failure> {
    let config = config(args)?;
    let page = args.prometheus.map(crate::metrics::bind).transpose()?;
    let opened = duetime_switch::Switch::open(&config);
    let mut switch = opened.map_err(|why| Failure::Input(why.to_string()))?;
    let statistics = switch.statistics();
    if let Some((server, url)) = page {
        writeln!(stderr(), "metrics at {url}")?;
        let statistics = Arc::clone(&statistics);
        // The thread runs until the process ends.
        thread::spawn(move || {
            crate::metrics::serve(server, move || Ok(metrics::page(statistics.report())))
        });
    }
    let stop = interrupt::flag_saying("stopping");
    if !args.json {
        let names = config.interfaces.iter().map(|one| one.name.clone());
        let names = text::list(names);
        writeln!(
            stderr(),
            "forwarding between {names}; press Ctrl-C to stop and print a report"
        )?;
    }
    let report = thread::scope(|scope| {
        let runner = scope.spawn(|| switch.run(&stop));
        let shown = show(args, &statistics, &stop, || runner.is_finished());
        stop.store(true, Ordering::Relaxed);
        let report = runner.join().expect("a panic ends the process");
        shown.and(report.map_err(|why| Failure::Runs(format!("error: {why}"))))
    })?;
    if args.json {
        return line("switch-finished", &report);
    }
    human(&report, config.options.real_time)
}

fn config(args: &Switch) -> Result<Config, Failure> {
    let mut config = match (&args.config, args.rate) {
        (Some(path), _) => read(path)?,
        (None, Some(rate)) => {
            let port = args.port(rate);
            let names = args.interfaces.iter();
            let interfaces = names.map(|name| plain_interface(name, &port));
            let mut config = Config::star("switch", interfaces.collect(), &port, None);
            config.options.d3.router.police = args.police;
            config
                .check()
                .map_err(|error| Failure::Input(error.to_string()))?;
            config
        }
        (None, None) => {
            return Err(Failure::Input("--interfaces requires --rate".to_owned()));
        }
    };
    config.options.real_time &= !args.normal_priority;
    Ok(config)
}

fn read(path: &Path) -> Result<Config, Failure> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|why| Diagnostic::of_file(&file, format!("cannot read the switch: {why}")))?;
    Ok(Config::parse(&text, &file)?)
}

/// Shows the switch's activity until it stops.
fn show(
    args: &Switch,
    statistics: &Statistics,
    stop: &AtomicBool,
    is_finished: impl Fn() -> bool,
) -> Result<(), Failure> {
    let bar = (!args.json && std::io::stderr().is_terminal()).then(ProgressBar::new_spinner);
    let start = Instant::now();
    let end = args.time.map(|time| Duration::from_nanos(time.as_ns()));
    let (mut last_report, mut previous) = (start, Report::default());
    while !stop.load(Ordering::Relaxed) && !is_finished() {
        let remaining = end.map_or(POLL_INTERVAL, |end| end.saturating_sub(start.elapsed()));
        if remaining.is_zero() {
            break;
        }
        thread::sleep(remaining.min(POLL_INTERVAL));
        if last_report.elapsed() < REPORT_INTERVAL {
            continue;
        }
        last_report = Instant::now();
        let report = statistics.report();
        if args.json {
            line("switch", &report)?;
        } else if let Some(bar) = &bar {
            bar.set_message(live::live(&previous, &report));
            bar.tick();
        }
        previous = report;
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(())
}

/// Prints a report as one line of JSON.
fn line(event: &str, report: &Report) -> Result<(), Failure> {
    let mut object = serde_json::to_value(report).expect("plain data");
    object["event"] = json!(event);
    let mut out = stdout();
    writeln!(out, "{object}")?;
    Ok(out.flush()?)
}

fn human(report: &Report, wants_real_time: bool) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("port", Align::Left),
        ("packets", Align::Right),
        ("bytes", Align::Right),
        ("dropped", Align::Right),
        ("marked", Align::Right),
        ("asked to mark", Align::Right),
        ("mean queue", Align::Right),
        ("largest queue", Align::Right),
    ]);
    for port in &report.ports {
        table.row(vec![
            port.name.clone(),
            port.packets.to_string(),
            text::bytes(port.bytes as f64),
            port.drops.to_string(),
            port.marks_made.to_string(),
            port.marks_asked.to_string(),
            text::bytes(port.queue_mean_bytes),
            text::bytes(port.queue_max_bytes as f64),
        ]);
    }
    let mut out = stdout();
    write!(out, "{table}")?;
    routers(&mut out, report)?;
    let late = &report.lateness;
    let seconds = |ns: u64| text::seconds(ns as f64 / 1e9);
    writeln!(
        out,
        "{} packets sent in {}; processor busy {}; later than due: median {}, 99 % within {}, at most {}",
        late.packets,
        seconds(report.wall_ns),
        text::percent(report.cpu_ns as f64 / report.wall_ns.max(1) as f64),
        seconds(late.p50_ns),
        seconds(late.p99_ns),
        seconds(late.max_ns)
    )?;
    if wants_real_time && !report.real_time {
        writeln!(
            out,
            "WARNING  the kernel refused the real-time scheduler: packets may be late by milliseconds (CAP_SYS_NICE)"
        )?;
    }
    for warning in warnings(report) {
        writeln!(out, "WARNING  {warning}")?;
    }
    Ok(())
}

/// Prints a table of the D3 routers, if any.
fn routers(out: &mut impl Write, report: &Report) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("D3 at port", Align::Left),
        ("flows", Align::Right),
        ("demand", Align::Right),
        ("allocated", Align::Right),
        ("capacity", Align::Right),
        ("requests", Align::Right),
        ("denied", Align::Right),
        ("unanswered", Align::Right),
        ("policed", Align::Right),
    ]);
    let ports = report.ports.iter();
    let with_d3: Vec<_> = ports.filter_map(|port| Some((port, port.d3?))).collect();
    for (port, d3) in &with_d3 {
        table.row(vec![
            port.name.clone(),
            d3.flows.to_string(),
            text::rate(d3.demand_bps as f64),
            text::rate(d3.allocated_bps as f64),
            text::rate(d3.capacity_bps as f64),
            d3.requests.to_string(),
            d3.denied.to_string(),
            d3.unanswered.to_string(),
            d3.policed.to_string(),
        ]);
    }
    if !with_d3.is_empty() {
        write!(out, "{table}")?;
    }
    Ok(())
}

/// Returns warnings about packets that a hardware switch would have forwarded.
fn warnings(report: &Report) -> Vec<String> {
    let mut warnings = Vec::new();
    if report.kernel_drops > 0 {
        warnings.push(format!(
            "{} packets were lost before reaching the switch, because this machine cannot forward that many",
            report.kernel_drops
        ));
    }
    for interface in &report.interfaces {
        let name = &interface.name;
        let cases = [
            (
                interface.too_long,
                "longer than the MTU: turn off offloads at the far end (ethtool -K DEVICE tx off sg off tso off gso off gro off)",
            ),
            (
                interface.no_buffer,
                "found no buffer: the queues exceed the memory of the switch",
            ),
            (interface.unsent, "were rejected by the device"),
        ];
        for (packets, why) in cases {
            if packets > 0 {
                warnings.push(format!("{name}: {packets} packets {why}"));
            }
        }
    }
    warnings
}

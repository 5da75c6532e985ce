//! Prints a page with one figure of each kind, for visual checks:
//! `cargo run -p duetime-figures --example gallery > gallery.html`. With `--svg N`, prints only figure N; the
//! first is 0.

#![expect(clippy::disallowed_methods, reason = "a program with arguments")]
#![expect(clippy::print_stdout, reason = "an example prints")]

use duetime_figures::{Axis, Figure, Guide, Panel, Point, Series, Style};

fn main() {
    let figures = [
        lines(),
        bars(),
        cdf(),
        series(),
        coinciding(),
        small_multiples(),
        tiny_bars(),
    ];
    let mut arguments = std::env::args()
        .skip_while(|argument| argument != "--svg")
        .skip(1);
    if let Some(figure) = arguments
        .next()
        .and_then(|n| figures.get(n.parse::<usize>().ok()?))
    {
        print!("{}", figure.to_svg());
        return;
    }
    println!("<!doctype html><meta charset=utf-8><meta name=viewport content=width=device-width>");
    println!(
        "<title>Figures</title><style>:root{{color-scheme:light dark}}body{{margin:1rem}}</style>"
    );
    for figure in &figures {
        println!("{}", figure.to_svg());
    }
}

fn lines() -> Figure {
    let schemes = [
        ("tcp", 9.0),
        ("dctcp", 6.0),
        ("rcpdc", 5.0),
        ("d3", 2.0),
        ("d2tcp", 1.5),
        ("ideal", 0.7),
        ("tcp-prio", 4.0),
        ("rcpdc-prio", 3.0),
    ];
    let series = schemes.map(|(name, slope)| {
        let points = (1..=8).map(|i| {
            let (x, y) = (f64::from(i) * 5.0, slope * f64::from(i * i) / 16.0);
            Point {
                x,
                y,
                low: y * 0.85,
                high: y * 1.1,
            }
        });
        Series::new(name, Style::Line, points.collect())
    });
    let mut panel = Panel::new(
        Axis::linear("Leaves per query", ""),
        Axis::linear("Missed deadlines", "%"),
        series.to_vec(),
    );
    panel.title = "Search fan-out".into();
    panel.guides.push(Guide {
        vertical: false,
        at: 1.0,
        label: "target: 99 % met".into(),
    });
    let mut second = panel.clone();
    second.title = "Logarithmic scale".into();
    second.y = Axis::log("Missed deadlines", "%");
    let mut figure = Figure::single(
        "Missed deadlines by fan-in, 1,000 hosts, 50 % deadline variation",
        "",
        panel,
    );
    figure.panels.push(second);
    figure
}

fn bars() -> Figure {
    let values = [
        ("tcp", [80.0, 61.0, 40.0]),
        ("dctcp", [101.0, 88.0, 76.0]),
        ("d2tcp", [99.0, 86.0, 71.0]),
    ];
    let series = values.map(|(name, heights)| {
        let points = heights.iter().enumerate().map(|(i, &y)| Point {
            x: i as f64,
            y,
            low: y - 4.0,
            high: y + 6.0,
        });
        Series::new(name, Style::Bars, points.collect())
    });
    let x = Axis::names("", ["background, web search", "storage", "long flows"]);
    let y = Axis::linear("Goodput while active", "MB/s");
    let panel = Panel::new(x, y, series.to_vec());
    let mut figure = Figure::single("Goodput by class", "", panel);
    let names = [
        "memcached",
        "hadoop-background",
        "storage",
        "websearch",
        "datamining",
        "long",
    ];
    let points = (0..6).map(|i| Point::new(f64::from(i), f64::from(100 - 7 * i)));
    figure.panels.push(Panel::new(
        Axis::names("", names),
        Axis::linear("Goodput while active", "MB/s"),
        vec![Series::new("d3", Style::Bars, points.collect())],
    ));
    figure
}

fn cdf() -> Figure {
    let values = |scale: f64| {
        (1..400).map(move |i| {
            scale * (1.0 + f64::from(i * i % 397) / 40.0) / (1.0 - f64::from(i) / 400.0)
        })
    };
    let series = [("dctcp", 1.2), ("d3", 0.9), ("mine", 0.6)]
        .map(|(name, scale)| Series::cdf(name, &values(scale).collect::<Vec<f64>>()));
    let mut panel = Panel::new(
        Axis::log("Completion time", "ms"),
        Axis::linear("Share of flows", "").between(0.0, 1.0),
        series.to_vec(),
    );
    panel.guides.push(Guide {
        vertical: true,
        at: 35.0,
        label: "deadline".into(),
    });
    Figure::single("Completion times", "", panel)
}

fn series() -> Figure {
    let points = (0..20_000).map(|i| {
        Point::new(
            f64::from(i) / 20.0,
            f64::from((i * 7_919) % 331 + i / 100) * 0.2,
        )
    });
    let panel = Panel::new(
        Axis::linear("Time", "ms"),
        Axis::linear("Queue", "KB"),
        vec![Series::new("dctcp", Style::Step, points.collect())],
    );
    Figure::single("Queue of leaf3->h112", "", panel)
}

/// Returns a figure with four schemes, three of which coincide over most of the range, and a published bound.
fn coinciding() -> Figure {
    let series = |name: &str, end: f64| {
        let points = (1..=9).map(|i| {
            let y = if i < 7 { 0.0 } else { f64::from(i - 6) * end };
            Point::new(f64::from(i) * 5.0, y)
        });
        Series::new(name, Style::Line, points.collect())
    };
    let mut panel = Panel::new(
        Axis::linear("Fan-in", ""),
        Axis::linear("Missed deadlines", "%"),
        vec![
            series("tcp", 9.0),
            series("d3", 6.0),
            series("dctcp", 5.0),
            series("d2tcp", 5.05),
        ],
    );
    let bound = vec![Point::new(40.0, 7.0)];
    panel
        .series
        .push(Series::new("d2tcp", Style::AtMost, bound));
    let floor = (2..=5).map(|i| Point::new(f64::from(i) * 5.0, 1.0));
    panel
        .series
        .push(Series::new("tcp", Style::AtLeast, floor.collect()));
    Figure::single("Overlapping lines", "", panel)
}

fn small_multiples() -> Figure {
    let panel = |name: &str, scale: f64| {
        let points = (0..400).map(|i| {
            Point::new(
                212.0 + f64::from(i) / 4.0,
                scale * (400.0 + f64::from(i * 7_919 % 157)),
            )
        });
        Panel {
            title: name.into(),
            ..Panel::new(
                Axis::linear("simulated time", "ms"),
                Axis::linear("queue", "KB"),
                vec![Series::new(name, Style::Step, points.collect())],
            )
        }
    };
    Figure {
        title: "Queue under each transport".into(),
        description: String::new(),
        panels: vec![panel("tcp", 3.0), panel("dctcp", 1.0), panel("d3", 0.02)],
        ..Figure::default()
    }
}

fn tiny_bars() -> Figure {
    let values = [
        ("tcp", [80.0, 61.0, 40.0]),
        ("dctcp", [1.1, 0.02, 7.0]),
        ("d3", [0.034, 12.0, 0.0]),
        ("d2tcp", [2.0, 0.0, 3.17]),
        ("optimum", [0.0, 0.0, 0.0]),
    ];
    let series = values.map(|(name, heights)| {
        let points = heights.iter().enumerate().map(|(i, &y)| Point {
            x: i as f64,
            y,
            low: y * 0.6,
            high: y * 1.5,
        });
        Series::new(name, Style::Bars, points.collect())
    });
    let axis = Axis::linear("Missed deadlines", "%");
    let panel = Panel::new(
        Axis::names("", ["fan-in 20", "fan-in 30", "fan-in 40"]),
        axis.clone(),
        series.to_vec(),
    );
    let mut figure = Figure::single("Missed deadlines", "", panel);
    figure.panels.push(Panel::new(
        Axis::names("", ["search response"]),
        axis,
        series
            .iter()
            .map(|s| Series::new(&s.name, Style::Bars, s.points[..1].to_vec()))
            .collect(),
    ));
    figure
}

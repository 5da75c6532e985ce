#![expect(
    clippy::disallowed_methods,
    reason = "snapshot files are rewritten if the environment variable BLESS is set"
)]
use super::*;
use proptest::prelude::*;

fn check(figure: &Figure) -> String {
    let svg = figure.to_svg();
    let document = roxmltree::Document::parse(&svg).expect("well-formed");
    assert_eq!(document.root_element().tag_name().name(), "svg");
    for node in document.descendants() {
        for attribute in node.attributes() {
            let bare = !["id", "aria-labelledby", "style"].contains(&attribute.name());
            let wrong = ["NaN", "inf"]
                .iter()
                .any(|word| attribute.value().contains(word));
            assert!(
                !(bare && wrong),
                "{} = {}",
                attribute.name(),
                attribute.value()
            );
        }
    }
    svg
}

/// Returns the JSON data of a figure, after checking that the drawing is equal without it.
fn data(figure: &Figure) -> serde_json::Value {
    let svg = figure.to_svg_with_data();
    let document = roxmltree::Document::parse(&svg).expect("well-formed");
    let metadata = document
        .descendants()
        .find(|node| node.has_tag_name("metadata"));
    let json = metadata.and_then(|node| node.text()).expect("data");
    assert_eq!(
        svg.replacen(&format!("<metadata>{json}</metadata>\n"), "", 1),
        figure.to_svg()
    );
    serde_json::from_str(json).expect("JSON")
}

/// Creates a figure of one panel, with solid looks for the transports.
fn single(title: &str, description: &str, panel: Panel) -> Figure {
    let mut palette = Palette::default();
    for (name, look) in [
        ("tcp", "grey square solid"),
        ("dctcp", "vermilion diamond solid"),
        ("d2tcp", "blue circle solid"),
        ("d3", "green triangle solid"),
    ] {
        let look = look.parse().expect("a look");
        palette.add(name, look).expect("no two look alike");
    }
    Figure {
        palette,
        ..Figure::single(title, description, panel)
    }
}

fn estimate(x: f64, y: f64, by: f64) -> Point {
    Point {
        x,
        y,
        low: y - by,
        high: y + by,
    }
}

fn small() -> Figure {
    let points = vec![
        estimate(10.0, 0.5, 0.2),
        estimate(20.0, 1.5, 0.5),
        estimate(30.0, 8.0, 1.0),
    ];
    let mut panel = Panel::new(
        Axis::linear("Senders", ""),
        Axis::linear("Missed deadlines", "%"),
        vec![Series::new("d3", Style::Line, points)],
    );
    panel.guides.push(Guide {
        vertical: false,
        at: 1.0,
        label: "99 % met".into(),
    });
    single("Missed deadlines <by senders>", "D3 & nobody else.", panel)
}

#[test]
fn small_figure_matches_snapshot() {
    let svg = check(&small());
    if std::env::var_os("BLESS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/snapshots/small.svg");
        std::fs::write(path, &svg).expect("the snapshot can be written");
        return;
    }
    assert_eq!(
        svg,
        include_str!("snapshots/small.svg"),
        "if the change is intended, run the test once with BLESS=1"
    );
}

#[test]
fn data_contains_the_drawn_elements() {
    let panels = data(&small());
    let panel = &panels[0];
    assert_eq!(panel["box"], serde_json::json!([26.9, 73, 399.1, 190]));
    assert_eq!(panel["x"]["ends"], serde_json::json!([10, 30]));
    assert_eq!(panel["y"]["unit"], "%");
    assert_eq!(panel["y"]["ticks"][1], serde_json::json!([2, "2"]));
    assert_eq!(
        panel["guides"][0],
        serde_json::json!([false, 1, "99 % met"])
    );
    let d3 = &panel["series"][0];
    assert_eq!((&d3["name"], &d3["style"]), (&"d3".into(), &"line".into()));
    assert_eq!(d3["points"], serde_json::json!([10, 0.5, 20, 1.5, 30, 8]));
    assert_eq!(d3["intervals"], serde_json::json!([0.3, 0.7, 1, 2, 7, 9]));
}

#[test]
fn diagonal_is_where_x_equals_y() {
    let panel = |x: Axis| Panel {
        diagonal: "just in time".into(),
        ..Panel::new(
            x,
            Axis::linear("took", "ms").between(0.0, 10.0),
            vec![Series::new(
                "d3",
                Style::Dots,
                vec![Point::new(2.0, 1.0), Point::new(8.0, 9.0)],
            )],
        )
    };
    let path = |x: Axis| {
        let svg = check(&single("", "", panel(x)));
        assert!(svg.contains(">just in time</text>"));
        let document = roxmltree::Document::parse(&svg).unwrap();
        let clipped = document.descendants().find(|node| {
            node.attribute("stroke-dasharray") == Some("2 3")
                && node
                    .ancestors()
                    .any(|parent| parent.attribute("clip-path").is_some())
        });
        clipped
            .and_then(|node| node.attribute("d"))
            .unwrap()
            .to_owned()
    };
    let straight = path(Axis::linear("allowed", "ms").between(0.0, 10.0));
    // The path runs from corner to corner and rises equally in each of its 48 segments.
    let ups: Vec<f64> = straight
        .split(['M', 'L'])
        .skip(1)
        .map(|corner| corner.split_once(' ').unwrap().1.parse().unwrap())
        .collect();
    assert_eq!(ups.len(), 49);
    assert!((ups[0] - ups[48] - 190.0).abs() < 0.2, "{straight}");
    let even = |pair: &[f64]| (pair[0] - pair[1] - 190.0 / 48.0).abs() < 0.2;
    assert!(ups.windows(2).all(even), "{straight}");
    assert_ne!(
        straight,
        path(Axis::log("allowed", "ms").between(1.0, 10.0))
    );
}

#[test]
fn screen_reader_text_is_present() {
    let svg = check(&small());
    let document = roxmltree::Document::parse(&svg).unwrap();
    let text = |name: &str| {
        document
            .descendants()
            .find(|node| node.has_tag_name(name))
            .and_then(|node| node.text())
    };
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    assert_eq!(
        root.first_element_child().unwrap().text(),
        Some("Missed deadlines <by senders>")
    );
    assert!(svg.contains("D3 &amp; nobody else."));
    assert!(text("desc").is_some());
    let ids: Vec<&str> = root
        .attribute("aria-labelledby")
        .unwrap()
        .split(' ')
        .collect();
    for id in ids {
        assert!(
            document
                .descendants()
                .any(|node| node.attribute("id") == Some(id))
        );
    }
}

#[test]
fn figures_of_one_page_do_not_share_ids() {
    let mut other = small();
    other.panels[0].series[0].points[0].y += 0.1;
    let id = |figure: &Figure| {
        let svg = figure.to_svg();
        let document = roxmltree::Document::parse(&svg).unwrap();
        document
            .root_element()
            .attribute("aria-labelledby")
            .unwrap()
            .to_owned()
    };
    assert_ne!(id(&small()), id(&other));
}

#[test]
fn lines_are_clipped_and_markers_whole() {
    let mut figure = small();
    figure.panels[0].y.from = Some(5.0); // the first two points are below it
    let svg = check(&figure);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let rect = |node: roxmltree::Node| {
        let group = node
            .ancestors()
            .find_map(|node| node.attribute("clip-path"));
        let id = group
            .unwrap()
            .trim_start_matches("url(#")
            .trim_end_matches(')');
        let clip = document
            .descendants()
            .find(|node| node.attribute("id") == Some(id))
            .unwrap();
        let number = |name| -> f64 {
            let rect = clip.first_element_child().unwrap();
            rect.attribute(name).unwrap().parse().unwrap()
        };
        (number("y"), number("y") + number("height"))
    };
    let grid = document
        .descendants()
        .find(|node| node.attribute("stroke-opacity") == Some("0.7"))
        .and_then(|node| node.attribute("d"))
        .unwrap();
    let bottom: f64 = grid[1..grid.find('H').unwrap()]
        .split(' ')
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let inside = |node: &roxmltree::Node| {
        node.ancestors()
            .any(|above| above.attribute("clip-path").is_some())
    };
    let line = document
        .descendants()
        .find(|node| node.attribute("stroke-width") == Some("1.8") && inside(node))
        .unwrap();
    assert_eq!(rect(line), (bottom - 191.0, bottom + 1.0));
    let marker = document
        .descendants()
        .find(|node| node.has_tag_name("title") && inside(node))
        .unwrap();
    assert_eq!(rect(marker), (bottom - 198.0, bottom + 8.0));
}

#[test]
fn bars_start_at_zero() {
    let bars = |name: &str, y: f64| {
        Series::new(
            name,
            Style::Bars,
            vec![estimate(0.0, y, 1.0), estimate(1.0, y / 2.0, 1.0)],
        )
    };
    let panel = Panel::new(
        Axis::names("", ["incast", "search"]),
        Axis::linear("Goodput", "MB/s"),
        vec![bars("tcp", 90.0), bars("dctcp", 100.0)],
    );
    let svg = check(&single("Goodput", "", panel));
    let document = roxmltree::Document::parse(&svg).unwrap();
    let number =
        |node: &roxmltree::Node, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let tipped = document
        .descendants()
        .filter(|node| node.has_tag_name("rect") && node.has_children());
    let bottoms: Vec<f64> = tipped
        .map(|node| number(&node, "y") + number(&node, "height"))
        .collect();
    assert_eq!(bottoms.len(), 4);
    assert!(
        bottoms
            .iter()
            .all(|bottom| (bottom - bottoms[0]).abs() < 0.15),
        "{bottoms:?}"
    );
    assert!(svg.contains("<title>dctcp, search: 50 MB/s (49 to 51)</title>"));
}

#[test]
fn cdf_ends_at_one() {
    let series = Series::cdf("tcp", &[3.0, f64::NAN, 1.0, 2.0, 2.0]);
    let last = series.points.last().unwrap();
    assert_eq!((last.x, last.y), (3.0, 1.0));
    assert_eq!(series.points[0], Point::new(1.0, 0.0));
    assert_eq!(series.points.len(), 5);
    check(&single(
        "CDF",
        "",
        Panel::new(Axis::log("Time", "ms"), Axis::default(), vec![series]),
    ));
}

#[test]
fn thinned_series_keeps_extremes() {
    let mut points: Vec<Point> = (0..100_000)
        .map(|i| Point::new(f64::from(i), 10.0))
        .collect();
    points[54_321].y = 99.0;
    let panel = Panel::new(
        Axis::linear("Time", "us"),
        Axis::default(),
        vec![Series::new("", Style::Step, points)],
    );
    let svg = check(&single("Queue", "", panel));
    assert!(svg.len() < 40_000, "{}", svg.len());
    let plain = |y: f64| svg.matches(&format!("V{}", svg::number(y))).count();
    let heights: Vec<f64> = (0..4_000)
        .map(|y| f64::from(y) / 10.0)
        .filter(|&y| plain(y) == 1)
        .collect();
    assert!(!heights.is_empty(), "the single high point is drawn");
}

#[test]
fn figure_without_points_is_valid() {
    check(&Figure::default());
    check(&single("Empty", "", Panel::default()));
    let unseen = Series::new(
        "d3",
        Style::Line,
        vec![Point::new(f64::NAN, 1.0), Point::new(1.0, f64::INFINITY)],
    );
    check(&single(
        "Unseen",
        "",
        Panel::new(Axis::default(), Axis::log("", ""), vec![unseen]),
    ));
}

fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        5 => -1e3f64..1e3,
        1 => proptest::num::f64::ANY,
        1 => Just(0.0),
    ]
}

fn any_series() -> impl Strategy<Value = Series> {
    let points = (any_value(), any_value(), any_value(), any_value())
        .prop_map(|(x, y, low, high)| Point { x, y, low, high });
    let style = prop_oneof![
        Just(Style::Line),
        Just(Style::Step),
        Just(Style::Bars),
        Just(Style::Points),
        Just(Style::Dots)
    ];
    (
        any::<String>(),
        style,
        proptest::collection::vec(points, 0..12),
    )
        .prop_map(|(name, style, points)| Series::new(&name, style, points))
}

fn any_axis() -> impl Strategy<Value = Axis> {
    let scale = prop_oneof![
        Just(Scale::Linear),
        Just(Scale::Log),
        proptest::collection::vec(any::<String>(), 0..4).prop_map(Scale::Names),
    ];
    let end = || proptest::option::weighted(0.2, any_value());
    (any::<String>(), any::<String>(), scale, end(), end()).prop_map(
        |(label, unit, scale, from, to)| Axis {
            label,
            unit,
            scale,
            from,
            to,
        },
    )
}

proptest! {
    #[test]
    fn any_input_gives_a_well_formed_figure(
        title in any::<String>(),
        x in any_axis(),
        y in any_axis(),
        series in proptest::collection::vec(any_series(), 0..4),
        at in any_value(),
        vertical in any::<bool>(),
    ) {
        let mut panel = Panel::new(x, y, series);
        panel.guides.push(Guide { vertical, at, label: title.clone() });
        panel.diagonal.clone_from(&title);
        let figure = single(&title, &title, panel);
        check(&figure);
        let panels = data(&figure);
        prop_assert_eq!(panels.as_array().unwrap().len(), 1);
        prop_assert_eq!(panels[0]["series"].as_array().unwrap().len(), figure.panels[0].series.len());
    }
}

/// Returns the values of an attribute of all elements of one kind, in document order.
fn attributes(svg: &str, name: &str, attribute: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    document
        .descendants()
        .filter(|node| node.has_tag_name(name))
        .filter_map(|node| node.attribute(attribute).map(str::to_owned))
        .collect()
}

#[test]
fn equal_axes_share_ends_and_include_zero() {
    let panel = |from: f64, to: f64, label: &str| {
        let points = vec![Point::new(1.0, from), Point::new(2.0, to)];
        Panel::new(
            Axis::linear("time", "ms"),
            Axis::linear(label, "KB"),
            vec![Series::new("tcp", Style::Step, points)],
        )
    };
    let labels = |panels: Vec<Panel>| {
        let figure = Figure {
            panels,
            ..Figure::default()
        };
        let svg = check(&figure);
        let document = roxmltree::Document::parse(&svg).unwrap();
        let text = document
            .descendants()
            .filter(|node| node.attribute("text-anchor") == Some("end"));
        text.filter_map(|node| node.text().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    let both = labels(vec![
        panel(430.0, 550.0, "queue"),
        panel(1.0, 18.0, "queue"),
    ]);
    let (first, second) = both.split_at(both.len() / 2);
    assert_eq!(first, second);
    assert_eq!(
        (first[0].as_str(), first.last().unwrap().as_str()),
        ("0", "600")
    );
    // `share_axes` has the same effect on separate figures.
    let mut apart = vec![panel(430.0, 550.0, "queue"), panel(1.0, 18.0, "queue")];
    share_axes(&mut apart);
    for panel in apart {
        assert_eq!(labels(vec![panel]), first);
    }
    // Panels with different quantities have separate axes.
    let alone = labels(vec![panel(430.0, 550.0, "queue"), panel(1.0, 18.0, "rate")]);
    assert_eq!(alone[0], "400");
    assert_eq!(alone.last().unwrap(), "20");
}

#[test]
fn overlapping_lines_are_dashed() {
    let lines = |by: f64| {
        let points = |by: f64| (0..9).map(move |i| Point::new(f64::from(i), f64::from(i * i) + by));
        let series = |name: &str, by| Series::new(name, Style::Line, points(by).collect());
        let panel = Panel::new(
            Axis::linear("Senders", ""),
            Axis::linear("missed", "%"),
            vec![series("dctcp", 0.0), series("d2tcp", by)],
        );
        check(&single("", "", panel))
    };
    let (same, apart) = (lines(0.0), lines(20.0));
    assert!(attributes(&same, "path", "stroke-dasharray").contains(&"8 8".to_owned()));
    assert!(same.contains("overlapping lines"));
    assert!(attributes(&apart, "path", "stroke-dasharray").is_empty());
    assert!(!apart.contains("overlapping lines"));
}

#[test]
fn low_bars_are_labelled() {
    let bars = |values: &[f64]| {
        let points = values.iter().enumerate();
        let points = points.map(|(i, &y)| Point::new(i as f64, y)).collect();
        let names = values.iter().map(|value| format!("at {value}"));
        let panel = Panel::new(
            Axis::names("", names),
            Axis::linear("missed", "%"),
            vec![Series::new("d3", Style::Bars, points)],
        );
        check(&single("", "", panel))
    };
    let svg = bars(&[90.0, 0.0321, 0.0]);
    assert!(svg.contains(">0.0321</text>") && svg.contains("text-anchor=\"middle\">0</text>"));
    assert!(!svg.contains(">90</text>"));
}

#[test]
fn bound_is_an_arrow() {
    let series = |style, y| Series::new("d2tcp", style, vec![Point::new(0.0, y)]);
    let panel = Panel::new(
        Axis::names("", ["40"]),
        Axis::linear("missed", "%"),
        vec![series(Style::Bars, 19.0), series(Style::AtMost, 7.0)],
    );
    let svg = check(&single("", "", panel));
    assert!(svg.contains("<title>published, at most: d2tcp, 40: 7 %</title>"));
    assert!(svg.contains(">published bound</text>") && !svg.contains(">published</text>"));
    let arrow = attributes(&svg, "path", "d");
    assert!(arrow.iter().any(|path| path.contains("h16M")), "{arrow:?}");
}

#[test]
fn left_margin_is_kept() {
    let mut panel = small().panels.remove(0);
    panel.title = "A panel".into();
    let svg = check(&single("Title", "", panel));
    let starts = attributes(&svg, "text", "x");
    assert!(
        starts.iter().all(|x| x.parse::<f64>().unwrap() >= 4.0),
        "{starts:?}"
    );
    for path in attributes(&svg, "path", "d") {
        let x: f64 = path[1..].split([' ', 'H']).next().unwrap().parse().unwrap();
        assert!(x >= 4.0, "{path}");
    }
}

//! Drawing of a whole figure: title, legend, panels.

use crate::Figure;
use crate::data;
use crate::frame::Frame;
use crate::layout::{LEFT, TEXT, TITLE, WIDTH, wrapped};
use crate::legend::Legend;
use crate::reach::reaches;
use crate::svg::{Svg, number};

pub(crate) fn figure(figure: &Figure, with_data: bool) -> String {
    let id = identity(figure);
    let names = names(figure);
    let looks = figure.palette.looks(&names);
    let title = wrapped(&figure.title, TITLE, WIDTH - LEFT);
    let look = |name: &str| {
        let known = names.iter().position(|known| *known == name);
        known.map_or(looks[0], |i| looks[i])
    };
    let reaches = reaches(&figure.panels);
    let mut all = figure.panels.iter().zip(&reaches);
    let overlaps =
        all.any(|(panel, reach)| Frame::new(panel, reach, 0.0).has_overlaps(panel, &look));
    let legend = Legend::new(figure, &names, &looks, overlaps);
    let head = title.len() as f64 * 19.0 + 4.0;
    let frames: Vec<Frame> = {
        let mut top = head + legend.height();
        let place = |(panel, reach)| {
            let frame = Frame::new(panel, reach, top);
            top = frame.end;
            frame
        };
        figure.panels.iter().zip(&reaches).map(place).collect()
    };
    let height = frames
        .last()
        .map_or(head + legend.height(), |frame| frame.end);

    let mut svg = Svg::new();
    let (title_id, description_id) = (format!("{id}t"), format!("{id}d"));
    svg.open(
        "svg",
        &[
            ("xmlns", "http://www.w3.org/2000/svg"),
            (
                "viewBox",
                &format!("0 0 {} {}", number(WIDTH), number(height)),
            ),
            ("role", "img"),
            ("aria-labelledby", &format!("{title_id} {description_id}")),
            (
                "font-family",
                "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif",
            ),
            ("font-size", &number(TEXT)),
            ("fill", "currentColor"),
            ("style", "width:100%;max-width:640px;height:auto"),
        ],
    );
    svg.leaf("title", &[("id", &title_id)], &figure.title);
    svg.leaf("desc", &[("id", &description_id)], &figure.description);
    for (i, line) in title.iter().enumerate() {
        let look = [("font-size", &*number(TITLE)), ("font-weight", "600")];
        svg.text((LEFT, 15.0 + 19.0 * i as f64), &look, line);
    }
    legend.draw(&mut svg, head);
    for (i, (panel, frame)) in figure.panels.iter().zip(&frames).enumerate() {
        frame.draw(&mut svg, panel, &look, &format!("{id}p{i}"));
    }
    if with_data {
        let panels = figure.panels.iter().zip(&frames).zip(&reaches);
        let panels = panels.map(|((panel, frame), reach)| (panel, frame, reach.zero));
        svg.data(&data::json(panels, &look));
    }
    svg.finish()
}

/// Returns an ID that differs between figures, so that several can share a page.
fn identity(figure: &Figure) -> String {
    let text = format!("{figure:?}");
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("f{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}

/// Returns the distinct names of all series, in order of appearance.
fn names(figure: &Figure) -> Vec<&str> {
    let mut names = Vec::new();
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    names
}

//! Figures: title, legend, panels.

use crate::data;
use crate::frame::Frame;
use crate::layout::{LEFT, TEXT, TITLE, WIDTH, wrapped};
use crate::legend::Legend;
use crate::marks::Ink;
use crate::palette::{Look, Palette};
use crate::panel::Panel;
use crate::reach::reaches;
use crate::series::{Series, Style};
use crate::svg::{Svg, number};

/// Figure, drawn by [`Figure::to_svg`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Title, drawn above the panels.
    pub title: String,
    /// Text alternative for readers who cannot see the figure.
    pub description: String,
    /// Panels, top to bottom. Panels with equal axes share the ends of these axes, and shared linear axes include zero.
    pub panels: Vec<Panel>,
    /// Looks of the series.
    pub palette: Palette,
}

impl Figure {
    /// Creates a figure with one panel.
    pub fn single(title: &str, description: &str, panel: Panel) -> Self {
        Self {
            title: title.to_owned(),
            description: description.to_owned(),
            panels: vec![panel],
            palette: Palette::default(),
        }
    }

    /// Draws the figure as one `<svg>` element, for a page or a separate file.
    pub fn to_svg(&self) -> String {
        draw(self, false)
    }

    /// Draws the figure with its data as JSON in a `metadata` element, for pages with a script that redraws it.
    pub fn to_svg_with_data(&self) -> String {
        draw(self, true)
    }
}

fn draw(figure: &Figure, with_data: bool) -> String {
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
    let legend = Legend::new(&figure.panels, &names, &looks, overlaps);
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
        draw_panel(&mut svg, frame, panel, &look, &format!("{id}p{i}"));
    }
    if with_data {
        let panels = figure.panels.iter().zip(&frames).zip(&reaches);
        let panels = panels.map(|((panel, frame), reach)| (panel, frame, reach.zero));
        svg.data(&data::json(panels, &look));
    }
    svg.finish()
}

fn draw_panel(svg: &mut Svg, frame: &Frame, panel: &Panel, look: &dyn Fn(&str) -> Look, id: &str) {
    frame.text_around(svg, panel);
    svg.open("g", &[("class", "panel")]);
    frame.axes(svg, panel);
    // Lines are clipped at the axes plus half their width; markers at the ends of the axes stay whole.
    let lines = format!("{id}l");
    frame.clip(svg, id, 8.0);
    frame.clip(svg, &lines, 1.0);
    svg.open("g", &[("clip-path", &format!("url(#{id})"))]);
    let bars: Vec<&Series> = panel
        .series
        .iter()
        .filter(|series| series.style == Style::Bars)
        .collect();
    for (i, series) in bars.iter().enumerate() {
        frame.bars(svg, series, look(&series.name), (i, bars.len()), panel);
    }
    let mut earlier = Vec::new();
    for series in panel
        .series
        .iter()
        .filter(|series| series.style != Style::Bars)
    {
        let ink = Ink {
            look: look(&series.name),
            clip: &lines,
            earlier: &earlier,
        };
        // A published value is drawn over the bar of the same name.
        let bar = bars.iter().position(|bar| bar.name == series.name);
        match bar.filter(|_| series.style.is_published()) {
            Some(bar) => {
                let aside = Frame::bar_offset(bar, bars.len());
                let mut moved = series.clone();
                for point in &mut moved.points {
                    point.x += aside;
                }
                frame.series(svg, &moved, &ink, panel);
            }
            None => frame.series(svg, series, &ink, panel),
        }
        earlier.extend(frame.lines(series));
    }
    svg.close();
    for guide in &panel.guides {
        frame.guide(svg, guide);
    }
    if !panel.diagonal.is_empty() {
        frame.diagonal(svg, &lines);
    }
    svg.close();
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

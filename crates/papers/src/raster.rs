//! Conversion of SVG to PNG, for documents that do not support SVG. The font comes from `crates/papers/fonts`, not from
//! the machine, so drawings are the same everywhere.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pictures have some thousand pixels, and casts from floats saturate"
)]

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::Database;
use resvg::usvg::{Options, Tree};

/// Pixels per SVG unit.
const SCALE: f32 = 3.0;

/// `DejaVu Sans` 2.37, regular, reduced to Latin, Greek and mathematical characters, without hinting. Drawings use this
/// family.
const FONT: &[u8] = include_bytes!("../fonts/DejaVuSans.ttf");

static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    Arc::new(fonts)
});

/// Renders a drawing of `figures` as PNG on white.
pub(super) fn png(svg: &str) -> Vec<u8> {
    let options = Options {
        fontdb: Arc::clone(&FONTS),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).expect("`figures` writes well-formed SVG");
    let pixels = |units: f32| (units * SCALE).ceil() as u32;
    let size = tree.size();
    let mut image = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .expect("a drawing has a width and a height");
    image.fill(Color::WHITE);
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut image.as_mut(),
    );
    image.encode_png().expect("it is written to memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_figures::{Axis, Figure, Panel, Point, Series, Style};

    /// Draws one line with `name` in the legend and unlabelled axes.
    fn drawing(name: &str) -> String {
        let points = (0..5)
            .map(|i| Point::new(f64::from(i), f64::from(i * i)))
            .collect();
        let line = Series::new("d3", Style::Line, points).labelled(name);
        let panel = Panel::new(Axis::linear("", ""), Axis::linear("", ""), vec![line]);
        let figure = Figure {
            palette: duetime_study::palette(),
            ..Figure::single("", "", panel)
        };
        figure.to_svg()
    }

    fn image(svg: &str) -> Pixmap {
        Pixmap::decode_png(&png(svg)).expect("a PNG")
    }

    /// Counts the pixels of a colour, with tolerance for blending.
    fn pixels(image: &Pixmap, colour: [u8; 3]) -> usize {
        let near = |pixel: [u8; 3]| (0..3).all(|i| pixel[i].abs_diff(colour[i]) < 8);
        let pixels = image.pixels().iter();
        pixels
            .filter(|pixel| near([pixel.red(), pixel.green(), pixel.blue()]))
            .count()
    }

    #[test]
    fn png_has_size_and_colours_of_svg() {
        let svg = drawing("D3");
        let (_, after) = svg.split_once("viewBox=\"0 0 ").expect("a size");
        let pixels_of = |number: &str| {
            let units: f64 = number.parse().expect("a number");
            (units * 3.0).ceil() as u32
        };
        let size: Vec<u32> = after.split(['"', ' ']).take(2).map(pixels_of).collect();
        let image = image(&svg);
        assert_eq!([image.width(), image.height()], [size[0], size[1]]);
        assert_eq!(image.width(), 1320);
        let all = image.pixels().len();
        assert!(image.pixels().iter().all(|pixel| pixel.alpha() == 255));
        assert!(pixels(&image, [255, 255, 255]) > all / 2, "white paper");
        let line = pixels(&image, [0x00, 0x9e, 0x73]);
        assert!(line > 1000, "{line} pixels of the line's green");
        let black = pixels(&image, [0, 0, 0]);
        assert!(black > 500, "{black} pixels of axes and text");
    }

    #[test]
    fn text_is_drawn_reproducibly() {
        let without = png(&drawing(" "));
        let with = png(&drawing("µs Ω ≥ × § –"));
        assert_ne!(without, with);
        assert_eq!(with, png(&drawing("µs Ω ≥ × § –")));
    }

    #[test]
    fn font_has_required_characters() {
        let glyphs = |letter: char| {
            let svg = format!(
                "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 40 40' font-family='DejaVu Sans'>\
                 <text y='30'>{letter}</text></svg>"
            );
            png(&svg)
        };
        let unknown = glyphs('\u{e000}');
        for letter in "§×±–·…≥≤µ√²³⁰⁻αβ°∞→Ω%".chars() {
            assert_ne!(glyphs(letter), unknown, "{letter}");
        }
    }
}

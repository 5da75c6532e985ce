//! Looks of series. Colours have medium lightness, with a contrast of at least 3:1 against white and near-black; they
//! follow the set by Okabe and Ito for colour-blind readers. Colour and dash pattern together identify a series;
//! markers differ as well. Bars with a pattern are paler and have a patterned outline.

use std::str::FromStr;

/// Look of a series. The text form is `blue circle dashed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Colour of lines, bars and markers.
    pub colour: Colour,
    /// Shape of the points.
    pub marker: Marker,
    /// Pattern of the lines.
    pub dash: Dash,
}

/// Colour of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// `#808080`
    Grey,
    /// `#d55e00`
    Vermilion,
    /// `#0a7bc0`
    Blue,
    /// `#009e73`
    Green,
    /// `#c5659c`
    Pink,
    /// `#a37a00`
    Ochre,
    /// `#8c6bd1`
    Violet,
    /// `#a0674b`
    Brown,
    /// Text colour of the page.
    Page,
}

/// Pattern of a line or of a bar's outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// No gaps.
    Solid,
    /// Strokes of 6, gaps of 4.
    Dashed,
    /// Strokes of 3, gaps of 2.
    Short,
    /// Strokes of 12, gaps of 3.
    Long,
    /// Alternating strokes and dots.
    Dotted,
}

/// Shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Disc.
    Circle,
    /// Square.
    Square,
    /// Square standing on a corner.
    Diamond,
    /// Triangle pointing up.
    Triangle,
}

const COLOURS: [(&str, Colour); 9] = [
    ("grey", Colour::Grey),
    ("vermilion", Colour::Vermilion),
    ("blue", Colour::Blue),
    ("green", Colour::Green),
    ("pink", Colour::Pink),
    ("ochre", Colour::Ochre),
    ("violet", Colour::Violet),
    ("brown", Colour::Brown),
    ("page", Colour::Page),
];

const MARKERS: [(&str, Marker); 4] = [
    ("circle", Marker::Circle),
    ("square", Marker::Square),
    ("diamond", Marker::Diamond),
    ("triangle", Marker::Triangle),
];

const DASHES: [(&str, Dash); 5] = [
    ("solid", Dash::Solid),
    ("dashed", Dash::Dashed),
    ("short", Dash::Short),
    ("long", Dash::Long),
    ("dotted", Dash::Dotted),
];

impl Colour {
    /// Returns the colour for SVG: `#rrggbb`, or `currentColor` for the page's.
    pub fn svg(self) -> &'static str {
        match self {
            Self::Grey => "#808080",
            Self::Vermilion => "#d55e00",
            Self::Blue => "#0a7bc0",
            Self::Green => "#009e73",
            Self::Pink => "#c5659c",
            Self::Ochre => "#a37a00",
            Self::Violet => "#8c6bd1",
            Self::Brown => "#a0674b",
            Self::Page => "currentColor",
        }
    }
}

impl Dash {
    /// Returns the lengths of strokes and gaps for SVG, or `None` for a solid line.
    pub fn lengths(self) -> Option<&'static str> {
        match self {
            Self::Solid => None,
            Self::Dashed => Some("6 4"),
            Self::Short => Some("3 2"),
            Self::Long => Some("12 3"),
            Self::Dotted => Some("8 3 2 3"),
        }
    }
}

impl Marker {
    /// Returns the marker's name.
    pub fn name(self) -> &'static str {
        let found = MARKERS.iter().find(|(_, marker)| *marker == self);
        found.expect("all of them are listed").0
    }
}

impl FromStr for Look {
    type Err = String;

    /// Parses a colour, a marker and a dash pattern, such as `blue circle dashed`. The error lists the allowed values.
    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[colour, marker, dash] = &words[..] else {
            return Err(
                "write a colour, a marker and a dash pattern, such as `blue circle dashed`"
                    .to_owned(),
            );
        };
        Ok(Self {
            colour: named(colour, "colour", &COLOURS)?,
            marker: named(marker, "marker", &MARKERS)?,
            dash: named(dash, "dash pattern", &DASHES)?,
        })
    }
}

fn named<T: Copy>(word: &str, kind: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == word);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("`{word}` is not a {kind}: {}", names.join(", "))
    })
}

/// Looks of series by name. A series whose name is not listed gets one of eight other looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette(Vec<(String, Look)>);

/// Looks for names that are not listed.
const OTHERS: [Look; 8] = [
    look(Colour::Brown, Marker::Square, Dash::Solid),
    look(Colour::Blue, Marker::Diamond, Dash::Dashed),
    look(Colour::Vermilion, Marker::Circle, Dash::Dashed),
    look(Colour::Violet, Marker::Triangle, Dash::Dashed),
    look(Colour::Green, Marker::Square, Dash::Dashed),
    look(Colour::Pink, Marker::Diamond, Dash::Dashed),
    look(Colour::Ochre, Marker::Circle, Dash::Dashed),
    look(Colour::Brown, Marker::Triangle, Dash::Dashed),
];

const fn look(colour: Colour, marker: Marker, dash: Dash) -> Look {
    Look {
        colour,
        marker,
        dash,
    }
}

/// Looks of the built-in transports.
const TRANSPORTS: [(&str, Look); 5] = [
    ("tcp", look(Colour::Grey, Marker::Square, Dash::Solid)),
    (
        "dctcp",
        look(Colour::Vermilion, Marker::Diamond, Dash::Solid),
    ),
    ("d2tcp", look(Colour::Blue, Marker::Circle, Dash::Solid)),
    ("d3", look(Colour::Green, Marker::Triangle, Dash::Solid)),
    ("rcpdc", look(Colour::Pink, Marker::Circle, Dash::Solid)),
];

impl Palette {
    /// Creates a palette with the looks of the built-in transports. Other names get a look derived from the name.
    pub fn of_transports() -> Self {
        let looks = TRANSPORTS.map(|(name, look)| (name.to_owned(), look));
        Self(looks.to_vec())
    }

    /// Adds the look of a name. Returns an error with the conflicting name, and leaves the palette unchanged, if the
    /// name is already listed or another name has the same colour and dash pattern.
    pub fn add(&mut self, name: &str, look: Look) -> Result<(), String> {
        let taken = |(known, other): &&(String, Look)| {
            known == name || (other.colour == look.colour && other.dash == look.dash)
        };
        if let Some((known, _)) = self.0.iter().find(taken) {
            return Err(known.clone());
        }
        self.0.push((name.to_owned(), look));
        Ok(())
    }

    /// Returns the look listed for a name, or `None`.
    pub fn get(&self, name: &str) -> Option<Look> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|&(_, look)| look)
    }

    /// Returns the looks of `names` in one figure. Listed names have their look. Other names start at a look given by a
    /// hash of the name, so that they usually look the same in all figures, and take the next look if the figure
    /// already uses it.
    pub fn looks(&self, names: &[&str]) -> Vec<Look> {
        let mut taken = [false; OTHERS.len()];
        let mut looks = Vec::with_capacity(names.len());
        for name in names {
            let look = self.get(name).unwrap_or_else(|| {
                let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
                    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
                });
                let mut places = (0..OTHERS.len()).map(|i| (hash as usize + i) % OTHERS.len());
                let first = hash as usize % OTHERS.len();
                let place = places.find(|&place| !taken[place]).unwrap_or(first);
                taken[place] = true;
                OTHERS[place]
            });
            looks.push(look);
        }
        looks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn palette() -> Palette {
        let mut palette = Palette::default();
        for (name, look) in [
            ("d3", "green triangle solid"),
            ("tcp", "grey square solid"),
            ("dctcp", "vermilion diamond solid"),
        ] {
            palette.add(name, look.parse().unwrap()).unwrap();
        }
        palette
    }

    #[test]
    fn name_keeps_its_look_in_all_figures() {
        let looks = |names: &[&str]| palette().looks(names);
        assert_eq!(looks(&["d3", "tcp"])[0], looks(&["d3"])[0]);
        assert_eq!(looks(&["mine", "tcp"])[0], looks(&["dctcp", "mine"])[1]);
    }

    #[test]
    fn looks_within_a_figure_are_distinct() {
        let names = ["d3", "tcp", "dctcp", "a", "b", "c", "d", "e", "f", "g", "h"];
        let looks = palette().looks(&names);
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{}", names[i]);
        }
    }

    #[test]
    fn colour_and_pattern_are_unique() {
        let mut palette = palette();
        let mut add = |name: &str, look: &str| palette.add(name, look.parse().unwrap());
        assert_eq!(add("mine", "green circle solid"), Err("d3".to_owned()));
        assert_eq!(add("tcp", "blue circle solid"), Err("tcp".to_owned()));
        assert_eq!(add("mine", "green triangle long"), Ok(()));
    }

    #[test]
    fn parse_error_lists_allowed_values() {
        let error = |text: &str| text.parse::<Look>().expect_err("invalid look");
        assert!(error("blue circle").contains("`blue circle dashed`"));
        assert!(
            error("bleu circle solid").contains("`bleu` is not a colour: grey, vermilion, blue")
        );
        assert!(error("blue disc solid").contains("circle, square"));
        assert!(error("blue circle none").contains("solid, dashed"));
    }

    /// Returns the relative luminance of WCAG, approximated with a power of 2.2.
    fn luminance(colour: &str) -> f64 {
        let channel =
            |i: usize| f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
        let linear = |i| libm::pow(channel(i), 2.2);
        0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5)
    }

    #[test]
    fn colours_contrast_with_light_and_dark_pages() {
        let fixed = COLOURS.iter().filter(|(_, colour)| *colour != Colour::Page);
        for (name, colour) in fixed {
            let luminance = luminance(colour.svg());
            assert!(1.05 / (luminance + 0.05) >= 3.0, "{name} on white");
            assert!(
                (luminance + 0.05) / (0.01 + 0.05) >= 3.0,
                "{name} on near-black"
            );
        }
    }
}

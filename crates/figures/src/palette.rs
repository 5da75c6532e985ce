//! How series look. Colours are of middle lightness, at least 3:1 against white and against near-black; they follow Okabe
//! and Ito's set for the colour-blind. Colour and dash pattern together name a series; markers differ as well. Bars with a
//! pattern are paler and outlined in it.

use std::str::FromStr;

/// How a series looks. As text: `blue circle dashed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The colour of its lines, bars and markers.
    pub colour: Colour,
    /// The shape of its points.
    pub marker: Marker,
    /// The pattern of its lines.
    pub dash: Dash,
}

/// The colour of a series.
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
    /// That of the page's text.
    Page,
}

/// The pattern of a line, or of a bar's outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    /// Without gaps.
    Solid,
    /// Strokes of 6, gaps of 4.
    Dashed,
    /// Strokes of 3, gaps of 2.
    Short,
    /// Strokes of 12, gaps of 3.
    Long,
    /// Strokes and dots.
    Dotted,
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A square on its corner.
    Diamond,
    /// A triangle, point up.
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
    /// As SVG takes it: `#rrggbb`, or `currentColor` for the page's.
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
    /// Lengths of strokes and gaps, as SVG takes them; none for a solid line.
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
    /// Its name.
    pub fn name(self) -> &'static str {
        let found = MARKERS.iter().find(|(_, of)| *of == self);
        found.expect("all of them are listed").0
    }
}

impl FromStr for Look {
    type Err = String;

    /// A colour, a marker and a dash pattern, such as `blue circle dashed`. The error says what is allowed.
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

fn named<T: Copy>(word: &str, what: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == word);
    found.map(|&(_, of)| of).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("`{word}` is no {what}: {}", names.join(", "))
    })
}

/// The looks of series, by name. A series whose name is not listed gets one of eight further looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Palette(Vec<(String, Look)>);

/// For names that are not listed.
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

/// The transports that a scenario names.
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
    /// The looks of the transports that a scenario names, as every figure has them. Those of other names follow from the
    /// name alone.
    pub fn of_transports() -> Self {
        let looks = TRANSPORTS.map(|(name, look)| (name.to_owned(), look));
        Self(looks.to_vec())
    }

    /// Lists a name's look. Returns the name that has the same colour and dash pattern already, or the name itself where
    /// it is listed already; the palette is then as it was.
    pub fn add(&mut self, name: &str, look: Look) -> Result<(), String> {
        let taken = |(known, of): &&(String, Look)| {
            known == name || (of.colour == look.colour && of.dash == look.dash)
        };
        if let Some((known, _)) = self.0.iter().find(taken) {
            return Err(known.clone());
        }
        self.0.push((name.to_owned(), look));
        Ok(())
    }

    /// The look listed for a name.
    pub fn get(&self, name: &str) -> Option<Look> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|&(_, look)| look)
    }

    /// The looks of `names` in one figure. Listed names have theirs; any other begins at a place of its own, so that it
    /// usually looks the same everywhere, and moves on only if the figure has that look already.
    pub fn looks(&self, names: &[&str]) -> Vec<Look> {
        let mut taken = [false; OTHERS.len()];
        let mut looks = Vec::with_capacity(names.len());
        for name in names {
            let own = self.get(name).unwrap_or_else(|| {
                let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
                    (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
                });
                let mut places = (0..OTHERS.len()).map(|i| (hash as usize + i) % OTHERS.len());
                let first = hash as usize % OTHERS.len();
                let place = places.find(|&place| !taken[place]).unwrap_or(first);
                taken[place] = true;
                OTHERS[place]
            });
            looks.push(own);
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
    fn a_name_looks_the_same_in_every_company() {
        let looks = |names: &[&str]| palette().looks(names);
        assert_eq!(looks(&["d3", "tcp"])[0], looks(&["d3"])[0]);
        assert_eq!(looks(&["mine", "tcp"])[0], looks(&["dctcp", "mine"])[1]);
    }

    #[test]
    fn no_two_names_of_a_figure_look_alike() {
        let names = ["d3", "tcp", "dctcp", "a", "b", "c", "d", "e", "f", "g", "h"];
        let looks = palette().looks(&names);
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{}", names[i]);
        }
    }

    #[test]
    fn colour_and_pattern_name_a_series() {
        let mut palette = palette();
        let mut add = |name: &str, look: &str| palette.add(name, look.parse().unwrap());
        assert_eq!(add("mine", "green circle solid"), Err("d3".to_owned()));
        assert_eq!(add("tcp", "blue circle solid"), Err("tcp".to_owned()));
        assert_eq!(add("mine", "green triangle long"), Ok(()));
    }

    #[test]
    fn a_look_that_is_none_is_told_what_is_allowed() {
        let said = |text: &str| text.parse::<Look>().expect_err("no look");
        assert!(said("blue circle").contains("`blue circle dashed`"));
        assert!(said("bleu circle solid").contains("`bleu` is no colour: grey, vermilion, blue"));
        assert!(said("blue disc solid").contains("circle, square"));
        assert!(said("blue circle none").contains("solid, dashed"));
    }

    /// Relative luminance as WCAG defines it, near enough with a power of 2.2.
    fn luminance(colour: &str) -> f64 {
        let channel =
            |i: usize| f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
        let linear = |i| libm::pow(channel(i), 2.2);
        0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5)
    }

    #[test]
    fn colours_stand_out_from_light_and_dark_pages() {
        let own = COLOURS.iter().filter(|(_, colour)| *colour != Colour::Page);
        for (name, colour) in own {
            let luminance = luminance(colour.svg());
            assert!(1.05 / (luminance + 0.05) >= 3.0, "{name} on white");
            assert!(
                (luminance + 0.05) / (0.01 + 0.05) >= 3.0,
                "{name} on near-black"
            );
        }
    }
}

//! Which name is drawn how. Colours are of middle lightness, at least 3:1 against white and against near-black; they
//! follow Okabe and Ito's set for the colour-blind. There are more schemes than colours: a variant shares the colour of
//! what it varies, or one that its figures leave free, and has a dash pattern of its own. Colour and pattern together
//! name a scheme; markers differ as well. Bars with a pattern are paler and outlined in it.

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub colour: &'static str,
    pub marker: Marker,
    pub dash: Dash,
}

/// The pattern of a line, or of a bar's outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dash {
    Solid,
    Dashed,
    Short,
    Long,
    Dotted,
}

impl Dash {
    /// Lengths of strokes and gaps, as SVG takes them; none for a solid line.
    pub(crate) fn lengths(self) -> Option<&'static str> {
        match self {
            Self::Solid => None,
            Self::Dashed => Some("6 4"),
            Self::Short => Some("3 2"),
            Self::Long => Some("12 3"),
            Self::Dotted => Some("8 3 2 3"),
        }
    }
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Circle,
    Square,
    Diamond,
    Triangle,
}

const GREY: &str = "#808080";
const VERMILION: &str = "#d55e00";
const BLUE: &str = "#0a7bc0";
const GREEN: &str = "#009e73";
const PINK: &str = "#c5659c";
const OCHRE: &str = "#a37a00";
const VIOLET: &str = "#8c6bd1";
const BROWN: &str = "#a0674b";
const PAGE: &str = "currentColor";

/// The fixed looks, by name: every scheme under `papers/` is here.
const NAMED: [(&str, Look); 30] = [
    ("tcp", look(GREY, Marker::Square, Dash::Solid)),
    ("dctcp", look(VERMILION, Marker::Diamond, Dash::Solid)),
    ("d2tcp", look(BLUE, Marker::Circle, Dash::Solid)),
    ("d3", look(GREEN, Marker::Triangle, Dash::Solid)),
    ("rcpdc", look(PINK, Marker::Circle, Dash::Solid)),
    ("tcp-prio", look(OCHRE, Marker::Square, Dash::Solid)),
    ("rcpdc-prio", look(VIOLET, Marker::Diamond, Dash::Solid)),
    ("ideal", look(PAGE, Marker::Circle, Dash::Dashed)),
    ("fair-share", look(GREY, Marker::Square, Dash::Dashed)),
    ("edf", look(BLUE, Marker::Circle, Dash::Dashed)),
    ("reservation", look(GREEN, Marker::Triangle, Dash::Dashed)),
    ("optimum", look(PAGE, Marker::Diamond, Dash::Long)),
    // Variants of the papers' figures.
    ("tcp-10ms", look(GREY, Marker::Circle, Dash::Short)),
    ("tcppr-2", look(OCHRE, Marker::Triangle, Dash::Short)),
    ("tcppr-3", look(OCHRE, Marker::Diamond, Dash::Long)),
    ("tcppr-4", look(OCHRE, Marker::Circle, Dash::Dotted)),
    ("rcpdc-pr-2", look(VIOLET, Marker::Circle, Dash::Short)),
    ("rcpdc-pr-4", look(VIOLET, Marker::Square, Dash::Long)),
    ("d3-paper", look(GREEN, Marker::Diamond, Dash::Long)),
    ("d3-quench", look(GREEN, Marker::Square, Dash::Short)),
    ("d3-per-sender", look(GREEN, Marker::Circle, Dash::Dotted)),
    ("d3-printed", look(BROWN, Marker::Square, Dash::Long)),
    ("d3-authors", look(BROWN, Marker::Triangle, Dash::Solid)),
    ("d2tcp-precise", look(BLUE, Marker::Square, Dash::Short)),
    // Our own experiments on D3 §7.
    ("d3-speculative", look(BROWN, Marker::Diamond, Dash::Dashed)),
    (
        "d3-speculative-2",
        look(OCHRE, Marker::Square, Dash::Dashed),
    ),
    (
        "d3-speculative-only",
        look(VIOLET, Marker::Circle, Dash::Dashed),
    ),
    ("d3-extend", look(VIOLET, Marker::Diamond, Dash::Dotted)),
    ("d3-extend-25", look(PINK, Marker::Square, Dash::Dotted)),
    ("d3-max", look(BROWN, Marker::Circle, Dash::Dotted)),
];

/// For all other names.
const OTHERS: [Look; 8] = [
    look(BROWN, Marker::Square, Dash::Solid),
    look(BLUE, Marker::Diamond, Dash::Dashed),
    look(VERMILION, Marker::Circle, Dash::Dashed),
    look(VIOLET, Marker::Triangle, Dash::Dashed),
    look(GREEN, Marker::Square, Dash::Dashed),
    look(PINK, Marker::Diamond, Dash::Dashed),
    look(OCHRE, Marker::Circle, Dash::Dashed),
    look(BROWN, Marker::Triangle, Dash::Dashed),
];

/// Whether a series of this name looks the same in every figure, and like no other name.
pub fn has_fixed_look(name: &str) -> bool {
    NAMED.iter().any(|(known, _)| *known == name)
}

const fn look(colour: &'static str, marker: Marker, dash: Dash) -> Look {
    Look {
        colour,
        marker,
        dash,
    }
}

/// The looks of `names` in one figure. Known names have theirs; any other begins at a place of its own, so that it
/// usually looks the same everywhere, and moves on only if the figure has that look already.
pub(crate) fn looks(names: &[&str]) -> Vec<Look> {
    let known = |name: &str| {
        NAMED
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, look)| look)
    };
    let mut taken = [false; OTHERS.len()];
    let mut looks = Vec::with_capacity(names.len());
    for name in names {
        let own = known(name).unwrap_or_else(|| {
            let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            });
            let places = (0..OTHERS.len()).map(|i| (hash as usize + i) % OTHERS.len());
            let place = places
                .clone()
                .find(|&place| !taken[place])
                .or_else(|| places.clone().next())
                .unwrap_or(0);
            taken[place] = true;
            OTHERS[place]
        });
        looks.push(own);
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_looks_the_same_in_every_company() {
        assert_eq!(looks(&["d3", "tcp"])[0], looks(&["d3"])[0]);
        assert_eq!(looks(&["mine", "tcp"])[0], looks(&["dctcp", "mine"])[1]);
    }

    #[test]
    fn no_two_names_of_a_figure_look_alike() {
        let mut names: Vec<&str> = NAMED.iter().map(|(name, _)| *name).collect();
        names.extend(["a", "b", "c", "d", "e", "f", "g", "h"]);
        let looks = looks(&names);
        for (i, look) in looks.iter().enumerate() {
            assert!(!looks[..i].contains(look), "{}", names[i]);
        }
    }

    #[test]
    fn colour_and_pattern_name_a_scheme() {
        for (i, (name, look)) in NAMED.iter().enumerate() {
            for (other, of) in &NAMED[..i] {
                let alike = look.colour == of.colour && look.dash == of.dash;
                assert!(!alike && name != other, "{name} and {other}");
            }
        }
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
        for colour in [GREY, VERMILION, BLUE, GREEN, PINK, OCHRE, VIOLET, BROWN] {
            let luminance = luminance(colour);
            assert!(1.05 / (luminance + 0.05) >= 3.0, "{colour} on white");
            assert!(
                (luminance + 0.05) / (0.01 + 0.05) >= 3.0,
                "{colour} on near-black"
            );
        }
    }
}

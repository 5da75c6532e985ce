//! Which name is drawn how. Colours are of middle lightness, at least 3:1 against white and against near-black; they
//! follow Okabe and Ito's set for the colour-blind, and markers differ as well.

/// How a series looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub colour: &'static str,
    pub marker: Marker,
    pub dashed: bool,
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

/// The fixed looks, by name.
const NAMED: [(&str, Look); 23] = [
    ("tcp", look(GREY, Marker::Square, false)),
    ("dctcp", look(VERMILION, Marker::Diamond, false)),
    ("d2tcp", look(BLUE, Marker::Circle, false)),
    ("d3", look(GREEN, Marker::Triangle, false)),
    ("rcpdc", look(PINK, Marker::Circle, false)),
    ("tcp-prio", look(OCHRE, Marker::Square, false)),
    ("rcpdc-prio", look(VIOLET, Marker::Diamond, false)),
    ("ideal", look(PAGE, Marker::Circle, true)),
    ("fair-share", look(GREY, Marker::Square, true)),
    ("edf", look(BLUE, Marker::Circle, true)),
    ("reservation", look(GREEN, Marker::Triangle, true)),
    ("optimum", look(PAGE, Marker::Diamond, true)),
    // Variants of the papers' figures: the colour of what they vary where it is free, and always a look of their own.
    ("tcp-10ms", look(GREY, Marker::Circle, false)),
    ("tcppr-2", look(OCHRE, Marker::Triangle, false)),
    ("tcppr-3", look(OCHRE, Marker::Diamond, false)),
    ("tcppr-4", look(OCHRE, Marker::Circle, false)),
    ("rcpdc-pr-2", look(VIOLET, Marker::Circle, false)),
    ("rcpdc-pr-4", look(VIOLET, Marker::Square, false)),
    ("d3-paper", look(GREEN, Marker::Diamond, false)),
    ("d3-quench", look(GREEN, Marker::Square, false)),
    ("d3-per-sender", look(GREEN, Marker::Circle, false)),
    ("d2tcp-precise", look(BLUE, Marker::Square, false)),
    ("d3-authors", look(BROWN, Marker::Triangle, false)),
];

/// For all other names.
const OTHERS: [Look; 8] = [
    look(BROWN, Marker::Square, false),
    look(BLUE, Marker::Diamond, true),
    look(VERMILION, Marker::Circle, true),
    look(VIOLET, Marker::Triangle, true),
    look(GREEN, Marker::Square, true),
    look(PINK, Marker::Diamond, true),
    look(OCHRE, Marker::Circle, true),
    look(BROWN, Marker::Triangle, true),
];

const fn look(colour: &'static str, marker: Marker, dashed: bool) -> Look {
    Look {
        colour,
        marker,
        dashed,
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

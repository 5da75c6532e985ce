//! The options of CUBIC.

use super::About;
use super::d3::thousandths;
use super::tcp;
use crate::keys::Kind::{Boolean, Number, Time};
use crate::keys::S;
use crate::options::{Layers, Result, options};
use crate::table::Reader;
use duetime_core::Span;
use duetime_proto::window::Cubic;

pub(super) const ABOUT: About = About {
    what: "Default of Linux: fills the buffers until a packet is lost, then reduces its window by 30 %.",
    needs: "nothing",
};

options! {
    /// CUBIC, over `[tcp]`: its own keys, and those of `[tcp]` where they shall differ.
    cubic over tcp for Cubic, starting from linux, profiled by profile, checked by hystart_can_measure {
        /// C, how fast the window grows away from its plateau, in segments/s³ (RFC 9438 §5; rounded to 1/1000).
        c: Number(0.001, 100.0), default 0.4, unit "permille", field c_permille, read thousandths;
        /// β, by which a loss multiplies the window (RFC 9438 §4.6; rounded to 1/1000).
        beta: Number(0.1, 0.999), default 0.7, unit "permille", field beta_permille, read thousandths;
        /// A loss below the window of the loss before lowers the plateau, so that new flows get their share sooner
        /// (RFC 9438 §4.7).
        fast_convergence: Boolean, default true;
        /// With `recovery = "sack"`, which measures every segment's round trip: the first slow start grows slower and
        /// then ends when round trips get longer by an eighth, at least 4 ms and at most 16 ms (HyStart++, RFC 9406). With
        /// `profile = "paper"` it is off.
        hystart: Boolean, default true;
        /// The tick of the clock by which Linux computes the growth of the window: the curve once in a tick, and for the same
        /// window again after 1/32 s, in whole segments. Where round trips are much shorter, a window that losses reduce grows
        /// fast at first and then waits. `"0 us"`, also with `profile = "paper"`: for each acknowledgement.
        tick: Time(0, S), default "4 ms";
        /// Below the window of the last loss CUBIC grows at least by α = 3 (1 − β) / (1 + β) segments in a round trip, and by one
        /// beyond it (RFC 9438 §4.3). Off, as in Linux: α beyond it, too. With `profile = "paper"` it is on.
        alpha_one: Boolean, default false;
    }
}

/// Returns the options of Linux's CUBIC.
fn linux() -> Cubic {
    Cubic {
        hystart: true,
        tick: Span::from_ms(4),
        alpha_one: false,
        ..Cubic::default()
    }
}

fn profile(curve: &mut Cubic, reader: &Reader<'_>) -> Result<()> {
    if let Some(place) = reader.find("profile") {
        *curve = if tcp::is_linux(&place)? {
            linux()
        } else {
            Cubic::default()
        };
    }
    Ok(())
}

fn hystart_can_measure(curve: &Cubic, layers: Layers<'_, '_>) -> Result<()> {
    // Without selective acknowledgements the default has no effect.
    if layers.iter().all(|reader| reader.find("hystart").is_none()) {
        return Ok(());
    }
    let config = tcp::OPTIONS.over(layers)?;
    tcp::sack(&config).by(layers, "hystart", curve.hystart)
}

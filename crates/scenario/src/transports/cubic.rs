//! Options of CUBIC.

use super::about::About;
use super::tcp;
use crate::diagnostic::Result;
use crate::keys::Kind::{Boolean, Time};
use crate::keys::{S, declare};
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Layers, last};
use crate::place::Place;
use duetime_core::Span;
use duetime_proto::window::{CongestionControl, Cubic};

pub(super) const ABOUT: About = About {
    what: "Linux default: fills the buffers until a packet is lost, then reduces its window by 30 %.",
    needs: "nothing",
};

declare! {
    /// CUBIC. Also accepts the keys of `[tcp]`, which override that table.
    cubic over tcp for Cubic {
        /// Slows and then ends the first slow start when round trips grow by an eighth, clamped to 4 to 16 ms
        /// (HyStart++, RFC 9406). Requires `recovery = "sack"`. False with `profile = "paper"`.
        hystart: Boolean, default true;
        /// Clock tick with which Linux computes the curve: at most once per tick, for an unchanged window again after
        /// 1/32 s, in whole segments. If round trips are much shorter, a window grows fast after a loss and then
        /// pauses. `"0 us"`, also with `profile = "paper"`: computes it for each acknowledgement.
        tick: Time(0, S), default "4 ms";
        /// Raises the minimum growth per round trip above the window of the last loss from α = 3 (1 − β) / (1 + β)
        /// segments, which Linux uses everywhere, to one segment (RFC 9438 §4.3). True with `profile = "paper"`.
        alpha_one: Boolean, default false;
    }
}

/// Reads the options.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    tcp::with(layers, OPTIONS.read(layers, CongestionControl::Cubic)?)
}

impl Configuration for Cubic {
    /// Returns the options of Linux's CUBIC.
    fn start() -> Self {
        Self {
            hystart: true,
            tick: Span::from_ms(4),
            alpha_one: false,
        }
    }

    fn apply(&mut self, profile: &Place<'_>) -> Result<()> {
        *self = tcp::profiled(profile)?;
        Ok(())
    }

    /// Refuses `hystart` without selective acknowledgements.
    fn finish(&mut self, layers: Layers<'_, '_>) -> Result<()> {
        // Without selective acknowledgements the default has no effect.
        if last(layers, &["hystart"]).is_none() {
            return Ok(());
        }
        let (config, _) = tcp::OPTIONS.read(layers, |config| config)?;
        tcp::sack(&config).by(layers, "hystart", self.hystart)
    }
}

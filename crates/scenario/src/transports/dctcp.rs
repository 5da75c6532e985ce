//! Options of DCTCP.

use super::about::About;
use super::tcp;
use crate::diagnostic::Result;
use crate::keys::Kind::{self, Gain, Number};
use crate::keys::declare;
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Layers};
use crate::place::Place;
use duetime_proto::window::{CongestionControl, Dctcp};

pub(super) const ABOUT: About = About {
    what: "Reduces its window by the share of packets that switches mark, so queues stay short.",
    needs: "ECN marking in the switches, `dctcp` as congestion control",
};

declare! {
    /// DCTCP. Also accepts the keys of `[tcp]`, which override that table.
    dctcp over tcp for Dctcp {
        /// Gain g of the marked-fraction estimate.
        gain: Gain, default "1/16", unit "shift", field gain_shift, read shift;
        /// Initial alpha of a connection; 0 with `profile = "paper"`.
        initial_alpha: Number(0.0, 1.0), default 1;
    }
}

/// Reads the options.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    tcp::with(layers, OPTIONS.read(layers, CongestionControl::Dctcp)?)
}

impl Configuration for Dctcp {
    /// Returns Linux's options: a new connection assumes that all of its packets are marked.
    fn start() -> Self {
        Self {
            initial_alpha: 1.0,
            ..Self::default()
        }
    }

    fn apply(&mut self, profile: &Place<'_>) -> Result<()> {
        self.initial_alpha = tcp::profiled::<Self>(profile)?.initial_alpha;
        Ok(())
    }
}

/// Reads n from a gain of 1/2^n.
fn shift(place: &Place<'_>, _: &'static Kind) -> Result<u8> {
    let allowed = "1/2^n for n of 0 to 10, such as \"1/16\"";
    let value = match place.node.str() {
        Some(text) => {
            let parts = text.split_once('/').and_then(|(one, n)| {
                let one: f64 = one.trim().parse().ok()?;
                Some(one / n.trim().parse::<f64>().ok()?)
            });
            parts.ok_or_else(|| place.wrong("not a fraction").allowed(allowed))?
        }
        None => place
            .number(0.0, 1.0)
            .map_err(|error| error.allowed(allowed))?,
    };
    (0..=10u8)
        .find(|&shift| value.to_bits() == (1.0 / f64::from(1u32 << shift)).to_bits())
        .ok_or_else(|| place.wrong("not a power of two").allowed(allowed))
}

//! Options of D2TCP.

use super::about::About;
use super::{dctcp, tcp};
use crate::diagnostic::Result;
use crate::keys::Kind::{self, List, Number};
use crate::keys::declare;
use crate::model::Protocol;
use crate::options::{Configuration, Configured, Field, Layers, last};
use crate::place::Place;
use crate::values::word;
use duetime_proto::window::{Completion, CongestionControl, D2tcp};
use serde_json::json;

const IMMINENCE: Kind = Number(0.0625, 16.0);

pub(super) const ABOUT: About = About {
    what: "DCTCP that reduces its window less, the nearer its deadline is.",
    needs: "ECN marking in the switches, and an eBPF program on the hosts (`duetime kernel attach`)",
};

declare! {
    /// D2TCP. Also accepts the keys of `[tcp]` and `[dctcp]`, which override those tables.
    d2tcp over dctcp, tcp for D2tcp {
        /// Bounds of the deadline imminence d; [1, 1] is DCTCP.
        imminence: List(&IMMINENCE), otherwise "[0.5, 2.0]",
            by Field { unit: "", set: bounds, write: |config| Some(json!([config.d_min, config.d_max])) };
        /// d of a flow after its deadline.
        expired: IMMINENCE, otherwise "the lower bound of `imminence`", field d_expired;
        /// Formula of Tc: B / (3W/4), or the sum over the sawtooth (D2TCP §3.2).
        completion: word::<Completion>(), default "approximate";
    }
}

/// Reads the options of D2TCP and DCTCP.
pub(super) fn read<'a>(layers: Layers<'_, 'a>) -> Configured<'a, Protocol> {
    let (marks, mut overrides) = dctcp::OPTIONS.read(layers, |marks| marks)?;
    let (deadlines, others) = OPTIONS.read(layers, |deadlines| deadlines)?;
    overrides.extend(others);
    tcp::with(
        layers,
        (CongestionControl::D2tcp(marks, deadlines), overrides),
    )
}

declare!(words of Completion: "approximate" = Approximate, "precise" = Precise);

impl Configuration for D2tcp {
    fn finish(&mut self, layers: Layers<'_, '_>) -> Result<()> {
        if last(layers, &["expired"]).is_none() {
            self.d_expired = self.d_min;
        }
        Ok(())
    }
}

fn bounds(config: &mut D2tcp, place: &Place<'_>, _: &'static Kind) -> Result<()> {
    let items = place.array()?;
    let allowed = "[low, high] with 0.0625 <= low <= high <= 16";
    let [low, high] = &items[..] else {
        return place.refuse("not two bounds", allowed);
    };
    let (low, high) = (low.number(0.0625, 16.0)?, high.number(0.0625, 16.0)?);
    if low > high {
        return place.refuse("the bounds are the wrong way round", allowed);
    }
    (config.d_min, config.d_max) = (low, high);
    Ok(())
}

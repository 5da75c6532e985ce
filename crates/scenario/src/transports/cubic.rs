//! The options of CUBIC.

use super::d3::thousandths;
use crate::keys::Kind::{Boolean, Number};
use crate::options::options;
use duetime_proto::window::Cubic;

options! {
    /// CUBIC, over `[tcp]`: its own keys, and those of `[tcp]` where they shall differ.
    cubic over tcp for Cubic {
        /// C, how fast the window grows away from its plateau, in segments/s³ (RFC 9438 §5; rounded to 1/1000).
        c: Number(0.001, 100.0), default 0.4, unit "permille", field c_permille, read thousandths;
        /// β, by which a loss multiplies the window (RFC 9438 §4.6; rounded to 1/1000).
        beta: Number(0.1, 0.999), default 0.7, unit "permille", field beta_permille, read thousandths;
        /// A loss below the window of the loss before lowers the plateau, so that new flows get their share sooner
        /// (RFC 9438 §4.7).
        fast_convergence: Boolean, default true;
    }
}

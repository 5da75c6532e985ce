//! Parameters of the congestion controls, set at attachment.

use crate::Error;
use duetime_core::fixed::{Factor, Fraction};

/// Parameters of `duetime_dctcp` and `duetime_d2tcp`; those of d apply only to the latter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Exponent s of the gain g = 2⁻ˢ of the average α, from 0 to 20; 4 gives 1/16 (RFC 8257 §3.3).
    pub gain_shift: u32,
    /// Initial α of a connection, from 0 to 1. At 1, the first 16 or so windows ignore the deadline, since 1ᵈ = 1.
    pub initial_alpha: f64,
    /// Minimum d, from 0 to 4096 (D2TCP §3.2).
    pub d_min: f64,
    /// Maximum d, from `d_min` to 4096.
    pub d_max: f64,
    /// d of a flow whose deadline has passed, before the clamp; from 0 to 4096.
    pub d_expired: f64,
    /// Formula for Tc.
    pub completion: Completion,
    /// Minimum window after a reduction by marks, in segments, from 1 to 65,535 (RFC 8257 §3.3: 2).
    pub min_window: u32,
}

/// Formula for Tc (D2TCP §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// B / (3W/4).
    Approximate,
    /// Sum of the sawtooth, with a separate first period.
    Precise,
}

impl Default for Parameters {
    /// g = 1/16, α(0) = 1 as RFC 8257 recommends, d from 0.5 to 2, and late flows yield.
    fn default() -> Self {
        Self {
            gain_shift: 4,
            initial_alpha: 1.0,
            d_min: 0.5,
            d_max: 2.0,
            d_expired: 0.5,
            completion: Completion::Approximate,
            min_window: 2,
        }
    }
}

impl Parameters {
    /// Checks that all parameters are in range.
    pub fn check(&self) -> Result<(), Error> {
        let within = |name, value: f64, min: f64, max: f64, allowed| {
            if (min..=max).contains(&value) {
                Ok(())
            } else {
                Err(Error::Parameter {
                    name,
                    value: value.to_string(),
                    allowed,
                })
            }
        };
        within("gain_shift", self.gain_shift.into(), 0.0, 20.0, "0 to 20")?;
        within("initial_alpha", self.initial_alpha, 0.0, 1.0, "0 to 1")?;
        within("d_min", self.d_min, 0.0, 4096.0, "0 to 4096")?;
        within("d_max", self.d_max, self.d_min, 4096.0, "d_min to 4096")?;
        within("d_expired", self.d_expired, 0.0, 4096.0, "0 to 4096")?;
        within(
            "min_window",
            self.min_window.into(),
            1.0,
            65_535.0,
            "1 to 65535",
        )
    }

    /// Returns the parameters as `struct parameters` of the programs.
    #[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "used by the loader"))]
    pub(crate) fn to_bytes(self) -> [u8; 48] {
        let factors = [self.d_min, self.d_max, self.d_expired].map(Factor::from_f64);
        let words = [
            u32::from(self.completion == Completion::Precise),
            0,
            self.gain_shift,
            Fraction::from_f64(self.initial_alpha).to_bits(),
            self.min_window,
            0,
        ];
        let mut bytes = [0; 48];
        for (to, factor) in bytes.chunks_exact_mut(8).zip(factors) {
            to.copy_from_slice(&factor.to_bits().to_ne_bytes());
        }
        for (to, word) in bytes[24..].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_parameters_are_errors() {
        Parameters::default().check().expect("the default");
        let error = |change: fn(&mut Parameters)| {
            let mut parameters = Parameters::default();
            change(&mut parameters);
            parameters.check().expect_err("out of range").to_string()
        };
        assert_eq!(
            error(|parameters| parameters.gain_shift = 21),
            "gain_shift is 21; allowed: 0 to 20"
        );
        assert_eq!(
            error(|parameters| parameters.initial_alpha = f64::NAN),
            "initial_alpha is NaN; allowed: 0 to 1"
        );
        assert_eq!(
            error(|parameters| parameters.d_max = 0.25),
            "d_max is 0.25; allowed: d_min to 4096"
        );
        assert_eq!(
            error(|parameters| parameters.min_window = 0),
            "min_window is 0; allowed: 1 to 65535"
        );
    }
}

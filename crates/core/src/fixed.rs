//! Fixed-point logarithm, exponential and powers, bit-identical on every machine.

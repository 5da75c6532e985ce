//! Compares p = α^d for every α and d, with the C program and with real arithmetic, and checks its properties.
//!
//! p is computed as 2^-x with x = -log2(α) d, so every α and every x cover every pair of α and d up to 4096. That both
//! languages join the logarithm and the exponential in this form is proved by `proof/prove.py`.

#![allow(clippy::print_stdout, reason = "tests print their measurements")]

use crate::compile;
use duetime_core::fixed::{Factor, Fraction, exp2_of_minus, minus_log2};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// One, as a logarithm.
const ONE: u64 = 1 << 30;
/// End of the arguments of the exponential. Above, it depends only on their fractions, as in the last unit.
const END: u64 = 33 * ONE;
/// Number of arguments of the exponential per chunk.
const CHUNK: u64 = 1 << 28;
/// Number of values per block of the C program.
const BLOCK: usize = 8192;
/// Number of values after which the reference, a product of equal factors, is computed again. Its relative error stays
/// below 10⁻¹².
const RENEWAL: usize = 4096;

/// Bound on the error of the logarithm.
const LOGARITHM_ERROR: f64 = 1.8e-7;
/// Bound on the error of the exponential where it is above one unit: half a unit, and the error of the polynomial.
const EXPONENTIAL_ERROR: f64 = 5e-7;
/// Resolution of p, and the smallest p of a flow with α > 0.
const UNIT: f64 = 1.0 / (1 << Fraction::BITS) as f64;

#[test]
fn every_logarithm() {
    let (_, error) = logarithms(&compile("rows.c"));
    assert!(error <= LOGARITHM_ERROR, "{error}");
}

#[test]
fn sampled_exponentials() {
    // An odd step, so that the samples have all low bits.
    let error = exponentials(&compile("rows.c"), 0, END, 4_099);
    assert!(error <= EXPONENTIAL_ERROR, "{error}");
}

#[test]
fn every_alpha_to_sampled_exponents() {
    let program = compile("rows.c");
    let one = Factor::ONE.to_bits();
    let max = u64::from(Fraction::ONE.to_bits());
    let mut upper: Vec<u64> = (0..=max).map(|alpha| alpha.min(1) * max).collect();
    for exponent in [
        0,
        1,
        one / 16,
        one / 2,
        one - 1,
        one,
        one + 1,
        2 * one,
        16 * one,
        4_096 * one,
        u64::MAX,
    ] {
        let d = Factor::from_bits(exponent.min(4_096 * one)).to_f64();
        let bound = power_error(EXPONENTIAL_ERROR, d).0.max(UNIT);
        let (mut alpha, mut lower, mut worst) = (0, 0, 0.0_f64);
        rows(&program, "power", 0, max + 1, 1, exponent, |block| {
            for &p in block {
                let fraction = Fraction::from_bits(alpha);
                let expected = fraction.power(Factor::from_bits(exponent));
                let place = || format!("{alpha} to the power of {exponent}");
                assert_eq!(p, u64::from(expected.to_bits()), "{}", place());
                assert_eq!(p == 0, alpha == 0, "{}", place());
                let upper = &mut upper[alpha as usize];
                assert!(lower <= p && p <= *upper, "not monotone: {}", place());
                if alpha > 0 {
                    let real = libm::pow(fraction.to_f64(), d);
                    worst = worst.max((expected.to_f64() - real).abs());
                }
                (lower, *upper) = (p, p);
                alpha += 1;
            }
        });
        assert_eq!(lower, max, "one to the power of {exponent}");
        assert!(worst <= bound, "{exponent}: {worst}, above {bound}");
    }
}

#[test]
#[ignore = "minutes on all cores (script/prove arithmetic)"]
fn every_power() {
    let program = compile("rows.c");
    let started = Instant::now();
    let (states, logarithm) = logarithms(&program);
    println!("logarithm: {states} states, largest error {logarithm:.3e}");
    let progress = Progress::open();
    let worker = || {
        let _stop = StopOnPanic(&progress);
        while let Some(chunk) = progress.next() {
            let first = chunk * CHUNK;
            progress.done(
                chunk,
                exponentials(&program, first, (first + CHUNK).min(END), 1),
            );
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let exponential = progress.worst();
    println!("exponential: {END} states, largest error {exponential:.4e}");
    for d_max in [2.0, 16.0, 4_096.0] {
        let (error, alpha) = power_error(exponential, d_max);
        println!(
            "power: error at most {error:.3e} for d in [0, {d_max}], at alpha = {alpha}/2^20; \
             at most {UNIT:.3e} for powers below it"
        );
    }
    println!("{:.0} s", started.elapsed().as_secs_f64());
    assert!(exponential <= EXPONENTIAL_ERROR, "{exponential}");
}

/// Compares the logarithm of every α; returns the number of states and the largest error.
fn logarithms(program: &Path) -> (u64, f64) {
    let end = u64::from(Fraction::ONE.to_bits()) + 1;
    let (mut alpha, mut last, mut worst) = (1, u64::MAX, 0.0_f64);
    rows(program, "logarithm", 1, end, 1, 0, |block| {
        for &got in block {
            let fraction = Fraction::from_bits(alpha);
            assert_eq!(got, minus_log2(fraction), "-log2 of {alpha}");
            assert!(got <= last, "-log2 rises at {alpha}");
            // The code returns α for d = 1, which must fit between its neighbours.
            assert_eq!(exp2_of_minus(got), fraction, "2^log2 of {alpha}");
            worst = worst.max(logarithm_error(fraction));
            (alpha, last) = (alpha + 1, got);
        }
    });
    assert_eq!(
        (alpha, last),
        (Fraction::ONE.to_bits() + 1, 0),
        "-log2 of one"
    );
    // The product with an exponent of up to 4096 stays below 2^63.
    assert_eq!(minus_log2(Fraction::from_bits(1)), 20 * ONE);
    (end - 1, worst)
}

fn logarithm_error(alpha: Fraction) -> f64 {
    (minus_log2(alpha) as f64 / ONE as f64 + libm::log2(alpha.to_f64())).abs()
}

/// Compares the exponential of every `step`-th argument from `first`; returns the largest error where the real power is
/// at least one unit.
fn exponentials(program: &Path, first: u64, end: u64, step: u64) -> f64 {
    let factor = libm::exp2(-(step as f64) / ONE as f64);
    let mut last = match first.checked_sub(step) {
        Some(before) => exp2_of_minus(before),
        None => Fraction::ONE,
    };
    let (mut x, mut worst) = (first, 0.0_f64);
    rows(program, "exponential", first, end, step, 0, |block| {
        for piece in block.chunks(RENEWAL) {
            let mut real = libm::exp2(-(x as f64) / ONE as f64);
            let mut valid = true;
            for &got in piece {
                let p = exp2_of_minus(x);
                valid &= got == u64::from(p.to_bits()) && p <= last && p > Fraction::ZERO;
                let error = (p.to_f64() - real).abs();
                if real >= UNIT {
                    worst = worst.max(error);
                } else {
                    valid &= error <= UNIT;
                }
                last = p;
                real *= factor;
                x += step;
            }
            assert!(valid, "{}", first_fault(piece, x, step));
        }
    });
    assert!(x >= end);
    worst
}

/// Describes the first fault among the values of the arguments that end before `end`.
fn first_fault(piece: &[u64], end: u64, step: u64) -> String {
    let first = end - step * piece.len() as u64;
    let mut last = Fraction::ONE;
    for (&got, number) in piece.iter().zip(0..) {
        let x = first + step * number;
        let p = exp2_of_minus(x);
        if got != u64::from(p.to_bits()) || p > last || p == Fraction::ZERO {
            return format!("2^-({x}/2^30): {got} in C, {p:?} in Rust, before {last:?}");
        }
        last = p;
    }
    format!("2^-x: more than a unit off, or rises, after x = {first}/2^30")
}

/// Returns a bound on the error of α^d for every α and every real d up to `d_max`, where α^d is above one unit, and the
/// α of the largest error. `exponential` is the largest error of 2^-x.
///
/// With L = -log2(α) and its error e, the code takes 2^-x of an x that differs from L d by at most e d + 2⁻³⁰, and
/// |2^-x - 2^-y| ≤ ln 2 |x - y| 2^-min(x, y). The maximum over d of d 2^-(L - e)d is at d = 1 / (ln 2 (L - e)).
fn power_error(exponential: f64, d_max: f64) -> (f64, u32) {
    let ln2 = core::f64::consts::LN_2;
    let resolution = 1.0 / ONE as f64;
    let mut worst = (0.0, 0);
    for alpha in 1..=Fraction::ONE.to_bits() {
        let fraction = Fraction::from_bits(alpha);
        let error = logarithm_error(fraction);
        let slope = (-libm::log2(fraction.to_f64()) - error).max(0.0);
        let d = (1.0 / (ln2 * slope)).min(d_max);
        let power = d * error * libm::exp2(resolution - slope * d);
        let bound = exponential + ln2 * (power + resolution);
        if bound > worst.0 {
            worst = (bound, alpha);
        }
    }
    worst
}

/// Runs the C program for a range of inputs and passes on its results in blocks.
fn rows(
    program: &Path,
    function: &str,
    first: u64,
    end: u64,
    step: u64,
    exponent: u64,
    mut check: impl FnMut(&[u64]),
) {
    let mut child = Command::new(program)
        .arg(function)
        .args([first, end, step, exponent].map(|number| number.to_string()))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the compiled program");
    let mut output = child.stdout.take().expect("a pipe");
    let mut left = usize::try_from((end - first).div_ceil(step)).expect("64 bits");
    let mut bytes = vec![0; BLOCK * 8];
    let mut block = Vec::with_capacity(BLOCK);
    while left > 0 {
        let length = left.min(BLOCK);
        output
            .read_exact(&mut bytes[..length * 8])
            .expect("results");
        block.clear();
        block.extend(
            bytes[..length * 8]
                .chunks_exact(8)
                .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes"))),
        );
        check(&block);
        left -= length;
    }
    assert!(child.wait().expect("ended").success());
}

/// Chunks that are done, in a file, so that an interrupted run resumes.
struct Progress {
    /// Largest error of each chunk.
    errors: Mutex<(BTreeMap<u64, f64>, File)>,
    next: AtomicU64,
}

/// Ends the other workers after the current chunk if this one panics.
struct StopOnPanic<'a>(&'a Progress);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.next.store(END.div_ceil(CHUNK), Ordering::Relaxed);
        }
    }
}

impl Progress {
    /// Opens the progress of these sources; changed sources start again.
    fn open() -> Self {
        let sources = format!(
            "{:016x}",
            [
                include_str!("../../src/bpf/arithmetic.h"),
                include_str!("../../../core/src/fixed.rs"),
                include_str!("exhaustive.rs"),
            ]
            .iter()
            .flat_map(|source| source.bytes())
            .fold(0, |hash, byte| duetime_core::random::mix(hash, byte.into()))
        );
        let path =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("exponential-{sources}"));
        let errors: BTreeMap<u64, f64> = fs::read_to_string(&path)
            .unwrap_or_default()
            .split_inclusive('\n')
            .filter_map(|line| {
                let (chunk, error) = line.strip_suffix('\n')?.split_once(' ')?;
                Some((chunk.parse().ok()?, error.parse().ok()?))
            })
            .collect();
        if !errors.is_empty() {
            println!(
                "{} of {} chunks were done before ({})",
                errors.len(),
                END.div_ceil(CHUNK),
                path.display()
            );
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .expect("a file for the progress");
        Self {
            errors: Mutex::new((errors, file)),
            next: AtomicU64::new(0),
        }
    }

    /// Returns the next chunk that is not done.
    fn next(&self) -> Option<u64> {
        loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= END.div_ceil(CHUNK) {
                return None;
            }
            let done = self.errors.lock().expect("no worker panicked");
            if !done.0.contains_key(&chunk) {
                return Some(chunk);
            }
        }
    }

    fn done(&self, chunk: u64, error: f64) {
        let mut errors = self.errors.lock().expect("no worker panicked");
        errors.0.insert(chunk, error);
        writeln!(errors.1, "{chunk} {error}").expect("written");
    }

    fn worst(&self) -> f64 {
        let errors = self.errors.lock().expect("no worker panicked");
        assert_eq!(errors.0.len() as u64, END.div_ceil(CHUNK));
        errors.0.values().copied().fold(0.0, f64::max)
    }
}

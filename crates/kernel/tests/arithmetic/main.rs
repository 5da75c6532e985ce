//! Compares the kernel controllers' arithmetic, compiled for user space, with the controllers of `proto`, bit by bit.
//! Requires a C compiler, which `script/bootstrap` installs.

#![forbid(unsafe_code)]

mod exhaustive;

use duetime_core::fixed::{Factor, Fraction};
use duetime_core::random::mix;
use duetime_core::{Span, Time};
use duetime_proto::window::{Completion, D2tcp, Progress, completion_rtts, imminence, reduced};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Number of cases per batch of the C program.
const BATCH: usize = 1 << 13;
/// Number of random cases.
const RANDOM: u64 = 10_000_000;

/// Inputs of a case.
#[derive(Clone, Copy, Debug)]
struct Case {
    d_min: u64,
    d_max: u64,
    d_expired: u64,
    precise: bool,
    has_deadline: bool,
    mss: u32,
    left_ps: u64,
    remaining: u64,
    window: u64,
    srtt_ps: u64,
    exponent: u64,
    part: u64,
    whole: u64,
    floor: u64,
    alpha: u32,
    gain_shift: u32,
}

/// Names of the results, in the order of `struct answer`.
const ANSWERS: [&str; 9] = [
    "the average",
    "the power",
    "the share",
    "Tc approximately",
    "Tc precisely",
    "the imminence",
    "d",
    "the penalty",
    "the reduced window",
];

#[test]
fn random_states_match_proto() {
    let mut program = CProgram::start();
    let seed = 11;
    for first in (0..RANDOM).step_by(BATCH) {
        let cases: Vec<Case> = (first..first + BATCH as u64)
            .map(|number| {
                Case::draw(&mut Draws {
                    seed,
                    number,
                    drawn: 0,
                })
            })
            .collect();
        program.compare(&cases);
    }
    program.end();
}

#[test]
fn edge_cases_match_proto() {
    let mut program = CProgram::start();
    let mut cases = Vec::new();
    let one = 1 << Factor::BITS;
    for (d_min, d_max, d_expired) in [
        (one / 2, 2 * one, one / 2),
        (one, one, 0),
        (0, one << 12, one << 12),
    ] {
        for (mss, window, floor) in [
            (1, 1, 1),
            (1_460, 1_460, 2_920),
            (8_948, 1 << 30, 17_896),
            (65_535, (1 << 43) - 1, 1),
        ] {
            for remaining in [
                1,
                2,
                1_459,
                1_460,
                10_240,
                5_000_000,
                (1 << 37) - 1,
                1 << 37,
                u64::MAX,
            ] {
                for left_ps in [0, 1, 1_000_000, 35_000_000_000, 1 << 46, 1 << 47, u64::MAX] {
                    for srtt_ps in [0, 1, 100_000_000, u64::MAX] {
                        for alpha in [0, 1, 15, 16, 17, 65_536, 104_857, (1 << 20) - 1, 1 << 20] {
                            let number = cases.len();
                            cases.push(Case {
                                d_min,
                                d_max,
                                d_expired,
                                mss,
                                left_ps,
                                remaining,
                                window,
                                srtt_ps,
                                floor,
                                alpha,
                                precise: number % 2 == 1,
                                has_deadline: !number.is_multiple_of(7),
                                exponent: [0, 1, one - 1, one, one + 1, one << 12, u64::MAX]
                                    [number % 7],
                                part: [0, 1, (1 << 44) - 1][number % 3],
                                whole: [(1 << 44) - 1, 1 << 43][number % 2].max(1),
                                gain_shift: [0, 1, 4, 19, 20][number % 5],
                            });
                            let last = cases.last_mut().expect("just pushed");
                            last.part = last.part.min(last.whole);
                        }
                    }
                }
            }
        }
    }
    while cases.len() % BATCH != 0 {
        cases.push(cases[0]);
    }
    for batch in cases.chunks(BATCH) {
        program.compare(batch);
    }
    program.end();
}

/// Random words, each a function only of its position.
struct Draws {
    seed: u64,
    number: u64,
    drawn: u64,
}

impl Draws {
    fn word(&mut self) -> u64 {
        self.drawn += 1;
        mix(mix(self.seed, self.number), self.drawn)
    }

    /// Returns a number below 2^`bits`, with all bit lengths equally likely.
    fn below(&mut self, bits: u64) -> u64 {
        let word = self.word();
        let length = (word >> 58) % bits + 1;
        word & ((1 << length) - 1)
    }

    fn among(&mut self, choices: u32) -> u32 {
        u32::try_from(self.word() % u64::from(choices)).expect("below a u32")
    }
}

impl Case {
    fn draw(draws: &mut Draws) -> Self {
        let d_min = draws.below(18);
        let mss = [1, 536, 1_448, 1_460, 8_948, 65_535][draws.among(6) as usize];
        let whole = draws.below(44).max(1);
        Self {
            d_min,
            d_max: d_min + draws.below(20),
            d_expired: draws.below(20),
            precise: draws.among(2) == 1,
            has_deadline: draws.among(8) != 0,
            mss,
            left_ps: if draws.among(16) == 0 {
                0
            } else {
                draws.below(50)
            },
            remaining: draws.below(40).max(u64::from(draws.among(8) != 0)),
            window: draws.below(43).max(1),
            srtt_ps: if draws.among(32) == 0 {
                0
            } else {
                draws.below(42)
            },
            exponent: if draws.among(2) == 0 {
                draws.below(19)
            } else {
                draws.below(48)
            },
            part: draws.word() % (whole + 1),
            whole,
            floor: u64::from(draws.among(5) * mss),
            alpha: match draws.among(8) {
                0 => 1 << 20,
                _ => u32::try_from(draws.below(20)).expect("20 bits"),
            },
            gain_shift: draws.among(21),
        }
    }

    /// Encodes the case as `struct input`.
    fn write(&self, to: &mut Vec<u8>) {
        for long in [self.d_min, self.d_max, self.d_expired] {
            to.extend(long.to_ne_bytes());
        }
        for word in [
            u32::from(self.precise),
            0,
            u32::from(self.has_deadline),
            self.mss,
        ] {
            to.extend(word.to_ne_bytes());
        }
        for long in [
            self.left_ps,
            self.remaining,
            self.window,
            self.srtt_ps,
            self.exponent,
            self.part,
            self.whole,
            self.floor,
        ] {
            to.extend(long.to_ne_bytes());
        }
        for word in [self.alpha, self.gain_shift] {
            to.extend(word.to_ne_bytes());
        }
    }

    /// Returns the results of `proto` and `core`.
    fn answers(&self) -> [u64; 9] {
        let now = Time::from_ps(0);
        let options = D2tcp {
            d_min: Factor::from_bits(self.d_min).to_f64(),
            d_max: Factor::from_bits(self.d_max).to_f64(),
            d_expired: Factor::from_bits(self.d_expired).to_f64(),
            completion: if self.precise {
                Completion::Precise
            } else {
                Completion::Approximate
            },
        };
        let progress = Progress {
            deadline: self.has_deadline.then(|| Time::from_ps(self.left_ps)),
            remaining: self.remaining,
            window: self.window,
            mss: self.mss,
            srtt: Span::from_ps(self.srtt_ps),
        };
        let alpha = Fraction::from_bits(self.alpha);
        let exponent = Factor::from_bits(self.exponent);
        let bytes = self.remaining.max(1);
        let tc = |form| completion_rtts(form, bytes, self.window, self.mss).to_bits();
        let penalty = options.penalty(now, alpha, &progress);
        [
            alpha
                .averaged(self.gain_shift, self.part, self.whole)
                .to_bits()
                .into(),
            alpha.power(exponent).to_bits().into(),
            alpha.of(self.window),
            tc(Completion::Approximate),
            tc(Completion::Precise),
            imminence(exponent, self.srtt_ps | 1, self.left_ps | 1).to_bits(),
            options.imminence_of(now, &progress).to_bits(),
            penalty.to_bits().into(),
            reduced(self.window, penalty, self.floor),
        ]
    }
}

/// The running C program.
struct CProgram(Child);

impl CProgram {
    fn start() -> Self {
        let program = compile("repeat.c");
        let child = Command::new(program)
            .arg(BATCH.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the compiled program");
        Self(child)
    }

    fn compare(&mut self, cases: &[Case]) {
        let mut input_bytes = Vec::with_capacity(cases.len() * 112);
        for case in cases {
            case.write(&mut input_bytes);
        }
        let input = self.0.stdin.as_mut().expect("a pipe");
        input.write_all(&input_bytes).expect("written");
        let mut answers = vec![0; cases.len() * size_of::<[u64; 9]>()];
        let output = self.0.stdout.as_mut().expect("a pipe");
        output.read_exact(&mut answers).expect("results");
        for (case, bytes) in cases
            .iter()
            .zip(answers.chunks_exact(size_of::<[u64; 9]>()))
        {
            let expected = case.answers();
            let words = bytes
                .chunks_exact(8)
                .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")));
            for ((got, expected), name) in words.zip(expected).zip(ANSWERS) {
                assert_eq!(got, expected, "{name} of {case:?}");
            }
        }
    }

    fn end(mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().expect("ended").success());
    }
}

/// Compiles a program of this folder; returns its path.
fn compile(name: &str) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = package.join("tests/arithmetic").join(name);
    let thread = format!("{name}-{:?}", std::thread::current().id()).replace(['(', ')'], "");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(thread);
    let built = Command::new("cc")
        .args([
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unknown-pragmas",
            "-Wno-sign-compare",
            "-I",
        ])
        .args([&package.join("src/bpf"), Path::new("-o")])
        .args([&program, &source])
        .status()
        .expect("a C compiler, cc (script/bootstrap)");
    assert!(built.success(), "{} does not compile", source.display());
    program
}

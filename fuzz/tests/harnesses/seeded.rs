//! Engine of a test without libFuzzer. It checks the corpus, then the inputs with which the fuzzer made this harness
//! fail, then random inputs. Each of these is drawn from a seed: parts of the corpus with changes, or random bytes.
//!
//! bolero's own engine draws seeds from the system, so a test would check other inputs each time, and only random bytes,
//! which few parsers accept.

#[path = "../../../tests/counts.rs"]
mod counts;

use bolero_engine::{Engine, Failure, Test, driver::Options, input::Bytes, panic};
use duetime_core::random::{Purpose, Stream, Streams};
use std::fmt::Debug;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Seeds of the random inputs; `FUZZ_SEEDS=FIRST..END` replaces them.
const SEEDS: Range<u64> = 0..5_000;

/// Engine of the harness with this name.
pub struct Seeded(pub &'static str);

impl Seeded {
    /// Runs a test with one input. Panics with the shortest input found that fails in the same test.
    fn check<T: Test>(&self, test: &mut T, bytes: &[u8], options: &Options, source: &str)
    where
        T::Value: Debug,
    {
        let Err(error) = test.test(&mut Bytes::new(bytes, options)) else {
            return;
        };
        let failure = test
            .shrink(bytes.to_vec(), None, options)
            .unwrap_or_else(|| Failure {
                seed: None,
                error,
                input: test.generate_value(&mut Bytes::new(bytes, options)),
            });
        panic::forward_panic(true);
        panic!("{} fails with {source}\n{failure}", self.0);
    }
}

impl<T: Test> Engine<T> for Seeded
where
    T::Value: Debug,
{
    type Output = ();

    fn run(self, mut test: T, options: Options) {
        panic::set_hook();
        panic::forward_panic(false);
        let corpus: Vec<_> = corpus(self.0).collect();
        for (path, bytes) in corpus.iter().chain(&files("crashes", self.0)) {
            self.check(&mut test, bytes, &options, &path.display().to_string());
        }
        let seeds = seeds();
        for seed in seeds.clone() {
            let mut draws = Streams::new(seed, 0).stream(0, Purpose::Fault);
            let source = format!("FUZZ_SEEDS={seed}..{}", seed + 1);
            self.check(
                &mut test,
                &random_input(&corpus, &mut draws),
                &options,
                &source,
            );
        }
        panic::forward_panic(true);
        counts::report(&[("inputs", seeds.end.saturating_sub(seeds.start))]);
    }
}

fn seeds() -> Range<u64> {
    let Ok(range) = std::env::var("FUZZ_SEEDS") else {
        return SEEDS;
    };
    let ends = range.split_once("..");
    ends.and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?))
        .unwrap_or_else(|| panic!("FUZZ_SEEDS is `{range}`; allowed is FIRST..END"))
}

/// Returns random inputs that are long enough for an endpoint's peers to open messages and complete them.
pub fn long_inputs() -> impl Iterator<Item = Vec<u8>> {
    (0..200).map(|seed| {
        let mut draws = Streams::new(seed, 0).stream(0, Purpose::Fault);
        (0..1_000)
            .flat_map(|_| draws.bits().to_le_bytes())
            .collect()
    })
}

/// Returns the corpus of a harness, ordered by name.
fn corpus(harness: &str) -> impl Iterator<Item = (PathBuf, Vec<u8>)> {
    files("corpus", harness).into_iter()
}

fn files(folder: &str, harness: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(folder)
        .join(harness);
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    paths.sort();
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("a readable input");
        (path, bytes)
    };
    paths.into_iter().map(read).collect()
}

/// Returns a file of the corpus with up to eight changes, or in one of eight cases random bytes.
fn random_input(corpus: &[(PathBuf, Vec<u8>)], draws: &mut Stream) -> Vec<u8> {
    let mut below = |bound: usize| draws.below(bound as u64) as usize;
    if corpus.is_empty() || below(8) == 0 {
        let bits = 1 + below(12);
        let length = below(1 << bits);
        return (0..length).map(|_| below(256) as u8).collect();
    }
    let mut bytes = corpus[below(corpus.len())].1.clone();
    for _ in 0..=below(8) {
        let start = below(bytes.len() + 1);
        let end = start + below((bytes.len() - start).min(16) + 1);
        let other = &corpus[below(corpus.len())].1;
        let from = below(other.len() + 1);
        let to = from + below((other.len() - from).min(64) + 1);
        let with = match below(4) {
            0 => vec![],
            1 => other[from..to].to_vec(),
            _ => (0..=below(4)).map(|_| below(256) as u8).collect(),
        };
        bytes.splice(start..end, with);
    }
    bytes
}

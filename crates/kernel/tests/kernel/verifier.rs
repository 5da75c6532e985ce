//! Budget for the verifier's work per program, to detect branches that multiply its paths.

use crate::machine::Machine;
use duetime_kernel::{Parameters, verify};
use std::io::Write as _;

/// Maximum number of instructions that the verifier may walk for one program. The kernel's limit is 1,000,000.
const BUDGET: u32 = 25_000;

#[test]
fn programs_stay_within_the_verifier_budget() {
    let Some(_machine) = Machine::take("verifier") else {
        return;
    };
    let programs = verify(Parameters::default()).expect("verified programs");
    for program in &programs {
        let line = format!("{:>7} {}", program.instructions, program.program);
        writeln!(std::io::stderr(), "{line}").expect("a terminal or a file");
    }
    for program in &programs {
        let walked = program.instructions;
        assert!(
            (1..=BUDGET).contains(&walked),
            "{}: {walked}",
            program.program
        );
    }
    assert!(programs.len() >= 10, "{programs:?}");
}

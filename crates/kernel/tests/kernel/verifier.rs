//! The verifier's work for each program: printed, and held to a budget, so that no branch multiplies its paths unseen.

use crate::machine::Machine;
use duetime_kernel::{Parameters, verify};
use std::io::Write as _;

/// Instructions that the verifier may walk for one program. The kernel gives up at 1,000,000.
const BUDGET: u32 = 25_000;

#[test]
fn each_program_stays_within_the_budget_of_the_verifier() {
    let Some(_machine) = Machine::take("verifier") else {
        return;
    };
    let programs = verify(Parameters::default()).expect("the kernel takes the programs");
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

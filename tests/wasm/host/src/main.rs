//! Compares the guest's digests on wasm32 with those of the machine itself, after checking that the module asks for
//! nothing from outside: no clock, no file, no socket, no randomness.

use std::process::ExitCode;
use wasmi::{Engine, Linker, Module, Store, TypedFunc};

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program whose output is its purpose"
)]
fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: duetime-wasm-host MODULE.wasm");
        return ExitCode::FAILURE;
    };
    match compare(&path) {
        Ok(lines) => {
            println!("{lines}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{path}: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// One line per case, or what is wrong.
fn compare(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let engine = Engine::default();
    let module = Module::new(&engine, &bytes).map_err(|error| error.to_string())?;
    let imports: Vec<String> = module
        .imports()
        .map(|import| format!("{}.{}", import.module(), import.name()))
        .collect();
    if !imports.is_empty() {
        return Err(format!("the module imports {}", imports.join(", ")));
    }
    let mut store = Store::new(&engine, ());
    let instance = Linker::new(&engine)
        .instantiate_and_start(&mut store, &module)
        .map_err(|error| error.to_string())?;
    let cases: TypedFunc<(), i32> = instance
        .get_typed_func(&store, "cases")
        .map_err(|error| error.to_string())?;
    let digest: TypedFunc<i32, i64> = instance
        .get_typed_func(&store, "digest")
        .map_err(|error| error.to_string())?;

    let count = cases
        .call(&mut store, ())
        .map_err(|error| error.to_string())? as u32;
    if count == 0 || count != duetime_wasm_guest::cases() {
        return Err(format!(
            "{count} cases on wasm32, {} here",
            duetime_wasm_guest::cases()
        ));
    }
    let mut lines = vec![format!("no imports; {count} cases")];
    for case in 0..count {
        let there = digest
            .call(&mut store, case as i32)
            .map_err(|error| error.to_string())? as u64;
        let here = duetime_wasm_guest::digest(case);
        if there != here {
            return Err(format!(
                "case {case}: {there:016x} on wasm32, {here:016x} here"
            ));
        }
        lines.push(format!("case {case}: {here:016x} on both"));
    }
    Ok(lines.join("\n"))
}

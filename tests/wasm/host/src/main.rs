//! Compares the guest's digests on wasm32 with those on the host machine, after checking that the module imports
//! nothing: no clock, file, socket or randomness. With `rows`, prints the digests of the ready-made scenarios on the host
//! machine instead, for `script/digests`.

#![forbid(unsafe_code)]

use duetime_wasm_guest::ready;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;
use wasmi::{Engine, Instance, Linker, Module, Store, TypedFunc, WasmParams, WasmResults};

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints its results"
)]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["rows", threads] if threads.parse::<usize>().is_ok() => {
            table(threads.parse().unwrap_or(1))
        }
        [module] => compare(module),
        _ => Err("usage: duetime-wasm-host MODULE.wasm | rows THREADS".to_owned()),
    };
    match result {
        Ok(lines) => {
            println!("{lines}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Returns one line per row: scenario, transport, digest of a run on `threads` threads. Runs as many at a time as there
/// are processors.
fn table(threads: usize) -> Result<String, String> {
    let rows: Vec<(&str, &str)> = (0..).map_while(ready::row).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut lines = Vec::new();
        loop {
            let row = next.fetch_add(1, Ordering::Relaxed);
            let Some((scenario, transport)) = rows.get(row) else {
                return lines;
            };
            let digest = ready::run(row, threads);
            lines.push((row, format!("{scenario} {transport} {digest:016x}")));
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let ended: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(ScopedJoinHandle::join).collect()
    });
    let mut lines = Vec::new();
    for ended in ended {
        lines.extend(ended.map_err(|_| "a row panicked".to_owned())?);
    }
    lines.sort_unstable();
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    Ok(lines.join("\n"))
}

/// Loads a module, which must have no imports.
fn load(path: &str) -> Result<(Engine, Module), String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let engine = Engine::default();
    let module = Module::new(&engine, &bytes).map_err(|error| format!("{path}: {error}"))?;
    let imports: Vec<String> = module
        .imports()
        .map(|import| format!("{}.{}", import.module(), import.name()))
        .collect();
    if !imports.is_empty() {
        return Err(format!("{path}: the module imports {}", imports.join(", ")));
    }
    Ok((engine, module))
}

struct Guest {
    store: Store<()>,
    instance: Instance,
}

impl Guest {
    fn new(engine: &Engine, module: &Module) -> Result<Self, String> {
        let mut store = Store::new(engine, ());
        let instance = Linker::new(engine)
            .instantiate_and_start(&mut store, module)
            .map_err(|error| error.to_string())?;
        Ok(Self { store, instance })
    }

    fn call<P: WasmParams, R: WasmResults>(&mut self, name: &str, with: P) -> Result<R, String> {
        let function: TypedFunc<P, R> = self
            .instance
            .get_typed_func(&self.store, name)
            .map_err(|error| format!("{name}: {error}"))?;
        function
            .call(&mut self.store, with)
            .map_err(|error| format!("{name}: {error}"))
    }
}

/// Returns one line per case, or the first difference.
fn compare(path: &str) -> Result<String, String> {
    let (engine, module) = load(path)?;
    let mut guest = Guest::new(&engine, &module)?;
    let count: u32 = guest.call("cases", ())?;
    if count == 0 || count != duetime_wasm_guest::cases() {
        return Err(format!(
            "{count} cases on wasm32, {} here",
            duetime_wasm_guest::cases()
        ));
    }
    let mut lines = vec![format!("no imports; {count} cases")];
    for case in 0..count {
        let wasm: u64 = guest.call("digest", case)?;
        let here = duetime_wasm_guest::digest(case);
        if wasm != here {
            return Err(format!(
                "case {case}: {wasm:016x} on wasm32, {here:016x} here"
            ));
        }
        lines.push(format!("case {case}: {here:016x} on both"));
    }
    Ok(lines.join("\n"))
}

//! The native module `duetime._native` of the Python package `duetime` (`python/duetime`).
//!
//! The module contains no logic beyond conversion: records with many fields are passed as JSON, tables as Arrow. Long
//! calls release the GIL, pass events to a callback, and end soon after Ctrl-C.

mod arrow;
mod compare;
mod errors;
mod fits;
mod flows;
mod folder;
mod interruptible;
mod looks;
mod searches;
mod service;
mod source;
mod sweep;

use std::ffi::OsString;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: duetime_memory::Allocator = duetime_memory::Allocator;

/// Runs the command `duetime` and returns its exit code. The first argument is the program's name.
#[pyfunction]
fn cli(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| duetime_cli::main(arguments))
}

/// Returns the JSON Schema of the scenario file.
#[pyfunction]
fn schema() -> String {
    duetime_scenario::json_schema().to_string()
}

/// Registers the classes and functions of the module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", duetime_store::VERSION)?;
    module.add_class::<source::Source>()?;
    module.add_class::<folder::Folder>()?;
    module.add_class::<arrow::Table>()?;
    module.add_class::<sweep::Plan>()?;
    module.add_class::<sweep::Remote>()?;
    module.add_function(wrap_pyfunction!(cli, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(folder::run, module)?)?;
    module.add_function(wrap_pyfunction!(folder::columns, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::make_runs, module)?)?;
    module.add_function(wrap_pyfunction!(flows::flows_csv, module)?)?;
    module.add_function(wrap_pyfunction!(fits::fit, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_transports, module)?)?;
    module.add_function(wrap_pyfunction!(looks::looks, module)?)?;
    module.add_function(wrap_pyfunction!(looks::numbers, module)?)?;
    module.add_function(wrap_pyfunction!(service::service, module)?)?;
    module.add_function(wrap_pyfunction!(searches::capacity, module)?)?;
    module.add_function(wrap_pyfunction!(searches::experiments, module)?)?;
    module.add_function(wrap_pyfunction!(searches::paper, module)?)?;
    Ok(())
}

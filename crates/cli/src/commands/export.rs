//! `duetime export`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use duetime_fit::spans;
use duetime_store::export_csv;

use super::report::open;
use crate::args;
use crate::failure::Failure;
use crate::terminal::stdout;

/// Exports the tables of every run as CSV, or its queries as spans, in the folder structure of the study.
pub fn export(args: &args::Export) -> Result<(), Failure> {
    let (plan, folder) = open(&args.dir)?;
    let default = if args.csv { "csv" } else { "spans" };
    let to = args.out.clone().unwrap_or_else(|| args.dir.join(default));
    let (mut files, mut skipped) = (0, 0);
    for key in plan.keys() {
        let run = folder.run_path(&key);
        let below = run.strip_prefix(folder.path()).unwrap_or(&run);
        if args.spans && folder.has_run(&key) {
            let records = folder.read_run(&key)?.records;
            if !records.queries.is_empty() {
                let path = to.join(below).join("spans.jsonl");
                let write = |file: &mut BufWriter<File>| {
                    spans(&records, file).map_err(|why| why.to_string())
                };
                skipped += write_atomically(&path, write)?.1;
                files += 1;
            }
        }
        if !args.csv {
            continue;
        }
        let Ok(entries) = fs::read_dir(&run) else {
            continue;
        };
        let mut tables: Vec<_> = entries
            .filter_map(Result::ok)
            .map(|entry| entry.path())
            .collect();
        tables.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "parquet")
        });
        tables.sort();
        for table in tables {
            let name = Path::new(table.file_name().unwrap_or_default()).with_extension("csv");
            export_table(&table, &to.join(below).join(name))?;
            files += 1;
        }
    }
    writeln!(stdout(), "{files} files in {}", to.display())?;
    if skipped > 0 {
        writeln!(
            stdout(),
            "{skipped} queries without an answer by the end of their run were skipped"
        )?;
    }
    Ok(())
}

fn export_table(table: &Path, csv: &Path) -> Result<(), Failure> {
    write_atomically(csv, |file| {
        export_csv(table, file).map_err(|why| why.to_string())
    })
}

/// Writes a file atomically.
fn write_atomically<T>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, String>,
) -> Result<T, Failure> {
    let cannot = |why: &dyn std::fmt::Display| {
        Failure::Unwritten(format!("{}: cannot write: {why}", path.display()))
    };
    fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).map_err(|why| cannot(&why))?;
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let mut file = BufWriter::new(File::create(&partial).map_err(|why| cannot(&why))?);
    let written = write(&mut file).map_err(|why| cannot(&why))?;
    file.into_inner().map_err(|why| cannot(&why))?;
    fs::rename(&partial, path).map_err(|why| cannot(&why))?;
    Ok(written)
}

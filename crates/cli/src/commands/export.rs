//! `duetime export`

use std::fs::{self, File};
use std::io::{BufWriter, Write, stdout};
use std::path::Path;

use duetime_store::export_csv;

use super::report::open;
use crate::args;
use crate::failure::Failure;

/// Writes every table of every run as CSV, in the folders' own shape.
pub fn export(args: &args::Export) -> Result<(), Failure> {
    let (plan, folder) = open(&args.dir)?;
    let to = args.out.clone().unwrap_or_else(|| args.dir.join("csv"));
    let mut files = 0;
    for key in plan.keys() {
        let run = folder.run_path(&key);
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
        let below = run.strip_prefix(folder.path()).unwrap_or(&run);
        for table in tables {
            let name = Path::new(table.file_name().unwrap_or_default()).with_extension("csv");
            one(&table, &to.join(below).join(name))?;
            files += 1;
        }
    }
    writeln!(stdout(), "{files} files in {}", to.display())?;
    Ok(())
}

fn one(table: &Path, csv: &Path) -> Result<(), Failure> {
    let cannot = |why: &dyn std::fmt::Display| {
        Failure::Unwritten(format!("{}: cannot write: {why}", csv.display()))
    };
    fs::create_dir_all(csv.parent().unwrap_or(Path::new(""))).map_err(|why| cannot(&why))?;
    let partial = csv.with_extension("csv.partial");
    let mut file = BufWriter::new(File::create(&partial).map_err(|why| cannot(&why))?);
    export_csv(table, &mut file).map_err(|why| cannot(&why))?;
    file.into_inner().map_err(|why| cannot(&why))?;
    fs::rename(&partial, csv).map_err(|why| cannot(&why))
}

//! `duetime report`.

use std::io::Write;
use std::process::{Command, Stdio};

use duetime_store::RunFolder;

use crate::args::{self, Open};
use crate::failure::Failure;
use crate::terminal::stdout;

/// Writes the report of a study and opens it on request.
pub fn report(args: &args::Report) -> Result<(), Failure> {
    let (plan, folder) = open(&args.dir)?;
    let (gathered, path) = duetime_study::report(&plan, &folder)?;
    duetime_study::write_summary(&plan, &folder, &gathered)?;
    writeln!(stdout(), "{}", path.display())?;
    if args.open == Open::Yes {
        let opener = if cfg!(target_os = "macos") {
            "open"
        } else {
            "xdg-open"
        };
        let spawned = Command::new(opener)
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        spawned.map_err(|why| Failure::Input(format!("{opener}: cannot open a browser: {why}")))?;
    }
    Ok(())
}

/// Opens the study in a folder.
pub fn open(path: &std::path::Path) -> Result<(duetime_study::Plan, RunFolder), Failure> {
    let folder = RunFolder::open(path)?;
    let manifest = folder.manifest()?;
    Ok((duetime_study::plan(&manifest)?, folder))
}

//! `duetime play`.

use crate::args;
use crate::failure::Failure;

/// Serves the playground until Ctrl-C, or writes its files.
#[cfg(feature = "play")]
pub fn play(args: &args::Play) -> Result<(), Failure> {
    use crate::terminal::stdout;
    use std::io::Write;

    let files = duetime_play::page().expect("the feature `play` includes the page");
    if let Some(folder) = &args.export {
        duetime_play::export(files, folder)?;
        let packed = files.iter().filter(|file| file.gzip.is_some()).count();
        writeln!(
            stdout(),
            "wrote {} files to {}; publish them with any web server that serves .wasm as application/wasm, preferably with gzip",
            files.len() + packed,
            folder.display()
        )?;
        return Ok(());
    }
    let served = duetime_play::serve(args.port)?;
    let stop = crate::interrupt::flag_saying("stopped");
    writeln!(
        stdout(),
        "Serving the playground at {} (press Ctrl-C to stop)",
        served.url()
    )?;
    stdout().flush()?;
    Ok(served.until(&stop, files)?)
}

/// Returns an error that describes how to get the playground.
#[cfg(not(feature = "play"))]
pub fn play(_: &args::Play) -> Result<(), Failure> {
    Err(Failure::Input(
        "this build does not include the playground; install the Python package that `script/python` builds, or build with \
         `--features play` (requires `rustup target add wasm32-unknown-unknown`)"
            .to_owned(),
    ))
}

#[cfg(feature = "play")]
impl From<duetime_play::PlayError> for Failure {
    fn from(error: duetime_play::PlayError) -> Self {
        match error {
            duetime_play::PlayError::Serve(_) => Failure::Runs(format!("error: {error}")),
            error => Failure::Input(error.to_string()),
        }
    }
}

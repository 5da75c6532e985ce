//! Quantities on the command line, with the words of those in scenario files.

use duetime_scenario::NotQuantity;

/// What was read, or what is wrong with it and what is allowed.
pub fn said<T>(read: Result<T, NotQuantity>) -> Result<T, String> {
    read.map_err(|wrong| format!("{}; allowed: {}", wrong.message, wrong.allowed))
}

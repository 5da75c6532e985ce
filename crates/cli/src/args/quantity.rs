//! Quantities on the command line, with the error messages of scenario files.

use duetime_scenario::InvalidQuantity;

/// Converts the error of a parsed quantity to a message with the allowed forms.
pub fn parsed<T>(result: Result<T, InvalidQuantity>) -> Result<T, String> {
    result.map_err(|wrong| format!("{}; allowed: {}", wrong.message, wrong.allowed))
}

//! What no single value can say: whether the scenario as a whole makes sense.

use crate::Scenario;
use crate::diagnostic::Diagnostic;
use crate::document::Document;

pub(crate) fn check(_: &Scenario, _: &Document) -> Result<(), Diagnostic> {
    Ok(())
}

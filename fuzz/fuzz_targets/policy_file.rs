//! Policy files of `duetime kernel`. Each gives a result or an error that points into the text.
#![no_main]

use duetime_kernel::Policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Policy::parse(text, "policy.toml") {
        Ok(policy) => assert!(policy.rules.len() <= 16),
        Err(error) => {
            let line = error.source_line.chars().count();
            assert!(error.column + error.width <= line + 2, "{error}");
        }
    }
});

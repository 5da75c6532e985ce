//! Policy files of `duetime kernel`. Each gives a result or an error that points into the text.

use duetime_kernel::Policy;

pub fn check(bytes: &[u8]) {
    let text = &String::from_utf8_lossy(bytes);
    match Policy::parse(text, "policy.toml") {
        Ok(policy) => assert!(policy.rules.len() <= 16),
        Err(error) => {
            let line = error.source_line.chars().count();
            assert!(error.column + error.width <= line + 2, "{error}");
        }
    }
}

//! Checks that the generated part of docs/results.md is up to date.

use duetime_house::root;
use std::fs;

/// End of the hand-written part of the page.
const MARK: &str = "run UPDATE=1 cargo test -p duetime-house. -->\n\n";

#[test]
fn results_page_is_up_to_date() {
    let path = root().join("docs/results.md");
    let page = fs::read_to_string(&path).expect("docs/results.md exists");
    let (by_hand, generated) = page.split_once(MARK).expect("the mark exists");
    let expected = duetime_results::schema::markdown();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{by_hand}{MARK}{expected}")).expect("the page can be written");
    } else {
        assert!(
            generated == expected,
            "docs/results.md is out of date: UPDATE=1 cargo test -p duetime-house"
        );
    }
}

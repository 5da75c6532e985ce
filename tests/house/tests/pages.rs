//! The page of columns is the one that the code would write.

use duetime_house::root;
use std::fs;

/// Ends the part of the page that is written by hand.
const MARK: &str = "run UPDATE=1 cargo test -p duetime-house. -->\n\n";

#[test]
fn the_page_of_columns_is_up_to_date() {
    let path = root().join("docs/results.md");
    let page = fs::read_to_string(&path).expect("docs/results.md is there");
    let (by_hand, made) = page.split_once(MARK).expect("the mark is there");
    let wanted = duetime_results::schema::markdown();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, format!("{by_hand}{MARK}{wanted}")).expect("the page can be written");
    } else {
        assert!(
            made == wanted,
            "docs/results.md is out of date: UPDATE=1 cargo test -p duetime-house"
        );
    }
}

//! Counts lines of code by crate: `duetime-lines FOLDER [FOLDER]`, each the root of a checkout. Two checkouts are shown in
//! adjacent columns.
//!
//! A line counts if it contains code after removing comments. Items under `#[cfg(test)]`, folders named `tests` and
//! files that only such an item names are omitted. Limits: items under other conditions, such as `#[cfg(all(test,
//! …))]`, count, as do macros that expand only in tests. The source must be formatted as `cargo fmt --check` requires.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints its results"
)]
fn main() {
    let folders: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let counts: Vec<BTreeMap<String, usize>> = folders.iter().map(|root| by_crate(root)).collect();
    match counts.as_slice() {
        [one] => print!("{}", table(one, None)),
        [one, other] => print!("{}", table(one, Some(other))),
        _ => {
            eprintln!("usage: duetime-lines FOLDER [FOLDER]");
            std::process::exit(2);
        }
    }
}

/// Returns the lines of each crate under `crates/` and `benches/`.
fn by_crate(root: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for above in ["crates", "benches"] {
        for folder in entries(&root.join(above)) {
            if folder.join("Cargo.toml").is_file() {
                let name = folder.strip_prefix(root).unwrap_or(&folder);
                counts.insert(name.display().to_string(), count_folder(&folder));
            }
        }
    }
    counts
}

fn count_folder(folder: &Path) -> usize {
    let mut sources = BTreeMap::new();
    read(folder, &mut sources);
    let mut only_tests = BTreeSet::new();
    let mut lines = BTreeMap::new();
    for (path, text) in &sources {
        let counted = count(text);
        lines.insert(path, counted.lines.len());
        for module in counted.test_modules {
            let module_path = match path.file_stem().and_then(|stem| stem.to_str()) {
                Some("mod" | "lib" | "main") => path.with_file_name(&module),
                _ => path.with_extension("").join(&module),
            };
            only_tests.insert(module_path);
        }
    }
    let for_tests = |path: &Path| {
        let whole = path.with_extension("");
        only_tests.iter().any(|module| whole.starts_with(module))
    };
    lines
        .iter()
        .filter(|(path, _)| !for_tests(path))
        .map(|(_, lines)| lines)
        .sum()
}

fn read(folder: &Path, sources: &mut BTreeMap<PathBuf, String>) {
    for path in entries(folder) {
        if path.is_dir() && !path.ends_with("tests") && !path.ends_with("target") {
            read(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            sources.insert(path, text);
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder can be listed").path())
        .collect();
    paths.sort();
    paths
}

/// Counts of a file.
#[derive(Default)]
struct Counted {
    lines: BTreeSet<usize>,
    /// Modules in other files that exist only for tests.
    test_modules: Vec<String>,
}

fn count(text: &str) -> Counted {
    let tokens: TokenStream = text.parse().expect("the source is formatted");
    let mut counted = Counted::default();
    add(tokens, &mut counted);
    counted
}

/// Counts the lines of the tokens, without comments and items for tests.
fn add(tokens: TokenStream, counted: &mut Counted) {
    let mut tokens = tokens.into_iter().filter(is_code).peekable();
    while let Some(token) = tokens.next() {
        if is_punct(&token, '#') && tokens.peek().is_some_and(is_cfg_test) {
            if let Some(module) = skip_item(&mut tokens) {
                counted.test_modules.push(module);
            }
        } else if let TokenTree::Group(group) = token {
            counted.lines.insert(group.span_open().start().line);
            counted.lines.insert(group.span_close().end().line);
            add(group.stream(), counted);
        } else {
            let span = token.span();
            counted.lines.extend(span.start().line..=span.end().line);
        }
    }
}

/// Skips the tokens up to the end of an item: a `;`, a `,` or a block. Returns the name of a module in another file.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) -> Option<String> {
    let mut before = [None, None];
    for token in tokens {
        let is_block =
            matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if is_block || is_punct(&token, ',') {
            return None;
        }
        if is_punct(&token, ';') {
            let [keyword, name] = before;
            return name.filter(|_| keyword.as_deref() == Some("mod"));
        }
        let [_, last] = before;
        before = [last, Some(token.to_string())];
    }
    None
}

/// Returns false for the tokens that stand for a doc comment.
fn is_code(token: &TokenTree) -> bool {
    let text = token.span().source_text().unwrap_or_default();
    !text.starts_with("//") && !text.starts_with("/*")
}

fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn is_cfg_test(token: &TokenTree) -> bool {
    token.to_string().replace(' ', "") == "[cfg(test)]"
}

fn table(one: &BTreeMap<String, usize>, other: Option<&BTreeMap<String, usize>>) -> String {
    let mut names: BTreeSet<&str> = one.keys().map(String::as_str).collect();
    names.extend(
        other
            .iter()
            .flat_map(|counts| counts.keys().map(String::as_str)),
    );
    let row = |name: &str, one: usize, other: Option<usize>| match other {
        None => format!("{name:<20}{one:>9}\n"),
        Some(other) => {
            let more = i128::try_from(other).unwrap_or(0) - i128::try_from(one).unwrap_or(0);
            format!("{name:<20}{one:>9}{other:>9}{more:>+9}\n")
        }
    };
    let lines =
        |counts: &BTreeMap<String, usize>, name: &str| counts.get(name).copied().unwrap_or(0);
    let mut text = String::new();
    for name in names {
        text += &row(
            name,
            lines(one, name),
            other.map(|other| lines(other, name)),
        );
    }
    text + &row(
        "all",
        one.values().sum(),
        other.map(|other| other.values().sum()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_and_tests_do_not_count() {
        let text = r##"
//! Documentation.
use a::b; // one

/* a comment /* in a comment */
   still */ fn one<'a>(x: &'a str) -> char { // two
    let quote = '"'; let other = '\''; // three
    let text = "// not a comment \" {
        /* still the text */"; // four and five
    r#"#[cfg(test)] "{"#; b"}"; r"\"; // six
    '{' // seven
} // eight
#[cfg(test)]
#[allow(dead_code)]
fn helper() { let a = [1; 2]; }
#[cfg(test)]
mod cases;
#[cfg(not(test))] // nine
struct Two { // ten
    #[cfg(test)]
    only: u8,
    both: u8, // eleven
} // twelve
#[cfg(test)]
mod tests {
    fn it() {}
}
"##;
        let counted = count(text);
        assert_eq!(counted.lines.len(), 12);
        assert_eq!(counted.test_modules, ["cases"]);
    }

    #[test]
    fn two_revisions_in_adjacent_columns() {
        let one = BTreeMap::from([("crates/a".to_owned(), 10), ("crates/b".to_owned(), 5)]);
        let other = BTreeMap::from([("crates/a".to_owned(), 7), ("crates/c".to_owned(), 1)]);
        let expected = "\
crates/a                   10        7       -3
crates/b                    5        0       -5
crates/c                    0        1       +1
all                        15        8       -7
";
        assert_eq!(table(&one, Some(&other)), expected);
    }
}

//! Counts lines of code by crate: `lines FOLDER [FOLDER]`, each the root of a checkout. Two checkouts are shown in
//! adjacent columns.
//!
//! A line counts if it contains code after removing comments. Items under `#[cfg(test)]`, folders named `tests` and
//! files that only such an item names are omitted. Limits: items under other conditions, such as `#[cfg(all(test,
//! …))]`, count, as do macros that expand only in tests. The source must be formatted as `cargo fmt --check` requires.

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
            eprintln!("usage: lines FOLDER [FOLDER]");
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
        lines.insert(path, counted.lines);
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
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    lines: usize,
    /// Modules in other files that exist only for tests.
    test_modules: Vec<String>,
}

fn count(text: &str) -> Counted {
    let tokens = tokens(text);
    let mut counted = Counted::default();
    let mut lines = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        if !starts_with(&tokens[at..], &["#", "[", "cfg", "(", "test", ")", "]"]) {
            lines.extend(tokens[at].line..=tokens[at].last_line);
            at += 1;
            continue;
        }
        let end = at + item(&tokens[at..]);
        let module = tokens[at..end].iter().position(|token| token.text == "mod");
        if let Some(module) = module.filter(|_| tokens[end - 1].text == ";") {
            counted
                .test_modules
                .push(tokens[at + module + 1].text.to_owned());
        }
        at = end;
    }
    counted.lines = lines.len();
    counted
}

fn starts_with(tokens: &[Token<'_>], texts: &[&str]) -> bool {
    tokens.len() >= texts.len()
        && tokens
            .iter()
            .zip(texts)
            .all(|(token, text)| token.text == *text)
}

/// Returns the number of tokens of the item at the start, up to a `;` or the end of a block outside of all brackets.
fn item(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for (number, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(token.text, ";" | "}" | ",") {
            return number + 1;
        }
    }
    tokens.len()
}

/// Word, literal or single other character.
#[derive(Clone, Copy, Debug)]
struct Token<'t> {
    text: &'t str,
    line: usize,
    /// Last line of the token, if it spans several lines.
    last_line: usize,
}

/// Returns the tokens, without comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let (length, code) = match next {
            _ if next.is_whitespace() => (next.len_utf8(), false),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => (block_comment(rest), false),
            _ => (literal(rest).unwrap_or_else(|| word(rest)), true),
        };
        let last_line = line + rest[..length].matches('\n').count();
        if code {
            found.push(Token {
                text: &rest[..length],
                line,
                last_line,
            });
        }
        (at, line) = (at + length, last_line);
    }
    found
}

/// Returns the length of a block comment, which may be nested.
fn block_comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        at += if rest.starts_with("/*") {
            depth += 1;
            2
        } else if rest.starts_with("*/") {
            depth -= 1;
            2
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the length of the string or character literal at the start, or `None` if there is none. A lifetime is not a
/// literal.
fn literal(text: &str) -> Option<usize> {
    let after = ["br", "cr", "b", "c", "r"]
        .iter()
        .find_map(|prefix| {
            let rest = text.strip_prefix(prefix)?;
            rest.starts_with(['"', '#', '\''])
                .then_some((*prefix, rest))
        })
        .unwrap_or(("", text));
    let (prefix, rest) = after;
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    if prefix.ends_with('r') && rest[hashes..].starts_with('"') {
        let end = format!("\"{}", &rest[..hashes]);
        let from = prefix.len() + hashes + 1;
        return Some(
            text[from..]
                .find(&end)
                .map_or(text.len(), |at| from + at + end.len()),
        );
    }
    let quote = rest
        .chars()
        .next()
        .filter(|next| matches!(next, '"' | '\''))?;
    let inside = &rest[1..];
    let plain = inside.chars().next()?;
    if quote == '\'' && plain != '\\' && !inside[plain.len_utf8()..].starts_with('\'') {
        return None;
    }
    let mut escaped = false;
    let close = inside.char_indices().find(|&(_, next)| {
        let closes = next == quote && !escaped;
        escaped = next == '\\' && !escaped;
        closes
    });
    Some(close.map_or(text.len(), |(at, _)| prefix.len() + 1 + at + 1))
}

/// Returns the length of a word or of one other character.
fn word(text: &str) -> usize {
    let is_word = |next: char| next.is_alphanumeric() || next == '_';
    let length = text.find(|next| !is_word(next)).unwrap_or(text.len());
    length.max(text.chars().next().map_or(1, char::len_utf8) * usize::from(length == 0))
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
        let expected = Counted {
            lines: 12,
            test_modules: vec!["cases".to_owned()],
        };
        assert_eq!(count(text), expected);
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

//! Spans: recorded queries as JSON lines, one span a line. Each trace is one query, and its tree of spans the tree of
//! requests; `docs/spans.md` says how.

mod line;
mod parents;
mod trees;

use crate::diagnostic::Diagnostic;
use crate::model::{RecordedQuery, Spans};
use duetime_core::Bytes;
use line::Line;
use std::ops::Range;

type Result<T> = std::result::Result<T, Diagnostic>;

/// Spans in one file.
const MOST_SPANS: usize = 10_000_000;

/// Whether a file of this text holds JSON, and so can hold spans but no table.
pub fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// What the scenario says about spans, beside their file.
pub(crate) struct Wanted {
    /// Size of a request whose span does not say it.
    pub request: Bytes,
    /// Whether hosts are those that the spans name; `None`: where they name any.
    pub named: Option<bool>,
    /// Hosts of the topology.
    pub hosts: u32,
}

/// The queries of a file, by their start.
pub(crate) struct Read {
    pub queries: Vec<RecordedQuery>,
    /// As [`Spans::outside`].
    pub outside: u64,
}

/// A mistake that no line of the file has alone.
pub(crate) enum Wrong {
    /// In the file.
    File(Diagnostic),
    /// The file does not go with `hosts` or the topology: what is wrong, and what is allowed.
    Hosts(String, String),
}

impl From<Diagnostic> for Wrong {
    fn from(error: Diagnostic) -> Self {
        Self::File(error)
    }
}

/// The queries that the spans in `text`, the content of `file`, record, sorted by start. Hosts are numbers of the spans'
/// names in the order of their bytes, where all spans have one. Requests without a size have that of `request`.
///
/// # Errors
/// What a scenario's trace of this text would be refused for, but for the number of its hosts.
pub fn recorded(
    text: &str,
    file: &str,
    request: Bytes,
) -> std::result::Result<Vec<RecordedQuery>, Diagnostic> {
    let wanted = Wanted {
        request,
        named: None,
        hosts: u32::MAX,
    };
    match read(text, file, &wanted) {
        Ok(read) if read.queries.is_empty() => {
            Err(Diagnostic::of_file(file, "no spans").allowed("at least one trace"))
        }
        Ok(read) => Ok(read.queries),
        Err(Wrong::File(error)) => Err(error),
        Err(Wrong::Hosts(message, allowed)) => {
            Err(Diagnostic::of_file(file, message).allowed(allowed))
        }
    }
}

/// Reads the spans in `text`, the content of `file`.
pub(crate) fn read(text: &str, file: &str, wanted: &Wanted) -> std::result::Result<Read, Wrong> {
    let file = lines(text, file)?;
    let hosts = hosts(&file, wanted)?;
    let parents = parents::of(&file)?;
    Ok(trees::build(&file, &parents, &hosts, wanted.request)?)
}

/// A file of spans.
struct File<'t> {
    name: &'t str,
    text: &'t str,
    /// The spans with their places in the text, in the order of the file.
    lines: Vec<(Range<usize>, Line)>,
}

impl File<'_> {
    fn line(&self, index: u32) -> &Line {
        &self.lines[index as usize].1
    }

    /// A mistake in a span as a whole.
    fn wrong(&self, index: u32, message: impl Into<String>) -> Diagnostic {
        let place = self.lines[index as usize].0.clone();
        Diagnostic::at(self.name, self.text, place, message)
    }

    /// A mistake in the value of a span's field of one of these names.
    fn wrong_field(
        &self,
        index: u32,
        names: &[&str],
        value: impl Into<String>,
        message: impl Into<String>,
    ) -> Diagnostic {
        let (name, place) = line::spelled(self.text, &self.lines[index as usize].0, names);
        let error = Diagnostic::at(self.name, self.text, place, message);
        error.key(name).value(value)
    }

    /// A mistake in a span, told by its identifier.
    fn wrong_span(&self, index: u32, message: impl Into<String>) -> Diagnostic {
        let id = format!("{:?}", self.line(index).id);
        self.wrong_field(index, line::SPAN, id, message)
    }

    /// The number of a span's line, from 1.
    fn number(&self, index: u32) -> usize {
        let start = self.lines[index as usize].0.start;
        self.text[..start].matches('\n').count() + 1
    }
}

fn lines<'t>(text: &'t str, name: &'t str) -> Result<File<'t>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for written in text.split_inclusive('\n') {
        let place = start..start + written.trim_end().len();
        start += written.len();
        if written.trim().is_empty() {
            continue;
        }
        if lines.len() == MOST_SPANS {
            let message = "one span too many in a file";
            let error = Diagnostic::at(name, text, place, message);
            return Err(error.allowed(format!("at most {MOST_SPANS} spans")));
        }
        let line = line::read(name, text, &place)?;
        lines.push((place, line));
    }
    Ok(File { name, text, lines })
}

/// Per span its host: an index into the names in the order of their bytes. `None` where hosts are drawn: then the names
/// only tell which spans are on one host.
struct Hosts {
    /// Per span, the index of its name.
    names: Vec<Option<u32>>,
    drawn: bool,
}

fn hosts(file: &File<'_>, wanted: &Wanted) -> std::result::Result<Hosts, Wrong> {
    let name = |of: &(Range<usize>, Line)| of.1.host.clone();
    let mut sorted: Vec<String> = file.lines.iter().filter_map(name).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let index = |name: &String| sorted.binary_search(name).ok();
    let index = |of: &(Range<usize>, Line)| {
        let found = of.1.host.as_ref().and_then(index)?;
        u32::try_from(found).ok()
    };
    let names: Vec<Option<u32>> = file.lines.iter().map(index).collect();
    let drawn = !wanted.named.unwrap_or(!sorted.is_empty());
    if drawn {
        return Ok(Hosts { names, drawn });
    }
    if sorted.is_empty() {
        let message = "no span names its host".to_owned();
        let allowed = "\"random\", or a file whose spans have `host` or `service`";
        return Err(Wrong::Hosts(message, allowed.to_owned()));
    }
    if let Some(without) = (0u32..).zip(&names).find(|(_, name)| name.is_none()) {
        let message = "a span without a name of its host, beside others that have one";
        let error = file.wrong(without.0, message);
        let error = error.allowed("`host` or `service` in every span, or in none");
        return Err(error
            .help("`hosts = \"random\"` in the scenario draws the hosts")
            .into());
    }
    if sorted.len() > wanted.hosts as usize {
        let message = format!(
            "its spans name {} hosts, the topology has {}",
            sorted.len(),
            wanted.hosts
        );
        let allowed = format!("at most {} names, or `hosts = \"random\"`", wanted.hosts);
        return Err(Wrong::Hosts(message, allowed));
    }
    Ok(Hosts { names, drawn })
}

impl Spans {
    /// A number that differs where the recorded queries do.
    pub(crate) fn digest(&self) -> u64 {
        use duetime_core::random::mix;
        let start = self.queries.len() as u64;
        self.queries.iter().fold(start, |digest, query| {
            let digest = mix(digest, query.start.as_ps());
            query.nodes.iter().fold(digest, |digest, node| {
                let shape = u64::from(node.parent) << 32 | u64::from(node.children);
                let host = node.host.map_or(u64::MAX, u64::from);
                let sizes = mix(node.request.0, node.response.0);
                [shape, host, sizes, node.compute.as_ps()]
                    .into_iter()
                    .fold(digest, mix)
            })
        })
    }
}

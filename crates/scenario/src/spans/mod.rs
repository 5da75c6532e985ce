//! Spans: recorded queries as JSON lines, one span per line. Each trace is one query, and its tree of spans is the tree
//! of requests. See `docs/spans.md`.

mod line;
mod parents;
mod trees;

use crate::diagnostic::{Diagnostic, Result};
use crate::model::{RecordedQuery, Spans};
use duetime_core::Bytes;
use line::Line;
use std::ops::Range;

/// Maximum number of spans in a file.
const MAX_SPANS: usize = 10_000_000;

/// Returns true if the text is JSON, so that it can be spans but not a table.
pub fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Options of the scenario for reading spans.
pub(crate) struct Wanted {
    /// Size of requests without a recorded size.
    pub request: Bytes,
    /// True to use the hosts that the spans name, false to draw hosts; `None`: true if spans name hosts.
    pub named: Option<bool>,
    /// Number of hosts of the topology.
    pub hosts: u32,
}

/// Queries of a file, sorted by start.
pub(crate) struct Read {
    pub queries: Vec<RecordedQuery>,
    /// Number of requests outside their parents, as in [`Spans::outside`].
    pub outside: u64,
}

/// Error that is not in a single line of the file.
pub(crate) enum Wrong {
    /// Error in the file.
    File(Diagnostic),
    /// The file does not match `hosts` or the topology: error message and allowed values.
    Hosts(String, String),
}

impl From<Diagnostic> for Wrong {
    fn from(error: Diagnostic) -> Self {
        Self::File(error)
    }
}

/// Returns the queries recorded by the spans in `text`, the content of `file`, sorted by start. If all spans name a
/// host, hosts are the indices of the sorted names. Requests without a size have the size `request`.
///
/// # Errors
/// The errors of a scenario with this trace, except for the number of hosts.
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

/// File of spans.
struct File<'t> {
    name: &'t str,
    text: &'t str,
    /// Spans with their positions in the text, in the order of the file.
    lines: Vec<(Range<usize>, Line)>,
}

impl File<'_> {
    fn line(&self, index: u32) -> &Line {
        &self.lines[index as usize].1
    }

    /// Creates an error in a span as a whole.
    fn wrong(&self, index: u32, message: impl Into<String>) -> Diagnostic {
        let place = self.lines[index as usize].0.clone();
        Diagnostic::at(self.name, self.text, place, message)
    }

    /// Creates an error in the value of a span's field with one of these names.
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

    /// Creates an error in a span, shown by its identifier.
    fn wrong_span(&self, index: u32, message: impl Into<String>) -> Diagnostic {
        let id = format!("{:?}", self.line(index).id);
        self.wrong_field(index, line::SPAN, id, message)
    }

    /// Returns the line number of a span, from 1.
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
        if lines.len() == MAX_SPANS {
            let message = "too many spans in a file";
            let error = Diagnostic::at(name, text, place, message);
            return Err(error.allowed(format!("at most {MAX_SPANS} spans")));
        }
        let line = line::read(name, text, &place)?;
        lines.push((place, line));
    }
    Ok(File { name, text, lines })
}

/// Hosts of the spans. If hosts are drawn, the names only show which spans are on the same host.
struct Hosts {
    /// Index of each span's host in the sorted names, or `None` without a name.
    names: Vec<Option<u32>>,
    drawn: bool,
}

fn hosts(file: &File<'_>, wanted: &Wanted) -> std::result::Result<Hosts, Wrong> {
    let name = |(_, line): &(Range<usize>, Line)| line.host.clone();
    let mut sorted: Vec<String> = file.lines.iter().filter_map(name).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let index = |name: &String| sorted.binary_search(name).ok();
    let index = |(_, line): &(Range<usize>, Line)| {
        let found = line.host.as_ref().and_then(index)?;
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
        let message = "a span without a host, while other spans have one";
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
    /// Returns a digest of the recorded queries.
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

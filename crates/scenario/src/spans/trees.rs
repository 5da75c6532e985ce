//! Trees of requests from recorded spans.

use super::line::{DAY_NS, RESPONSE, START};
use super::{File, Hosts, Read};
use crate::diagnostic::Result;
use crate::model::{RecordedNode, RecordedQuery};
use duetime_core::{Bytes, Span};

/// Maximum number of requests of a node, as in a workload of trees.
const MAX_CHILDREN: usize = 100_000;
/// Maximum number of layers of a tree.
const MAX_LAYERS: usize = 32;

/// Builds the queries of a file, sorted by start, then by their order in the file.
pub(super) fn build(
    file: &File<'_>,
    parents: &[Option<u32>],
    hosts: &Hosts,
    request: Bytes,
) -> Result<Read> {
    let requests = Requests::of(file, parents, hosts);
    let mut roots: Vec<u32> = (0u32..)
        .zip(parents)
        .filter(|(_, parent)| parent.is_none())
        .map(|(index, _)| index)
        .collect();
    roots.sort_unstable_by_key(|&root| (file.line(root).start_ns, root));
    let first = roots.first().map_or(0, |&root| file.line(root).start_ns);
    let mut read = Read {
        queries: Vec::with_capacity(roots.len()),
        outside: 0,
    };
    for root in roots {
        let after = file.line(root).start_ns - first;
        if after > DAY_NS {
            let message = format!("{after} ns after the first root");
            let start = file.line(root).start_ns.to_string();
            let error = file.wrong_field(root, START, start, message);
            return Err(error.allowed("roots within 24 hours"));
        }
        let tree = Tree {
            file,
            requests: &requests,
            hosts,
            request,
        };
        let nodes = tree.nodes(root, &mut read.outside)?;
        let start = Span::from_ns(after);
        let line = file.line(root);
        let took = Span::from_ns(line.end_ns - line.start_ns);
        read.queries.push(RecordedQuery { start, took, nodes });
    }
    Ok(read)
}

/// Requests between hosts, with the request that caused each of them.
struct Requests {
    /// Requests as (cause, request), sorted by (cause, start, line). Roots are not requests.
    sorted: Vec<(u32, u32)>,
    /// For each span, the span that shows when its request is outstanding: its client's or itself.
    timed_by: Vec<u32>,
}

impl Requests {
    fn of(file: &File<'_>, parents: &[Option<u32>], hosts: &Hosts) -> Self {
        let mut below: Vec<(u32, u32)> = (0u32..)
            .zip(parents)
            .filter_map(|(index, parent)| Some(((*parent)?, index)))
            .collect();
        below.sort_unstable();
        let name = |index: u32| hosts.names[index as usize];
        // Parents are visited before their children. A span on its parent's host is part of that host's work.
        let mut work_of: Vec<u32> = (0u32..).take(parents.len()).collect();
        let mut reached: Vec<u32> = (0u32..)
            .zip(parents)
            .filter(|(_, parent)| parent.is_none())
            .map(|(index, _)| index)
            .collect();
        let mut sorted = Vec::new();
        let mut timed_by = work_of.clone();
        while let Some(parent) = reached.pop() {
            let cause = work_of[parent as usize];
            for &(_, child) in children(&below, parent) {
                if name(child).is_some() && name(child) == name(parent) {
                    work_of[child as usize] = cause;
                } else {
                    if file.line(parent).is_client {
                        timed_by[child as usize] = parent;
                    }
                    sorted.push((cause, child));
                }
                reached.push(child);
            }
        }
        sorted.sort_unstable_by_key(|&(cause, child)| (cause, file.line(child).start_ns, child));
        Self { sorted, timed_by }
    }

    fn of_node(&self, node: u32) -> &[(u32, u32)] {
        children(&self.sorted, node)
    }
}

/// Returns the pairs with the first part `parent`. Pairs are sorted by it.
fn children(pairs: &[(u32, u32)], parent: u32) -> &[(u32, u32)] {
    let from = pairs.partition_point(|pair| pair.0 < parent);
    let many = pairs[from..].partition_point(|pair| pair.0 == parent);
    &pairs[from..from + many]
}

/// Trace of one query.
struct Tree<'t> {
    file: &'t File<'t>,
    requests: &'t Requests,
    hosts: &'t Hosts,
    request: Bytes,
}

impl Tree<'_> {
    /// Returns the nodes, breadth first.
    fn nodes(&self, root: u32, outside: &mut u64) -> Result<Vec<RecordedNode>> {
        if self.requests.of_node(root).is_empty() {
            let message = "the root of a trace has no request to another host below it";
            let error = self.file.wrong_span(root, message);
            return Err(error.allowed("at least one span below a root, on another host"));
        }
        // Spans with the indices of their parents and their depths.
        let mut spans = vec![(root, 0u32, 0usize)];
        let mut nodes = Vec::new();
        while let Some(&(span, parent, depth)) = spans.get(nodes.len()) {
            let below = self.requests.of_node(span);
            if below.len() > MAX_CHILDREN {
                let message = format!("{} requests of one span", below.len());
                let error = self.file.wrong_span(span, message);
                return Err(error.allowed(format!("at most {MAX_CHILDREN}")));
            }
            if depth > MAX_LAYERS {
                let message = "a tree that is too deep";
                let error = self.file.wrong_span(span, message);
                return Err(
                    error.allowed(format!("at most {MAX_LAYERS} requests below each other"))
                );
            }
            let position = u32::try_from(nodes.len()).expect("the spans of a file are bounded");
            nodes.push(self.node(span, parent, below)?);
            *outside += below
                .iter()
                .filter(|&&(_, child)| self.is_outside(span, child))
                .count() as u64;
            spans.extend(below.iter().map(|&(_, child)| (child, position, depth + 1)));
        }
        Ok(nodes)
    }

    fn node(&self, span: u32, parent: u32, below: &[(u32, u32)]) -> Result<RecordedNode> {
        let line = self.file.line(span);
        let response = match line.response {
            _ if line.parent.is_none() => 0,
            Some(bytes) => bytes,
            None => {
                let message = "a request without the bytes of its answer";
                let error = self.file.wrong(span, message);
                return Err(error.allowed(format!(
                    "`{}` of 1 B to 1000 GB",
                    RESPONSE.join("` or the attribute `")
                )));
            }
        };
        let ends = below.iter().map(|&(_, child)| self.request_time(child).1);
        let last = ends.max().unwrap_or(line.start_ns);
        Ok(RecordedNode {
            parent,
            children: u32::try_from(below.len()).expect("the children of a span are bounded"),
            host: self.hosts.names[span as usize].filter(|_| !self.hosts.drawn),
            request: line.request.map_or(self.request, Bytes),
            response: Bytes(response),
            compute: self.own_time(span, below),
            took: Span::from_ns(line.end_ns - line.start_ns),
            waited: Span::from_ns(last.saturating_sub(line.start_ns)),
            network: self.network(span),
        })
    }

    /// Returns the start and the end of a request, measured at its client if the client has a span.
    fn request_time(&self, request: u32) -> (u64, u64) {
        let line = self.file.line(self.requests.timed_by[request as usize]);
        (line.start_ns, line.end_ns)
    }

    /// Returns the difference between the durations of the client's span and the request's, or `None` without a
    /// client's span.
    fn network(&self, request: u32) -> Option<Span> {
        let client = self.requests.timed_by[request as usize];
        let took = |span: u32| {
            let line = self.file.line(span);
            line.end_ns - line.start_ns
        };
        (client != request).then(|| Span::from_ns(took(client).saturating_sub(took(request))))
    }

    /// Returns the time of a span in which none of its requests is outstanding.
    fn own_time(&self, span: u32, below: &[(u32, u32)]) -> Span {
        let line = self.file.line(span);
        let mut own = 0;
        let mut times: Vec<(u64, u64)> = below
            .iter()
            .map(|&(_, child)| self.request_time(child))
            .collect();
        times.sort_unstable();
        // End of all requests so far.
        let mut over = line.start_ns;
        for (start, end) in times {
            own += start.min(line.end_ns).saturating_sub(over);
            over = over.max(end).min(line.end_ns);
        }
        Span::from_ns(own + (line.end_ns - over))
    }

    fn is_outside(&self, span: u32, child: u32) -> bool {
        let span = self.file.line(span);
        let (start, end) = self.request_time(child);
        start < span.start_ns || end > span.end_ns
    }
}

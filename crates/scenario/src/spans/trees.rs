//! The trees of requests of recorded spans.

use super::line::{DAY_NS, RESPONSE, START};
use super::{File, Hosts, Read, Result};
use crate::model::{RecordedNode, RecordedQuery};
use duetime_core::{Bytes, Span};

/// Requests of one node, as in a workload of trees.
const MOST_CHILDREN: usize = 100_000;
/// Links of a tree from its root to a leaf.
const MOST_LAYERS: usize = 32;

/// The queries of a file, by start; of equal starts, in the order of the file.
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

/// Which spans are requests from host to host, and by which of them each is caused.
struct Requests {
    /// The requests, by (cause, start, line); roots are none.
    sorted: Vec<(u32, u32)>,
    /// Per span: the span that shows when the request is under way, itself or its client's.
    shown_by: Vec<u32>,
}

impl Requests {
    fn of(file: &File<'_>, parents: &[Option<u32>], hosts: &Hosts) -> Self {
        let mut below: Vec<(u32, u32)> = (0u32..)
            .zip(parents)
            .filter_map(|(index, parent)| Some(((*parent)?, index)))
            .collect();
        below.sort_unstable();
        let name = |index: u32| hosts.names[index as usize];
        // Parents come before their children: a span on its parent's host is part of what that host does.
        let mut stands_for: Vec<u32> = (0u32..).take(parents.len()).collect();
        let mut reached: Vec<u32> = (0u32..)
            .zip(parents)
            .filter(|(_, parent)| parent.is_none())
            .map(|(index, _)| index)
            .collect();
        let mut sorted = Vec::new();
        let mut shown_by = stands_for.clone();
        while let Some(parent) = reached.pop() {
            let cause = stands_for[parent as usize];
            for &(_, child) in children(&below, parent) {
                if name(child).is_some() && name(child) == name(parent) {
                    stands_for[child as usize] = cause;
                } else {
                    if file.line(parent).is_client {
                        shown_by[child as usize] = parent;
                    }
                    sorted.push((cause, child));
                }
                reached.push(child);
            }
        }
        sorted.sort_unstable_by_key(|&(cause, child)| (cause, file.line(child).start_ns, child));
        Self { sorted, shown_by }
    }

    fn of_node(&self, node: u32) -> &[(u32, u32)] {
        children(&self.sorted, node)
    }
}

/// The pairs of this first part, of pairs sorted by it.
fn children(pairs: &[(u32, u32)], parent: u32) -> &[(u32, u32)] {
    let from = pairs.partition_point(|pair| pair.0 < parent);
    let many = pairs[from..].partition_point(|pair| pair.0 == parent);
    &pairs[from..from + many]
}

/// One trace.
struct Tree<'t> {
    file: &'t File<'t>,
    requests: &'t Requests,
    hosts: &'t Hosts,
    request: Bytes,
}

impl Tree<'_> {
    /// Its nodes, breadth first.
    fn nodes(&self, root: u32, outside: &mut u64) -> Result<Vec<RecordedNode>> {
        if self.requests.of_node(root).is_empty() {
            let message = "the root of a trace has no request to another host below it";
            let error = self.file.wrong_span(root, message);
            return Err(error.allowed("at least one span below a root, on another host"));
        }
        // Spans with the positions of their parents and their depths.
        let mut spans = vec![(root, 0u32, 0usize)];
        let mut nodes = Vec::new();
        while let Some(&(span, parent, depth)) = spans.get(nodes.len()) {
            let below = self.requests.of_node(span);
            if below.len() > MOST_CHILDREN {
                let message = format!("{} requests of one span", below.len());
                let error = self.file.wrong_span(span, message);
                return Err(error.allowed(format!("at most {MOST_CHILDREN}")));
            }
            if depth > MOST_LAYERS {
                let message = "a tree that is too deep";
                let error = self.file.wrong_span(span, message);
                return Err(
                    error.allowed(format!("at most {MOST_LAYERS} requests below each other"))
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
        let ends = below.iter().map(|&(_, child)| self.under_way(child).1);
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

    /// Returns when a request is under way: from its start to its end, at its client where that has a span.
    fn under_way(&self, request: u32) -> (u64, u64) {
        let line = self.file.line(self.requests.shown_by[request as usize]);
        (line.start_ns, line.end_ns)
    }

    /// Returns how much shorter a request's span is than its client's, or `None` if its client has none.
    fn network(&self, request: u32) -> Option<Span> {
        let client = self.requests.shown_by[request as usize];
        let took = |span: u32| {
            let line = self.file.line(span);
            line.end_ns - line.start_ns
        };
        (client != request).then(|| Span::from_ns(took(client).saturating_sub(took(request))))
    }

    /// The part of a span in which none of its requests is under way.
    fn own_time(&self, span: u32, below: &[(u32, u32)]) -> Span {
        let line = self.file.line(span);
        let mut own = 0;
        let mut times: Vec<(u64, u64)> = below
            .iter()
            .map(|&(_, child)| self.under_way(child))
            .collect();
        times.sort_unstable();
        // All requests so far were over by then.
        let mut over = line.start_ns;
        for (start, end) in times {
            own += start.min(line.end_ns).saturating_sub(over);
            over = over.max(end).min(line.end_ns);
        }
        Span::from_ns(own + (line.end_ns - over))
    }

    fn is_outside(&self, span: u32, child: u32) -> bool {
        let span = self.file.line(span);
        let (start, end) = self.under_way(child);
        start < span.start_ns || end > span.end_ns
    }
}

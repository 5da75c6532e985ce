//! Self-contained HTML page of a campaign: figures, rows and interpretation notes of each experiment.

use minijinja::Environment;
use minijinja::value::Serde;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use serde::Serialize;

use super::campaign::Extent;
use super::drawings::Drawn;
use super::line::Line;
use super::rows::{Counts, Row, Share};
use super::section::{Section, Sections};
use super::verdict::Verdict;
use duetime_study::StudyError;

#[derive(Serialize)]
struct View<'a> {
    heading: &'static str,
    lead: &'static str,
    /// True if the page compares with published values.
    published: bool,
    style: String,
    script: String,
    version: &'a str,
    quick: bool,
    commands: Vec<String>,
    bars: Vec<Bar>,
    notes: Vec<String>,
    warnings: Vec<String>,
    experiments: Vec<Shown<'a>>,
}

/// A headline number at the top of the page.
#[derive(Serialize)]
struct Bar {
    name: &'static str,
    value: String,
    detail: String,
}

#[derive(Serialize)]
struct Shown<'a> {
    id: String,
    name: String,
    title: &'a str,
    source: &'a str,
    /// Heading of the column that ours are compared with.
    reference: &'static str,
    quick: bool,
    tally: String,
    figures: Vec<&'a Drawn>,
    rows: Vec<Line<'a>>,
    reading: String,
}

impl<'a> Shown<'a> {
    fn new(section: &'a Section) -> Self {
        let judged = |row: &&Row| row.verdict.is_good() || row.verdict == Verdict::Missed;
        let all = section.rows.iter().filter(judged).count();
        let good = section.rows.iter().filter(|row| row.verdict.is_good());
        Self {
            id: format!("{}-{}", section.paper, section.experiment),
            name: section.display_name(),
            title: &section.title,
            source: &section.source,
            reference: if section.is_beyond() {
                "bound"
            } else {
                "published"
            },
            quick: section.extent == Extent::Quick,
            tally: if all == 0 {
                String::new()
            } else {
                format!("{} of {all} hold", good.count())
            },
            figures: section.figures.iter().collect(),
            rows: section.rows.iter().map(Line::of).collect(),
            reading: markdown(&section.reading),
        }
    }
}

/// Renders the page of all sections. `experiments` is the number of the papers' experiments in the library.
pub fn campaign_page(sections: &Sections, experiments: usize) -> Result<String, StudyError> {
    let rows: Vec<Row> = sections.rows().cloned().collect();
    let counts = Counts::of(&rows);
    let mut notes = Vec::new();
    if counts.not_stated > 0 {
        notes.push(format!(
            "Values that the papers do not state: {}.",
            counts.not_stated
        ));
    }
    if counts.not_run > 0 {
        notes.push(format!(
            "Rows not run in this campaign: {}.",
            counts.not_run
        ));
    }
    let mut warnings: Vec<String> = sections
        .outdated
        .iter()
        .map(|id| format!("{id} is outdated (other files or another version); run it again."))
        .collect();
    let unreadable = sections.unreadable.iter();
    warnings.extend(unreadable.map(|why| format!("{why}; run it again.")));
    let published = sections.all.iter().any(|section| !section.is_beyond());
    let (heading, lead) = if published {
        (
            "Reproduction of the papers",
            "Figures and tables of D3 (SIGCOMM 2011) and D2TCP (SIGCOMM 2012), reproduced and compared with the \
             published results.",
        )
    } else {
        (
            "Experiments beyond the papers",
            "due compared with the transports of both papers, their rivals, and the best that any transport can do.",
        )
    };
    let view = View {
        heading,
        lead,
        published,
        script: duetime_study::page_script(),
        style: [duetime_study::PAGE_STYLE, include_str!("papers.css")].concat(),
        version: duetime_store::VERSION,
        quick: sections
            .all
            .iter()
            .any(|section| section.extent == Extent::Quick),
        commands: commands(sections, experiments),
        bars: bars(&counts, published),
        notes,
        warnings,
        experiments: sections.all.iter().map(Shown::new).collect(),
    };
    Environment::new()
        .render_named_str("papers.html", include_str!("papers.html"), Serde(&view))
        .map_err(|error| StudyError::Choice(format!("cannot render the page: {error}")))
}

fn bars(counts: &Counts, published: bool) -> Vec<Bar> {
    let bar = |name: &'static str, share: Share| {
        (share.of > 0).then(|| Bar {
            name,
            value: format!("{} of {}", share.good, share.of),
            detail: format!("{:.0} %", 100.0 * share.good as f64 / share.of as f64),
        })
    };
    [
        bar("published numbers met", counts.numbers),
        bar("stated orderings that hold", counts.orderings),
        bar(
            if published {
                "looser bounds of our interpretation that hold"
            } else {
                "checks that hold"
            },
            counts.looser_bounds,
        ),
        bar("calibrated numbers met", counts.calibrated_numbers),
        bar(
            "calibrated orderings that hold",
            counts.calibrated_orderings,
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the commands that reproduce the page, one for each extent.
fn commands(sections: &Sections, experiments: usize) -> Vec<String> {
    let command = |(extent, flag): (Extent, &str)| {
        let matching = || {
            sections
                .all
                .iter()
                .filter(|section| section.extent == extent)
        };
        let ids: Vec<String> = matching().map(Section::id).collect();
        let selection = match ids.len() {
            0 => return None,
            all if all == experiments && matching().all(|section| !section.is_beyond()) => {
                "all".to_owned()
            }
            _ => ids.join(" "),
        };
        Some(format!("duetime paper {selection}{flag}"))
    };
    let extents = [
        (Extent::Full, " --full"),
        (Extent::Settled, ""),
        (Extent::Quick, " --quick"),
    ];
    extents.into_iter().filter_map(command).collect()
}

/// Renders interpretation notes as HTML without their title, with headings two levels lower, below those of the page.
fn markdown(text: &str) -> String {
    let lower = |level: HeadingLevel| match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    };
    let mut in_title = false;
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Heading {
            level: HeadingLevel::H1,
            ..
        }) => {
            in_title = true;
            None
        }
        Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
            in_title = false;
            None
        }
        _ if in_title => None,
        Event::Start(Tag::Heading {
            level,
            id,
            classes,
            attrs,
        }) => Some(Event::Start(Tag::Heading {
            level: lower(level),
            id,
            classes,
            attrs,
        })),
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(lower(level)))),
        // Notes contain no HTML: show markup as text.
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        other => Some(other),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out.replace("<table>", "<div class=\"scroll\"><table>")
        .replace("</table>", "</table></div>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_have_lower_headings_and_no_html() {
        let shown = markdown("# Title\n\n## Open\n\nA <script>alert(1)</script> **word**.\n");
        assert_eq!(
            shown,
            "<h4>Open</h4>\n<p>A &lt;script&gt;alert(1)&lt;/script&gt; <strong>word</strong>.</p>\n"
        );
    }
}

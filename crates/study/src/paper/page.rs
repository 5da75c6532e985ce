//! One self-contained HTML page for the whole campaign, with the reading beside each experiment's figures.

use minijinja::Environment;
use minijinja::value::Serde;
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use serde::Serialize;

use super::drawings::Drawn;
use super::results::Results;
use super::rows::{Counts, Row, Share};
use crate::error::StudyError;
use crate::text;

#[derive(Serialize)]
struct View<'a> {
    style: String,
    version: &'a str,
    quick: bool,
    command: String,
    bars: Vec<Bar>,
    notes: Vec<String>,
    experiments: Vec<Section<'a>>,
}

/// One of the large numbers at the top.
#[derive(Serialize)]
struct Bar {
    name: &'static str,
    value: String,
    detail: String,
}

#[derive(Serialize)]
struct Section<'a> {
    id: String,
    name: String,
    title: &'a str,
    source: &'a str,
    tally: String,
    figures: Vec<&'a Drawn>,
    rows: Vec<Line<'a>>,
    reading: String,
}

/// A row of the table, as shown.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub scheme: &'a str,
    pub point: &'a str,
    pub published: String,
    pub ours: String,
    pub interval: String,
    pub verdict: &'static str,
    pub good: bool,
    pub bad: bool,
    pub kind: &'static str,
    pub source: &'a str,
}

impl<'a> Line<'a> {
    /// The row in words.
    pub fn of(row: &'a Row) -> Self {
        let with_unit = |value: Option<f64>| match value {
            None => "–".to_owned(),
            Some(value) => format!("{} {}", text::significant(value), row.unit)
                .trim_end()
                .to_owned(),
        };
        let interval = match (row.low, row.high) {
            (Some(low), Some(high)) => {
                format!("[{}, {}]", text::significant(low), text::significant(high))
            }
            _ => String::new(),
        };
        let bound = if row.check { "bound " } else { "" };
        Self {
            scheme: &row.scheme,
            point: &row.point,
            published: row.published.map_or("–".to_owned(), |value| {
                format!("{bound}{}", with_unit(Some(value)))
            }),
            ours: with_unit(row.ours),
            interval,
            verdict: row.verdict.name(),
            good: row.verdict.is_good(),
            bad: row.verdict == super::verdict::Verdict::Missed,
            kind: row.kind.name(),
            source: &row.source,
        }
    }
}

/// The page.
pub fn campaign_page(
    results: &Results<'_>,
    rows: &[Row],
    drawn: &[Drawn],
) -> Result<String, StudyError> {
    let mut environment = Environment::new();
    environment
        .add_template("papers.html", include_str!("papers.html"))
        .expect("the page is a template");
    let page = environment
        .get_template("papers.html")
        .expect("it was just added");
    let campaign = results.campaign;
    let sections = campaign.chosen.iter().map(|&index| {
        let of = results.experiment(index);
        let own: Vec<&Row> = rows
            .iter()
            .filter(|row| row.paper == of.paper && row.experiment == of.name)
            .collect();
        let counted = own.iter().filter(|row| row.ours.is_some());
        let good = counted.clone().filter(|row| row.verdict.is_good()).count();
        let judged = own
            .iter()
            .filter(|row| row.verdict.is_good() || row.verdict == super::verdict::Verdict::Missed)
            .count();
        Section {
            id: format!("{}-{}", of.paper, of.name),
            name: format!("{} {}", of.paper, of.name),
            title: &of.title,
            source: &of.source,
            tally: if judged == 0 {
                String::new()
            } else {
                format!("{good} of {judged} hold")
            },
            figures: drawn
                .iter()
                .filter(|figure| figure.experiment == index)
                .collect(),
            rows: own.into_iter().map(Line::of).collect(),
            reading: markdown(&of.reading),
        }
    });
    let counts = Counts::of(rows);
    let mut notes = Vec::new();
    if counts.not_stated > 0 {
        notes.push(format!(
            "Values that the papers do not state, and that are ours alone: {}.",
            counts.not_stated
        ));
    }
    if counts.not_run > 0 {
        notes.push(format!(
            "Rows that are not part of this campaign: {}.",
            counts.not_run
        ));
    }
    let view = View {
        style: [
            include_str!("../report/page.css"),
            include_str!("papers.css"),
        ]
        .concat(),
        version: duetime_store::VERSION,
        quick: campaign.quick,
        command: command(results),
        bars: bars(&counts),
        notes,
        experiments: sections.collect(),
    };
    page.render(Serde(&view))
        .map_err(|error| StudyError::Choice(format!("the page cannot be drawn: {error}")))
}

fn bars(counts: &Counts) -> Vec<Bar> {
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
        bar("looser bounds of our reading", counts.looser_bounds),
        bar("calibrated numbers", counts.calibrated_numbers),
        bar("calibrated orderings", counts.calibrated_orderings),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The command that makes the page again.
fn command(results: &Results<'_>) -> String {
    let campaign = results.campaign;
    let mut words = vec!["duetime paper".to_owned()];
    if campaign.chosen.len() == campaign.experiments.len() {
        words.push("all".to_owned());
    } else {
        words.extend(
            campaign
                .chosen
                .iter()
                .map(|&index| results.experiment(index).id()),
        );
    }
    if campaign.quick {
        words.push("--quick".to_owned());
    }
    words.join(" ")
}

/// A reading as HTML; its headings are two levels lower, below those of the page, and its title is left out.
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
        // A reading is text: what looks like HTML in it is shown as it is written.
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
    fn a_reading_is_text_below_the_headings_of_the_page() {
        let shown = markdown("# Title\n\n## Open\n\nA <script>alert(1)</script> **word**.\n");
        assert_eq!(
            shown,
            "<h4>Open</h4>\n<p>A &lt;script&gt;alert(1)&lt;/script&gt; <strong>word</strong>.</p>\n"
        );
    }
}

//! `docs/papers.md`: the table of verdicts and, for each miss, the cause found.

use std::fmt::Write;

use super::line::Line;
use super::results::Results;
use super::rows::{Counts, Row};
use super::verdict::Verdict;

/// The document.
pub fn papers_md(results: &Results<'_>, rows: &[Row]) -> String {
    let campaign = results.campaign;
    let counts = Counts::of(rows);
    let how = if campaign.quick {
        "`duetime paper all --quick --write-docs`: few repetitions, so the intervals are wide"
    } else {
        "`duetime paper all --write-docs`"
    };
    let mut out = String::new();
    let _ = write!(
        out,
        "# The papers' experiments\n\n\
         <!-- Made by `duetime paper all --write-docs`. -->\n\n\
         Every figure and table of D3 (SIGCOMM 2011) and D2TCP (SIGCOMM 2012), run again and held against what the papers\n\
         say. Made by {how}. The experiments are the folders under `papers/`; each has a\n\
         `reading.md`, the interpretation notes, that says what its paper leaves open and what was chosen.\n\n\
         A number is *met* within 15 % of the published one, or if our 95 % interval holds it and is no wider than ± 5 % of\n\
         it or, for percentages, ± 1 point. Of a check, \"ours\" is the difference, ratio or step that is bounded, where it\n\
         holds by least. Calibrated values had something fitted to them and are counted apart; looser bounds are ours and\n\
         not the papers'.\n\n\
         | | |\n|---|---|\n\
         | published numbers met | {} |\n\
         | stated orderings and trends that hold | {} |\n\
         | looser bounds of our interpretation | {} |\n\
         | calibrated numbers | {} |\n\
         | calibrated orderings | {} |\n\
         | values that the papers do not state | {} |\n",
        counts.numbers,
        counts.orderings,
        counts.looser_bounds,
        counts.calibrated_numbers,
        counts.calibrated_orderings,
        counts.not_stated,
    );
    if counts.not_run > 0 {
        let _ = writeln!(
            out,
            "| rows that this campaign does not have | {} |",
            counts.not_run
        );
    }
    for &index in &campaign.chosen {
        let of = results.experiment(index);
        let own: Vec<&Row> = rows
            .iter()
            .filter(|row| row.paper == of.paper && row.experiment == of.name)
            .collect();
        let _ = write!(
            out,
            "\n## {} {}: {}\n\nSource: {}.",
            of.paper, of.name, of.title, of.source
        );
        let _ = writeln!(
            out,
            " Interpretation notes: `papers/{}/{}/reading.md`.",
            of.paper, of.name
        );
        if own.is_empty() {
            continue;
        }
        out.push_str(
            "\n| scheme | point | published | ours | verdict | kind |\n|---|---|---|---|---|---|\n",
        );
        for row in &own {
            let line = Line::of(row);
            let ours = format!("{} {}", line.ours, line.interval);
            let cells = [
                line.scheme,
                line.point,
                &line.published,
                ours.trim_end(),
                &line.verdict,
                line.kind,
            ];
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        let missed: Vec<&Row> = own
            .into_iter()
            .filter(|row| row.verdict == Verdict::Missed)
            .collect();
        if missed.is_empty() {
            continue;
        }
        out.push_str("\nMisses:\n\n");
        let causes = causes(of.section("Misses"));
        for row in missed {
            let name = name(row);
            let cause = causes.iter().find(|(of, _)| *of == name);
            let text = cause.map_or("no cause found yet.", |(_, text)| text.as_str());
            let _ = writeln!(out, "- **{name}**: {text}");
        }
    }
    out
}

/// What a row's cause begins with in the interpretation notes: the text of a check, scheme and point of a number.
fn name(row: &Row) -> String {
    if row.check {
        row.point.clone()
    } else {
        format!("{} {}", row.scheme, row.point)
    }
}

/// The paragraphs and list items of a section that begin with something in bold, by that.
fn causes(section: &str) -> Vec<(String, String)> {
    let mut causes: Vec<(String, String)> = Vec::new();
    let mut open = false;
    for line in section.lines() {
        let item = line
            .trim()
            .trim_start_matches("- ")
            .trim_start_matches("* ");
        let bold = item
            .strip_prefix("**")
            .and_then(|rest| rest.split_once("**"));
        if let Some((name, text)) = bold {
            let text = text.trim_start().trim_start_matches(':').trim();
            let name = name.trim_end_matches([':', '.']).to_owned();
            causes.push((name, text.to_owned()));
            open = true;
        } else if line.trim().is_empty() {
            open = false;
        } else if let Some((_, text)) = causes.last_mut().filter(|_| open) {
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_a_paragraph_or_an_item_that_begins_in_bold() {
        let section = "Some words.\n\n- **d3 moderate n95**: the floor {0, 5 ms}\n  moves it by 3.\n- **D3 above TCP**: no.\n\n\
                       Not of it.\n\n**d3 40 missed.** Open.";
        let found = causes(section);
        let expected = [
            ("d3 moderate n95", "the floor {0, 5 ms} moves it by 3."),
            ("D3 above TCP", "no."),
            ("d3 40 missed", "Open."),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(found, expected);
    }
}

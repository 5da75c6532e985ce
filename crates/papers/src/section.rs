//! Page sections, one per experiment. They are stored in the campaign's folder, so the page shows all experiments that
//! were run there, not only those of the last command.

use std::path::Path;

use duetime_store::{Journal, StoreError};
use serde::{Deserialize, Serialize};

use super::campaign::Extent;
use super::drawings::Drawn;
use super::experiment::Experiment;
use super::results::Results;
use super::rows::Row;
use duetime_study::StudyError;

/// Name of the sections' folder in that of the campaign.
const FOLDER: &str = "experiments";

/// Section of the page for one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Paper: `d3` or `d2tcp`.
    pub paper: String,
    /// Name of the experiment, such as `fig10`.
    pub experiment: String,
    /// Title.
    pub title: String,
    /// Figure, table or section of the paper.
    pub source: String,
    /// Number of runs of its campaign.
    pub extent: Extent,
    /// Version of Duetime that ran the experiment.
    pub version: String,
    /// Checksum of the experiment's files.
    checksum: String,
    /// Interpretation notes: the text of `reading.md`.
    pub reading: String,
    /// Rows of the table.
    pub rows: Vec<Row>,
    /// Figures.
    pub figures: Vec<Drawn>,
}

/// Sections of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sections {
    /// Sections in the order of the library.
    pub all: Vec<Section>,
    /// `PAPER/NAME` of the sections made from different files or by another version.
    pub outdated: Vec<String>,
    /// Errors of sections that could not be read.
    pub unreadable: Vec<String>,
}

impl Sections {
    /// Returns all rows of all sections.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.all.iter().flat_map(|section| &section.rows)
    }
}

impl Section {
    /// Returns the identifier, such as `d3/fig10`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.paper, self.experiment)
    }

    /// Returns true for our own experiments, which have bounds instead of published values.
    pub fn is_beyond(&self) -> bool {
        self.paper == "beyond"
    }

    /// Returns the displayed name, such as `D2TCP, Figure 10`.
    pub fn display_name(&self) -> String {
        format!(
            "{}, {}",
            paper_label(&self.paper),
            experiment_label(&self.experiment)
        )
    }
}

fn paper_label(name: &str) -> String {
    match name {
        "beyond" => "Beyond the papers".to_owned(),
        paper => paper.to_uppercase(),
    }
}

/// Formats `fig06` as `Figure 6`, `table1-per-aggregator` as `Table 1 per aggregator` and others with spaces.
fn experiment_label(name: &str) -> String {
    let (first, rest) = name.split_once('-').unwrap_or((name, ""));
    let numbered = [("fig", "Figure"), ("table", "Table")]
        .iter()
        .find_map(|(short, word)| {
            let number: u32 = first.strip_prefix(short)?.parse().ok()?;
            Some(format!("{word} {number}"))
        });
    let words = format!(
        "{} {}",
        numbered.unwrap_or_else(|| first.to_owned()),
        rest.replace('-', " ")
    );
    words.trim_end().to_owned()
}

/// Creates one section for each selected experiment of a campaign.
pub fn sections(results: &Results<'_>, rows: &[Row], drawn: &[Drawn]) -> Vec<Section> {
    let campaign = results.campaign;
    let section = |&index: &usize| {
        let experiment = results.experiment(index);
        let belongs =
            |row: &&Row| row.paper == experiment.paper && row.experiment == experiment.name;
        let figures = drawn.iter().filter(|figure| figure.experiment == index);
        Section {
            paper: experiment.paper.clone(),
            experiment: experiment.name.clone(),
            title: experiment.title.clone(),
            source: experiment.source.clone(),
            extent: campaign.extent,
            version: duetime_store::VERSION.to_owned(),
            checksum: checksum(experiment),
            reading: experiment.reading.clone(),
            rows: rows.iter().filter(belongs).cloned().collect(),
            figures: figures.cloned().collect(),
        }
    };
    campaign.chosen.iter().map(section).collect()
}

/// Stores `new` sections in the campaign's folder and returns all sections there. The latest run of an experiment
/// replaces earlier ones, even if it has fewer runs.
pub fn store_sections(
    out: &Path,
    library: &[Experiment],
    new: &[Section],
) -> Result<Sections, StudyError> {
    let folder = Journal::open(&out.join(FOLDER)).map_err(StoreError::after_results)?;
    let file = |paper: &str, name: &str| format!("{paper}-{name}.json");
    for section in new {
        folder.write(&file(&section.paper, &section.experiment), section)?;
    }
    let mut sections = Sections::default();
    for experiment in library {
        match folder.read::<Section>(&file(&experiment.paper, &experiment.name)) {
            Ok(None) => {}
            Ok(Some(section)) => {
                if section.checksum != checksum(experiment)
                    || section.version != duetime_store::VERSION
                {
                    sections.outdated.push(experiment.id());
                }
                sections.all.push(section);
            }
            Err(error @ StoreError::Damaged { .. }) => {
                sections
                    .unreadable
                    .push(format!("{}: {error}", experiment.id()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(sections)
}

/// Returns the checksum of an experiment's files except its notes, which do not affect results.
fn checksum(experiment: &Experiment) -> String {
    let bytes = [experiment.text.as_str(), &experiment.scenario].concat();
    duetime_store::checksum(bytes.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_follow_the_papers() {
        assert_eq!(experiment_label("fig06"), "Figure 6");
        assert_eq!(
            experiment_label("table1-per-aggregator"),
            "Table 1 per aggregator"
        );
        assert_eq!(experiment_label("worst-case"), "worst case");
        assert_eq!(experiment_label("figures"), "figures");
        assert_eq!(paper_label("d2tcp"), "D2TCP");
    }
}

//! Experiments are read with messages that help, and those of this repository can be read.

use std::fs;
use std::path::Path;

use duetime_papers::{Campaign, choose, library};

use crate::shared::{EXPERIMENT, READING, SCENARIO, papers};

fn refusal(name: &str, from: &str, to: &str) -> String {
    assert!(EXPERIMENT.contains(from), "{from}");
    let papers = papers(name, &EXPERIMENT.replacen(from, to, 1), SCENARIO);
    match library(&papers) {
        Err(error) => error.to_string(),
        Ok(experiments) => Campaign::new(experiments, vec![0], true)
            .expect_err("a mistake")
            .to_string(),
    }
}

#[test]
fn mistakes_are_named_with_file_line_value_and_what_is_allowed() {
    let said = refusal("metric", "\"missed\"", "\"mised\"");
    assert!(said.contains("experiment.toml:4:10"), "{said}");
    assert!(said.contains("did you mean `missed`?"), "{said}");
    let said = refusal("key", "[axis]\nkey", "[axis]\nkye");
    assert!(
        said.contains("experiment.toml:8:1") && said.contains("kye"),
        "{said}"
    );
    let said = refusal("at", "at = 5", "at = 7");
    assert!(
        said.contains("not a value of the axis") && said.contains("allowed: 2, 5"),
        "{said}"
    );
    let said = refusal(
        "scheme",
        "left = { scheme = \"free\", at = 5 }",
        "left = { scheme = \"fre\" }",
    );
    assert!(said.contains("has no scheme `fre`"), "{said}");
    let said = refusal("kind", "kind = \"not-stated\"", "kind = \"predicted\"");
    assert!(said.contains("has no `value`"), "{said}");
    let said = refusal(
        "setting",
        "key = \"workload.senders\"",
        "key = \"workload.sender\"",
    );
    assert!(
        said.contains("did you mean `senders`?") && said.contains("scheme dctcp"),
        "{said}"
    );
    let said = refusal(
        "workload",
        "at = 5\nkind",
        "at = 5\nworkload = \"bust\"\nkind",
    );
    assert!(
        said.contains("experiment.toml:35:12") && said.contains("allowed: burst"),
        "{said}"
    );
    let said = refusal(
        "several",
        "set = { transport = \"dctcp\" }",
        "set = { transport = [\"tcp\", \"d3\"] }",
    );
    assert!(said.contains("several transports (tcp, d3)"), "{said}");
}

#[test]
fn a_fitted_value_cannot_pass_for_a_prediction() {
    let fitted = |scheme: &str, published: &str| {
        let calibration = format!(
            "{EXPERIMENT}\n[[calibration]]\nkey = \"switch.buffer\"\nvalue = \"100 KB\"\non = {{ scheme = \"{scheme}\", at = 5 }}\n"
        );
        calibration.replacen("kind = \"not-stated\"", published, 1)
    };
    let read = |name: &str, text: &str| library(&papers(name, text, SCENARIO)).map(|_| ());
    let own =
        read("fitted-own", &fitted("d2tcp", "kind = \"not-stated\"")).expect_err("its own curve");
    assert!(
        own.to_string().contains("fitted on d2tcp's own curve"),
        "{own}"
    );
    let silent = read(
        "fitted-silent",
        &fitted("dctcp", "kind = \"predicted\"\nvalue = 1"),
    )
    .expect_err("silent");
    assert!(
        silent.to_string().contains("kind = \"calibrated\""),
        "{silent}"
    );
    read(
        "fitted-said",
        &fitted("dctcp", "kind = \"calibrated\"\nvalue = 1"),
    )
    .expect("said");
}

#[test]
fn a_curve_cannot_predict_itself_through_another_experiment() {
    // `burst` publishes a prediction for its D2TCP curve; `other` fitted the buffer on that curve.
    let predicted = EXPERIMENT.replacen(
        "scheme = \"dctcp\"\nat = 5\nkind = \"not-stated\"",
        "scheme = \"free\"\nat = 5\nkind = \"predicted\"\nvalue = 1",
        1,
    );
    let predicted = predicted.replace("\"free\"", "\"d2tcp-free\"");
    let other = |name: &str, key: &str, value: &str| {
        let papers = papers(name, &predicted, SCENARIO);
        let folder = papers.join("test/other");
        fs::create_dir_all(&folder).expect("a folder");
        let fitted = format!(
            "{EXPERIMENT}\n[[calibration]]\nkey = \"{key}\"\nvalue = \"{value}\"\n\
             on = {{ experiment = \"burst\", scheme = \"d2tcp-free\", at = 2 }}\n"
        );
        let scenario = SCENARIO.replace("100 KB\"\necn", "90 KB\"\necn");
        for (file, text) in [
            ("experiment.toml", fitted.as_str()),
            ("scenario.toml", &scenario),
            ("reading.md", READING),
        ] {
            fs::write(folder.join(file), text).expect("a file");
        }
        library(&papers)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    // The threshold is the same in both: what was fitted at 2 senders is read at 5.
    let said = other("silent-shared", "switch.ecn_threshold", "5 packets").expect_err("shared");
    assert!(
        said.contains("test/burst's curve of d2tcp-free reads switch.ecn_threshold = 5 packets"),
        "{said}"
    );
    // The buffer is not: what `burst` reads was not fitted on it.
    assert_eq!(other("not-shared", "switch.buffer", "90 KB"), Ok(()));
    let said = other("stale", "switch.buffer", "80 KB").expect_err("nobody reads it");
    assert!(
        said.contains("no scenario here reads switch.buffer = 80 KB"),
        "{said}"
    );
}

#[test]
fn the_experiments_of_this_repository_can_be_read_and_expanded() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let experiments = library(&papers).unwrap_or_else(|error| panic!("{error}"));
    for of in &experiments {
        let headings: Vec<&str> = of
            .reading
            .lines()
            // Our own experiments may also say what they showed.
            .filter(|line| line.starts_with("## ") && *line != "## What was seen")
            .collect();
        let expected = [
            "## What the paper leaves open",
            "## What was chosen, and why",
            "## Calibrated and predicted",
            "## Misses",
        ];
        assert_eq!(headings, expected, "{}/reading.md", of.id());
    }
    let all: Vec<usize> = (0..experiments.len()).collect();
    for quick in [true, false] {
        let experiments = library(&papers).expect("it was just read");
        let campaign = Campaign::new(experiments, all.clone(), quick);
        let campaign = campaign.unwrap_or_else(|error| panic!("{error}"));
        assert!(campaign.runs() > 0);
    }
}

#[test]
fn every_scheme_of_this_repository_looks_the_same_in_every_figure() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let experiments = library(&papers).unwrap_or_else(|error| panic!("{error}"));
    for of in &experiments {
        for scheme in &of.schemes {
            assert!(
                of.palette.get(&scheme.name).is_some(),
                "{}: give scheme `{}` a look in papers/schemes.toml",
                of.id(),
                scheme.name
            );
        }
    }
}

#[test]
fn looks_are_checked() {
    let said = |name: &str, looks: &str| {
        let papers = papers(name, EXPERIMENT, SCENARIO);
        fs::write(papers.join("schemes.toml"), looks).expect("a file");
        library(&papers).expect_err("a mistake").to_string()
    };
    let colour = said("look-colour", "free = \"bleu circle long\"\n");
    assert!(
        colour.contains("schemes.toml:1:8") && colour.contains("`bleu` is no colour"),
        "{colour}"
    );
    let alike = said(
        "look-alike",
        "optimum = \"blue square long\"\nfree = \"blue circle long\"\n",
    );
    assert!(
        alike.contains("schemes.toml:2:8")
            && alike.contains("the same colour and dash pattern as `optimum`"),
        "{alike}"
    );
    let twice = said("look-twice", "d3 = \"grey circle long\"\n");
    assert!(twice.contains("`d3` has a look already"), "{twice}");
}

#[test]
fn unknown_names_suggest_the_nearest() {
    let experiments = library(&papers("names", EXPERIMENT, SCENARIO)).expect("a library");
    let said = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        choose(&experiments, &words).map_err(|error| error.to_string())
    };
    assert_eq!(said(&["test"]), Ok(vec![0]));
    assert_eq!(said(&["test", "burst"]), Ok(vec![0]));
    assert_eq!(said(&["test/burst"]), Ok(vec![0]));
    let error = said(&["test", "brust"]).expect_err("no such experiment");
    assert!(error.contains("did you mean `burst`?"), "{error}");
    let error = said(&["tset"]).expect_err("no such paper");
    assert!(error.contains("did you mean `test`?"), "{error}");
    for word in ["burst", "bursst"] {
        let error = said(&[word]).expect_err("no paper before it");
        assert!(error.contains("did you mean `test burst`?"), "{error}");
    }
    let error = said(&["quite-another"]).expect_err("nothing like it");
    assert!(
        error.contains("`quite-another`. There are: test, all, test/burst"),
        "{error}"
    );
}

#[test]
fn sources_are_named_as_a_reader_knows_them() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    for of in library(&place).expect("this repository's papers") {
        let sources = of.published.iter().map(|value| &value.source);
        let sources = sources.chain(of.checks.iter().map(|check| &check.source));
        for source in sources.chain([&of.source]).filter(|of| !of.is_empty()) {
            let known = ["D3, ", "D2TCP, ", "ours"].iter();
            assert!(
                known.clone().any(|name| source.starts_with(name)),
                "{}: {source}",
                of.id()
            );
        }
    }
}

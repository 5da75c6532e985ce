//! Error messages of the reader, and checks of the experiments in this repository.

use std::fs;
use std::path::Path;

use duetime_papers::{Campaign, Extent, choose, library};

use crate::shared::{EXPERIMENT, READING, SCENARIO, papers};

fn refusal(name: &str, from: &str, to: &str) -> String {
    assert!(EXPERIMENT.contains(from), "{from}");
    let papers = papers(name, &EXPERIMENT.replacen(from, to, 1), SCENARIO);
    match library(&papers) {
        Err(error) => error.to_string(),
        Ok(experiments) => Campaign::new(experiments, vec![0], Extent::Quick)
            .expect_err("a mistake")
            .to_string(),
    }
}

#[test]
fn errors_have_position_value_and_allowed_values() {
    let message = refusal("metric", "\"missed\"", "\"mised\"");
    assert!(message.contains("experiment.toml:4:10"), "{message}");
    assert!(message.contains("did you mean `missed`?"), "{message}");
    let message = refusal("key", "[axis]\nkey", "[axis]\nkye");
    assert!(
        message.contains("experiment.toml:8:1") && message.contains("kye"),
        "{message}"
    );
    let message = refusal("at", "at = 5", "at = 7");
    assert!(
        message.contains("not a value of the axis") && message.contains("allowed: 2, 5"),
        "{message}"
    );
    let message = refusal(
        "scheme",
        "left = { scheme = \"free\", at = 5 }",
        "left = { scheme = \"fre\" }",
    );
    assert!(message.contains("has no scheme `fre`"), "{message}");
    let message = refusal("kind", "kind = \"not-stated\"", "kind = \"predicted\"");
    assert!(message.contains("has no `value`"), "{message}");
    let message = refusal(
        "setting",
        "key = \"workload.senders\"",
        "key = \"workload.sender\"",
    );
    assert!(
        message.contains("did you mean `senders`?") && message.contains("scheme dctcp"),
        "{message}"
    );
    let message = refusal(
        "workload",
        "at = 5\nkind",
        "at = 5\nworkload = \"bust\"\nkind",
    );
    assert!(
        message.contains("experiment.toml:35:12") && message.contains("allowed: burst"),
        "{message}"
    );
    let message = refusal(
        "several",
        "set = { transport = \"dctcp\" }",
        "set = { transport = [\"tcp\", \"d3\"] }",
    );
    assert!(
        message.contains("several transports (tcp, d3)"),
        "{message}"
    );
}

#[test]
fn fitted_value_is_no_prediction() {
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
        "fitted-message",
        &fitted("dctcp", "kind = \"calibrated\"\nvalue = 1"),
    )
    .expect("message");
}

#[test]
fn curve_cannot_predict_itself_indirectly() {
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
    // Both experiments have the same threshold: fitted at 2 senders, read at 5.
    let message = other("silent-shared", "switch.ecn_threshold", "5 packets").expect_err("shared");
    assert!(
        message.contains("test/burst's curve of d2tcp-free reads switch.ecn_threshold = 5 packets"),
        "{message}"
    );
    // The buffers differ: `burst` does not read the fitted value.
    assert_eq!(other("not-shared", "switch.buffer", "90 KB"), Ok(()));
    let message = other("stale", "switch.buffer", "80 KB").expect_err("not read");
    assert!(
        message.contains("no scenario here reads switch.buffer = 80 KB"),
        "{message}"
    );
}

#[test]
fn repository_experiments_are_valid() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let experiments = library(&papers).unwrap_or_else(|error| panic!("{error}"));
    for experiment in &experiments {
        let headings: Vec<&str> = experiment
            .reading
            .lines()
            // Results are optional.
            .filter(|line| line.starts_with("## ") && *line != "## Results")
            .collect();
        let expected = [
            "## Open points",
            "## Choices",
            "## Calibration",
            "## Misses",
        ];
        assert_eq!(headings, expected, "{}/reading.md", experiment.id());
    }
    let all: Vec<usize> = (0..experiments.len()).collect();
    for extent in [Extent::Quick, Extent::Full] {
        let experiments = library(&papers).expect("already read once");
        let campaign = Campaign::new(experiments, all.clone(), extent);
        let campaign = campaign.unwrap_or_else(|error| panic!("{error}"));
        assert!(campaign.runs() > 0);
    }
}

#[test]
fn repository_schemes_have_styles() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let experiments = library(&papers).unwrap_or_else(|error| panic!("{error}"));
    for experiment in &experiments {
        for scheme in &experiment.schemes {
            assert!(
                experiment.palette.get(&scheme.name).is_some(),
                "{}: add a style for scheme `{}` to papers/schemes.toml",
                experiment.id(),
                scheme.name
            );
        }
    }
}

#[test]
fn styles_are_checked() {
    let message = |name: &str, styles: &str| {
        let papers = papers(name, EXPERIMENT, SCENARIO);
        fs::write(papers.join("schemes.toml"), styles).expect("a file");
        library(&papers).expect_err("a mistake").to_string()
    };
    let colour = message("style-colour", "free = \"bleu circle long\"\n");
    assert!(
        colour.contains("schemes.toml:1:8") && colour.contains("`bleu` is not a colour"),
        "{colour}"
    );
    let alike = message(
        "style-conflict",
        "optimum = \"blue square long\"\nfree = \"blue circle long\"\n",
    );
    assert!(
        alike.contains("schemes.toml:2:8")
            && alike.contains("the same colour and dash pattern as `optimum`"),
        "{alike}"
    );
    let twice = message("style-duplicate", "d3 = \"grey circle long\"\n");
    assert!(twice.contains("`d3` already has a style"), "{twice}");
}

#[test]
fn unknown_names_suggest_the_nearest() {
    let experiments = library(&papers("names", EXPERIMENT, SCENARIO)).expect("a library");
    let message = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        choose(&experiments, &words).map_err(|error| error.to_string())
    };
    assert_eq!(message(&["test"]), Ok(vec![0]));
    assert_eq!(message(&["test", "burst"]), Ok(vec![0]));
    assert_eq!(message(&["test/burst"]), Ok(vec![0]));
    let error = message(&["test", "brust"]).expect_err("no such experiment");
    assert!(error.contains("did you mean `burst`?"), "{error}");
    let error = message(&["tset"]).expect_err("no such paper");
    assert!(error.contains("did you mean `test`?"), "{error}");
    for word in ["burst", "bursst"] {
        let error = message(&[word]).expect_err("no paper before it");
        assert!(error.contains("did you mean `test burst`?"), "{error}");
    }
    let error = message(&["quite-another"]).expect_err("nothing like it");
    assert!(
        error.contains("`quite-another`. Allowed: test, all, test/burst"),
        "{error}"
    );
}

#[test]
fn sources_name_paper_or_ours() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    for experiment in library(&place).expect("this repository's papers") {
        let sources = experiment.published.iter().map(|value| &value.source);
        let sources = sources.chain(experiment.checks.iter().map(|check| &check.source));
        for source in sources
            .chain([&experiment.source])
            .filter(|source| !source.is_empty())
        {
            let known = ["D3, ", "D2TCP, ", "ours"].iter();
            assert!(
                known.clone().any(|name| source.starts_with(name)),
                "{}: {source}",
                experiment.id()
            );
        }
    }
}

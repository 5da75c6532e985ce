//! Selection of experiments on the command line.

use duetime_scenario::nearest;

use super::super::experiment::Experiment;
use duetime_study::StudyError;

/// Returns the indices of the experiments that `words` select: `all` of the papers', a paper, a paper and some of its
/// experiments, or `d3/fig10`. `beyond` selects our own experiments. The error for an unknown name suggests the nearest.
pub fn choose(experiments: &[Experiment], words: &[String]) -> Result<Vec<usize>, StudyError> {
    let mut papers: Vec<&str> = experiments
        .iter()
        .map(|experiment| experiment.paper.as_str())
        .collect();
    papers.dedup();
    let refuse = |word: &str, near: &[String], known: &[&str]| {
        let near: Vec<String> = near.iter().map(|near| format!("`{near}`")).collect();
        let help = match near.as_slice() {
            [] => ".".to_owned(),
            near => format!("; did you mean {}?", near.join(" or ")),
        };
        let known = known.join(", ");
        StudyError::Choice(format!(
            "unknown paper or experiment `{word}`{help} Allowed: {known}"
        ))
    };
    let mut chosen = vec![false; experiments.len()];
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if word == "all" {
            for (chosen, experiment) in chosen.iter_mut().zip(experiments) {
                *chosen |= !experiment.is_beyond();
            }
            continue;
        }
        if let Some(index) = experiments
            .iter()
            .position(|experiment| experiment.id() == word)
        {
            chosen[index] = true;
            continue;
        }
        if !papers.contains(&word) {
            let ids: Vec<String> = experiments.iter().map(Experiment::id).collect();
            let mut known: Vec<&str> = papers.clone();
            known.push("all");
            known.extend(ids.iter().map(String::as_str));
            return Err(refuse(word, &near(experiments, word, &known), &known));
        }
        let mut whole = true;
        while let Some(name) =
            words.next_if(|next| !papers.contains(next) && *next != "all" && !next.contains('/'))
        {
            whole = false;
            let in_paper = |experiment: &Experiment| experiment.paper == word;
            let Some(index) = experiments
                .iter()
                .position(|experiment| in_paper(experiment) && experiment.name == name)
            else {
                let names: Vec<&str> = experiments
                    .iter()
                    .filter(|experiment| in_paper(experiment))
                    .map(|experiment| experiment.name.as_str())
                    .collect();
                let near = nearest(name, names.iter().copied()).map(str::to_owned);
                return Err(refuse(name, near.as_slice(), &names));
            };
            chosen[index] = true;
        }
        if whole {
            for (index, experiment) in experiments.iter().enumerate() {
                chosen[index] |= experiment.paper == word;
            }
        }
    }
    Ok((0..experiments.len()).filter(|&i| chosen[i]).collect())
}

/// Suggests replacements for an unknown first word: the nearest of `known`, or the experiments with the nearest name.
fn near(experiments: &[Experiment], word: &str, known: &[&str]) -> Vec<String> {
    let names = experiments
        .iter()
        .map(|experiment| experiment.name.as_str());
    let Some(name) = nearest(word, known.iter().copied().chain(names)) else {
        return Vec::new();
    };
    if known.contains(&name) {
        return vec![name.to_owned()];
    }
    experiments
        .iter()
        .filter(|experiment| experiment.name == name)
        .map(|experiment| format!("{} {}", experiment.paper, experiment.name))
        .collect()
}

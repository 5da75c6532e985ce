//! Runs of the model checker (`stateright`), and what they print.

use core::fmt::{Debug, Write};
use core::hash::Hash;
use stateright::{Checker, HasDiscoveries, Model, Property};

/// Number of threads of the checker.
const THREADS: usize = 2;

/// Name of the property that no state breaks a rule.
const RULES: &str = "rules";
/// Name of the property that some state is an end.
const END: &str = "all ends";

/// State that records the first rule that is broken.
pub trait Ruled: Clone + Debug + Hash + PartialEq + Send + Sync {
    /// Returns the rule that the state breaks.
    fn broken(&self) -> Option<&dyn Debug>;

    /// Returns true if everything has ended.
    fn is_end(&self) -> bool;

    /// Returns the last state of a path in words.
    fn describe(&self) -> String;
}

/// Model with such states.
pub trait Checked:
    Model<State: Ruled, Action: Copy + Debug + PartialEq> + Clone + Send + Sync + 'static
{
    /// Name of the network.
    fn name(&self) -> &str;

    /// Returns true if some state must be an end.
    fn must_end(&self) -> bool;

    /// Returns an action in a state in words.
    fn describe_action(state: &Self::State, action: Self::Action) -> String;
}

/// Returns the properties of every [`Checked`] model.
pub fn properties<M: Checked>() -> Vec<Property<M>> {
    vec![
        Property::always(RULES, |_, state: &M::State| state.broken().is_none()),
        Property::sometimes(END, |_, state: &M::State| state.is_end()),
    ]
}

/// Explores the models whose names contain the value of an environment variable.
pub fn explore_all<M: Checked>(models: &[M], variable: &str) {
    #[expect(
        clippy::disallowed_methods,
        reason = "selects networks while a developer works on one"
    )]
    let part = std::env::var(variable).unwrap_or_default();
    for model in models.iter().filter(|model| model.name().contains(&part)) {
        explore(model);
    }
}

/// Explores all states of a model, prints their number, and fails with the shortest path to a state that breaks a rule.
fn explore<M: Checked>(model: &M) {
    let name = model.name();
    #[expect(clippy::disallowed_types, reason = "the seconds are printed only")]
    let start = std::time::Instant::now();
    let builder = model.clone().checker().threads(THREADS);
    let checker = builder
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    println!(
        "{name:<58} {:>11} states {:>12} steps {:>4} deep {:>7.1} s",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        start.elapsed().as_secs_f64()
    );
    if let Some(path) = checker.discovery(RULES) {
        let (rule, text) = describe::<M>(path.into_vec());
        panic!("{name}: {rule} is broken\n{text}");
    }
    assert!(checker.is_done());
    if model.must_end() {
        assert!(checker.discovery(END).is_some(), "{name}");
    }
}

/// Returns the rule that the last state of a path breaks, and the path in words.
fn describe<M: Checked>(path: Vec<(M::State, Option<M::Action>)>) -> (String, String) {
    let (mut text, mut rule) = (String::new(), String::new());
    for (state, action) in path {
        rule = format!("{:?}", state.broken());
        let line = match action {
            Some(action) => M::describe_action(&state, action),
            None => state.describe(),
        };
        let _ = writeln!(text, "{line}");
    }
    (rule, text)
}

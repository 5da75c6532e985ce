//! Values that a key allows, as messages describe them.

use std::borrow::Cow;
use std::fmt;

/// Form in which a value can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Number without a unit.
    Number,
    /// Number with a unit.
    Quantity,
    /// Number of packets, where bytes are allowed as well.
    Packets,
    /// Number of bytes, where packets are allowed as well.
    Bytes,
    /// Number with `%`.
    Percentage,
    /// Percentile, such as `p95`.
    Percentile,
    /// Number of answers out of all, such as `10 of 14`.
    OutOf,
    /// Word of a list, such as `none` or the name of a distribution.
    Word,
    /// Uniform distribution as text.
    Uniform,
    /// Exponential distribution as text.
    Exponential,
    /// List.
    List,
    /// List of values that can also be written alone.
    Several,
    /// Table.
    Table,
    /// Table of a lognormal distribution.
    LogNormal,
    /// Table of a Pareto distribution.
    Pareto,
    /// Table with the file of a CDF.
    CdfFile,
    /// Table with the points of a CDF.
    CdfPoints,
    /// Table of a deadline with a base and a variation.
    BaseDeadline,
    /// Table of an exponential deadline.
    MeanDeadline,
}

/// Set of forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forms(u32);

impl Forms {
    /// Creates a set of these forms.
    pub const fn of(forms: &[Form]) -> Self {
        let mut set = 0;
        let mut rest = forms;
        while let [form, others @ ..] = rest {
            set |= 1 << *form as u32;
            rest = others;
        }
        Self(set)
    }

    /// Returns the forms of both sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if the set has all forms of `other`.
    pub const fn has_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if the set has no form.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Description of the values that a key allows, with the forms that it names. `Display` writes the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    text: Cow<'static, str>,
    forms: Forms,
}

impl Expected {
    /// Creates a description that names these forms.
    pub const fn new(text: &'static str, forms: &[Form]) -> Self {
        Self {
            text: Cow::Borrowed(text),
            forms: Forms::of(forms),
        }
    }

    /// Creates a description from a computed text.
    pub const fn of(text: String, forms: Forms) -> Self {
        Self {
            text: Cow::Owned(text),
            forms,
        }
    }

    /// Describes a choice of words.
    pub fn one_of(words: &[&str]) -> Self {
        Self::of(quoted(words), Forms::of(&[Form::Word]))
    }

    /// Describes a range of numbers. Bounds are inclusive.
    pub fn range(low: impl fmt::Display, high: impl fmt::Display) -> Self {
        Self::of(format!("{low}..={high}"), Forms::of(&[Form::Number]))
    }

    /// Joins descriptions with `separator`.
    pub fn join(all: &[Self], separator: &str) -> Self {
        let texts: Vec<&str> = all.iter().map(|one| &*one.text).collect();
        let forms = all
            .iter()
            .fold(Forms::default(), |forms, one| forms.with(one.forms));
        Self::of(texts.join(separator), forms)
    }

    /// Returns the forms that the description names.
    pub const fn forms(&self) -> Forms {
        self.forms
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Expected {
    fn from(text: String) -> Self {
        Self::of(text, Forms::default())
    }
}

impl From<&str> for Expected {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Joins names in quotes with commas.
pub(crate) fn quoted(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    quoted.join(", ")
}

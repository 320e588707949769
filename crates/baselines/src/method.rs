//! The methods of the paper's comparison.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use thiserror::Error;

/// A way to have a network and rules work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// The network by itself. It knows no rules.
    Vanilla,
    /// The network by itself, and records that break a rule are thrown away. It can express every hard
    /// rule, at the cost of everything that is thrown away.
    PostProcessing,
    /// A penalty for the probability of breaking rules: [`SemanticLoss`](crate::SemanticLoss).
    SemanticLoss,
    /// A layer of maxima and minima: [`Layer`](crate::Layer).
    Ccn,
    /// A hidden choice between terms of the rules: [`Mixture`](crate::Mixture).
    MultiPlexNet,
    /// A circuit in place of the head: [`Circuit`](crate::Circuit).
    Spl,
    /// The paper's own method as published: one pass of the rules, in the order they are listed,
    /// over each visit once it is drawn; while training, rules see the whole true visit. It can
    /// express every rule whose consequent is one code, but keeps them all only if the order of the
    /// list happens to be right. Soft rules are left out.
    Published,
    /// What this program does: rules are closed and proved, codes are decided in their order, and
    /// what rules force is known when its turn comes.
    Consequence,
}

/// No method has this name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no method is called `{0}`; there are {all}", all = Method::ALL.map(Method::name).join(", "))]
pub struct UnknownMethod(String);

impl Method {
    /// All methods, in the order of the paper's tables.
    pub const ALL: [Self; 8] = [
        Self::Vanilla,
        Self::PostProcessing,
        Self::SemanticLoss,
        Self::Ccn,
        Self::MultiPlexNet,
        Self::Spl,
        Self::Published,
        Self::Consequence,
    ];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vanilla => "vanilla",
            Self::PostProcessing => "post-processing",
            Self::SemanticLoss => "semantic-loss",
            Self::Ccn => "ccn",
            Self::MultiPlexNet => "multiplexnet",
            Self::Spl => "spl",
            Self::Published => "published",
            Self::Consequence => "consequence",
        }
    }

    /// Its name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Vanilla => "Vanilla",
            Self::PostProcessing => "Post-processing",
            Self::SemanticLoss => "Semantic loss",
            Self::Ccn => "CCN",
            Self::MultiPlexNet => "MultiPlexNet",
            Self::Spl => "SPL",
            Self::Published => "ConSequence as published",
            Self::Consequence => "Consequence",
        }
    }

    /// What it can and cannot express, in a sentence.
    pub fn reach(self) -> &'static str {
        match self {
            Self::Vanilla => "Knows no rules.",
            Self::PostProcessing => {
                "Every hard rule: records that break one are thrown away and drawn again."
            }
            Self::SemanticLoss => {
                "Every hard rule, temporal ones too, but only as a penalty while training: nothing \
                 is kept for certain."
            }
            Self::Ccn => {
                "Rules within one visit that demand a code; no temporal rules, and none that \
                 forbids a code."
            }
            Self::MultiPlexNet => {
                "Every hard rule within one visit, as long as its cases are few; no temporal rules."
            }
            Self::Spl => {
                "Every hard rule within one visit; no temporal rules, and no code may depend on \
                 the codes before it in the visit but through the rules."
            }
            Self::Published => {
                "Every hard rule that concludes one code, temporal ones too; kept only as far as the \
                 order of the list allows. (The paper also draws soft rules; here they are left out.)"
            }
            Self::Consequence => "Every rule of the language, hard ones proved to be kept.",
        }
    }

    /// Whether every generated record obeys every hard rule by construction.
    pub fn promises(self) -> bool {
        matches!(self, Self::PostProcessing | Self::Consequence)
    }

    /// The method that trains the same network.
    pub fn trains_as(self) -> Self {
        if self == Self::PostProcessing { Self::Vanilla } else { self }
    }
}

impl Display for Method {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

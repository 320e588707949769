//! What a person wants to know about a rule set before trusting it.

mod conflict;
mod form;
mod superfluous;

pub use conflict::{Conflict, Conflicts, conflicts};
pub use form::{Form, form};
pub use superfluous::{Superfluous, Why, superfluous};

/// How far an analysis looks.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisLimits {
    /// Pairs of rules examined for a conflict. Default 200; each may take a few solver calls.
    pub pairs: usize,
    /// Encounters before a conflict is given up on. Default 4.
    pub encounters: usize,
    /// Rules up to which each is compared with all others for being superfluous. Default 2,000;
    /// the work grows with the square. Above it only repeated and narrower rules are found.
    pub compared_rules: usize,
}

impl Default for AnalysisLimits {
    fn default() -> Self {
        Self { pairs: 200, encounters: 4, compared_rules: 2_000 }
    }
}

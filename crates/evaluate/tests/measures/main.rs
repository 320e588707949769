//! Measures against brute force, against each other, and against figures that others measured.

mod bad_input;
mod beside_codes;
mod brute_force;
mod enumerated;
mod giving_away;
mod obedience;
mod points;
mod predicting;
mod rare;
mod replayed;
mod simulated;
mod support;
mod timing;
mod uci;

//! How stays and lives end, as the names of codes tell.

/// The code that says that a patient died, wherever it was.
pub const DEATH: &str = "DEATH";

/// The code of a stay that ended in death.
pub const EXPIRED: &str = "DISCHARGE//EXPIRED";

/// What the names of codes begin with that tell how a stay ended.
const DISCHARGE_PREFIX: &str = "DISCHARGE//";

/// Words that say that a patient died.
const DEAD: [&str; 5] = ["DEATH", "DEAD", "DIED", "DECEASED", "EXPIRED"];

/// Whether a word of a code's name says that the patient died.
///
/// ```
/// use consequence_record::says_dead;
///
/// assert!(["DEATH", "MEDS_DEATH", "DISCHARGE//EXPIRED", "disposition//Died at home"].map(says_dead) == [true; 4]);
/// assert!(["ICD9CM//798", "RX//deadline", "DISCHARGE//HOME", "EXPIREDNESS"].map(says_dead) == [false; 4]);
/// ```
pub fn says_dead(name: &str) -> bool {
    let mut words = name.split(|letter: char| !letter.is_ascii_alphabetic());
    words.any(|word| DEAD.iter().any(|dead| word.eq_ignore_ascii_case(dead)))
}

/// Whether a code is said at the end of a visit: that the patient went home, or died.
///
/// ```
/// use consequence_record::stands_at_end;
///
/// assert!(stands_at_end("DISCHARGE//HOME") && stands_at_end("DEATH") && !stands_at_end("ICD9CM//250"));
/// ```
pub fn stands_at_end(name: &str) -> bool {
    name.starts_with(DISCHARGE_PREFIX) || says_dead(name)
}

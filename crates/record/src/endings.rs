//! How stays and lives end, as the names of codes tell.

/// The code that says that a patient died, wherever it was.
pub const DEATH: &str = "DEATH";

/// The code of a stay that ended in death.
pub const EXPIRED: &str = "DISCHARGE//EXPIRED";

/// The word that tells how a stay ended, in what the name of a code begins with.
const DISCHARGE: &str = "DISCHARGE";

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
    words(name).any(|word| DEAD.iter().any(|dead| word.eq_ignore_ascii_case(dead)))
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_ascii_alphabetic())
}

/// Whether a code tells how a stay ended: `DISCHARGE//HOME`, `HOSPITAL_DISCHARGE//DIED`.
fn tells_discharge(name: &str) -> bool {
    let family = name.split_once("//").map(|(family, _)| family);
    family.is_some_and(|family| words(family).any(|word| word.eq_ignore_ascii_case(DISCHARGE)))
}

/// Whether a code says that a stay ended in death.
///
/// ```
/// use consequence_record::ends_stay_in_death;
///
/// assert!(ends_stay_in_death("DISCHARGE//EXPIRED") && ends_stay_in_death("HOSPITAL_DISCHARGE//DIED"));
/// assert!(!ends_stay_in_death("DEATH") && !ends_stay_in_death("DISCHARGE//HOME"));
/// ```
pub fn ends_stay_in_death(name: &str) -> bool {
    tells_discharge(name) && says_dead(name)
}

/// Whether a code is said at the end of a visit: that the patient went home, or died.
///
/// ```
/// use consequence_record::stands_at_end;
///
/// assert!(stands_at_end("DISCHARGE//HOME") && stands_at_end("DEATH") && !stands_at_end("ICD9CM//250"));
/// ```
pub fn stands_at_end(name: &str) -> bool {
    tells_discharge(name) || says_dead(name)
}

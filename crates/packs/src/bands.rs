//! Age bands as static codes name them.

/// Ages in years, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub from: u16,
    pub to: u16,
}

/// The band that a name states: `20-40`, `[20-40)`, `80+`, `<18`, `>=65`. A band that ends where
/// the next begins is read with its end included, so that no age it may hold is overlooked.
pub(crate) fn band(name: &str) -> Option<Band> {
    let name = name.trim().trim_matches(['[', '(', ')', ']']);
    let age = |text: &str| text.trim().parse::<u16>().ok();
    if let Some(from) = name.strip_suffix('+').or_else(|| name.strip_prefix(">=")).and_then(age) {
        return Some(Band { from, to: u16::MAX });
    }
    if let Some(from) = name.strip_prefix('>').and_then(age) {
        return Some(Band { from, to: u16::MAX });
    }
    if let Some(to) = name.strip_prefix("<=").or_else(|| name.strip_prefix('<')).and_then(age) {
        return Some(Band { from: 0, to });
    }
    let (from, to) = name.split_once('-')?;
    let band = Band { from: age(from)?, to: age(to)? };
    (band.from <= band.to).then_some(band)
}

impl Band {
    /// Whether nobody of this band can be of these ages, now or up to so many years later.
    pub fn excludes(self, from: u16, to: u16, later: u16) -> bool {
        self.from > to || self.to.saturating_add(later) < from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_bands() {
        let shown = |name| band(name).map(|band| (band.from, band.to));
        assert_eq!(shown("20-40"), Some((20, 40)));
        assert_eq!(shown("[70-80)"), Some((70, 80)));
        assert_eq!(shown("80+"), Some((80, u16::MAX)));
        assert_eq!(shown(">=65"), Some((65, u16::MAX)));
        assert_eq!(shown("<18"), Some((0, 18)));
        for odd in ["", "old", "40-20", "-5", "99999-100000", "a-b"] {
            assert_eq!(shown(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_band_excludes_only_what_none_of_it_can_be() {
        let maternity = |name, later| band(name).unwrap().excludes(12, 55, later);
        assert!(maternity("60-80", 0) && maternity("60-80", 40), "nobody grows younger");
        assert!(!maternity("40-60", 0) && !maternity("55-60", 0));
        assert!(maternity("0-11", 0) && !maternity("0-11", 5));
        assert!(!maternity("0-12", 0));
    }
}

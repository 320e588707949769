//! What to do about an error, worded by whoever shows it.
//!
//! An error says what is wrong, and where. What to do about it often names a setting, and a setting
//! has a name of its own in each face: `--force` on the command line, `force=True` in Python. So
//! libraries give [`Advice`] with settings in braces, and a face puts its own words there:
//!
//! ```
//! use consequence_feedback::{Advice, Setting};
//!
//! let advice = Advice::new("choose another name, or give {force} to replace it");
//! let flag = |setting: Setting<'_>| match setting.value {
//!     Some(value) => format!("--{} {value}", setting.name.replace('_', "-")),
//!     None => format!("--{}", setting.name.replace('_', "-")),
//! };
//! assert_eq!(advice.worded(flag), "choose another name, or give --force to replace it");
//! assert_eq!(Advice::new("try {max_visits=9}").worded(flag), "try --max-visits 9");
//! ```

use std::borrow::Cow;

/// What to do about an error: a sentence with settings in braces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Advice(Cow<'static, str>);

/// A setting that advice speaks of: `{name}`, or `{name=value}`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Setting<'a> {
    /// Its name, in lower case, words joined by `_`.
    pub name: &'a str,
    /// The value that it should have, where the advice says so.
    pub value: Option<&'a str>,
}

impl Advice {
    /// Advice in these words.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// The sentence, each setting in the words of a face. Braces around anything but a setting stay
    /// as they are.
    pub fn worded(&self, setting: impl Fn(Setting<'_>) -> String) -> String {
        let (mut worded, mut rest) = (String::new(), &*self.0);
        while let Some((before, after)) = rest.split_once('{') {
            worded.push_str(before);
            let found = after
                .split_once('}')
                .and_then(|(inner, after)| Some((Setting::read(inner)?, after)));
            rest = match found {
                Some((found, after)) => {
                    worded.push_str(&setting(found));
                    after
                }
                None => {
                    worded.push('{');
                    after
                }
            };
        }
        worded + rest
    }
}

impl<'a> Setting<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let proper = |letter: char| letter == '_' || letter.is_ascii_lowercase();
        (!name.is_empty() && name.chars().all(proper)).then_some(Self { name, value })
    }
}

/// An error that knows what to do about it.
pub trait Advise: std::error::Error {
    /// What to do, if there is something.
    fn advice(&self) -> Option<Advice>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_around_anything_else_stay() {
        let shout = |setting: Setting<'_>| setting.name.to_uppercase();
        for (text, worded) in [
            ("", ""),
            ("{a}{b_c=1} {", "AB_C {"),
            ("{\"static\": []} {} {A} {x", "{\"static\": []} {} {A} {x"),
            ("{{a}}", "{A}"),
        ] {
            assert_eq!(Advice::new(text).worded(shout), worded);
        }
    }
}

//! Regular expressions that say no more than patterns of the rule language can: beginnings, ends,
//! parts and alternatives.

/// The most patterns that one expression may come to.
const MOST: usize = 1_000;

/// The deepest nesting of groups.
const DEEPEST: usize = 20;

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Start,
    End,
    Character(char),
    One,
    Run,
}

/// What a regular expression comes to: a name, or a pattern with `*` and `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    Name(String),
    Pattern(String),
}

/// The names and patterns that together match what the expression is found in; none where it says more
/// than they can.
pub(crate) fn patterns(expression: &str) -> Option<Vec<Matched>> {
    let mut parser = Parser { rest: expression };
    let found = parser.alternatives(0)?;
    if !parser.rest.is_empty() {
        return None;
    }
    let mut patterns: Vec<Matched> = Vec::new();
    for pieces in found {
        let pattern = pattern(&pieces)?;
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    Some(patterns)
}

fn pattern(pieces: &[Piece]) -> Option<Matched> {
    let (pieces, begins) = match pieces {
        [Piece::Start, rest @ ..] => (rest, true),
        pieces => (pieces, false),
    };
    let (pieces, ends) = match pieces {
        [rest @ .., Piece::End] => (rest, true),
        pieces => (pieces, false),
    };
    let run = |missing: bool| (!missing).then_some(Piece::Run);
    let (mut text, mut wild, mut literal_signs) = (String::new(), false, false);
    for piece in run(begins).into_iter().chain(pieces.iter().copied()).chain(run(ends)) {
        match piece {
            Piece::Start | Piece::End => return None,
            Piece::Character(character) => {
                literal_signs |= matches!(character, '*' | '?');
                text.push(character);
            }
            Piece::One => {
                wild = true;
                text.push('?');
            }
            Piece::Run => {
                wild = true;
                if !text.ends_with('*') {
                    text.push('*');
                }
            }
        }
    }
    match wild {
        true if literal_signs => None,
        true => Some(Matched::Pattern(text)),
        false if text.is_empty() => None,
        false => Some(Matched::Name(text)),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn take(&mut self, start: &str) -> bool {
        match self.rest.strip_prefix(start) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next()?;
        self.rest = characters.as_str();
        Some(next)
    }

    fn alternatives(&mut self, depth: usize) -> Option<Vec<Vec<Piece>>> {
        if depth > DEEPEST {
            return None;
        }
        let mut all = self.sequence(depth)?;
        while self.take("|") {
            all.extend(self.sequence(depth)?);
        }
        (all.len() <= MOST).then_some(all)
    }

    fn sequence(&mut self, depth: usize) -> Option<Vec<Vec<Piece>>> {
        let mut all = vec![Vec::new()];
        while let Some(next) = self.rest.chars().next().filter(|next| !matches!(next, '|' | ')')) {
            self.next();
            let (mut choices, repeats) = match next {
                '^' => (vec![vec![Piece::Start]], None),
                '$' => (vec![vec![Piece::End]], None),
                '.' => (vec![vec![Piece::One]], Some(Piece::Run)),
                '(' => {
                    if !self.take("?:") && self.rest.starts_with('?') {
                        return None;
                    }
                    let inner = self.alternatives(depth + 1)?;
                    if !self.take(")") {
                        return None;
                    }
                    (inner, None)
                }
                '[' => (self.class()?, None),
                '\\' => match self.next()? {
                    sign if sign.is_ascii_punctuation() => {
                        (vec![vec![Piece::Character(sign)]], None)
                    }
                    _ => return None,
                },
                '*' | '+' | '?' | '{' | '}' | ']' => return None,
                plain => (vec![vec![Piece::Character(plain)]], None),
            };
            match (self.rest.chars().next(), repeats) {
                (Some('*'), Some(run)) => choices = vec![vec![run]],
                (Some('+'), Some(run)) => choices = vec![vec![Piece::One, run]],
                (Some('?'), _) if !matches!(next, '^' | '$') => choices.push(Vec::new()),
                (Some('*' | '+' | '?' | '{'), _) => return None,
                _ => {
                    all = joined(&all, &choices)?;
                    continue;
                }
            }
            self.next();
            // How soon a repetition ends makes no difference to what matches.
            self.take("?");
            all = joined(&all, &choices)?;
        }
        Some(all)
    }

    /// A class of some characters, each an alternative.
    fn class(&mut self) -> Option<Vec<Vec<Piece>>> {
        let mut members: Vec<char> = Vec::new();
        if self.rest.starts_with(['^', ']', '[']) {
            return None;
        }
        loop {
            let from = match self.next()? {
                ']' => break,
                '\\' => self.next().filter(char::is_ascii_punctuation)?,
                '[' | '&' | '~' => return None,
                plain => plain,
            };
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.next();
                let to = self.next().filter(char::is_ascii_alphanumeric)?;
                if !from.is_ascii_alphanumeric() || to < from {
                    return None;
                }
                members.extend(from..=to);
            } else {
                members.push(from);
            }
        }
        Some(members.into_iter().map(|member| vec![Piece::Character(member)]).collect())
    }
}

/// Every beginning with every choice for what follows.
fn joined(beginnings: &[Vec<Piece>], choices: &[Vec<Piece>]) -> Option<Vec<Vec<Piece>>> {
    if beginnings.len() * choices.len() > MOST {
        return None;
    }
    let with = |start: &Vec<Piece>| {
        let start = start.clone();
        choices.iter().map(move |choice| [start.as_slice(), choice.as_slice()].concat())
    };
    Some(beginnings.iter().flat_map(with).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(expression: &str) -> String {
        let Some(found) = patterns(expression) else { return "-".into() };
        let each = found.into_iter().map(|matched| match matched {
            Matched::Name(name) => format!("={name}"),
            Matched::Pattern(pattern) => pattern,
        });
        each.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn beginnings_ends_parts_and_alternatives() {
        for (expression, expected) in [
            ("^LAB//50971.*", "LAB//50971*"),
            ("^LAB//50971", "LAB//50971*"),
            ("ADMISSION", "*ADMISSION*"),
            ("//mg/dL$", "*//mg/dL"),
            ("^DEATH$", "=DEATH"),
            ("^(A|B)//.+$", "A//?* B//?*"),
            ("^A|B$", "A* *B"),
            ("(^A$)|(^B//x$)", "=A =B//x"),
            ("^(?:E|V)0[12]\\.5$", "=E01.5 =E02.5 =V01.5 =V02.5"),
            ("^A(//.*)?$", "A//* =A"),
            ("^X.Y$", "X?Y"),
            ("^A.*?B", "A*B*"),
            ("^[a-c]$", "=a =b =c"),
            ("^a\\*$", "=a*"),
            (".*", "*"),
        ] {
            assert_eq!(told(expression), expected, "{expression}");
        }
    }

    #[test]
    fn what_says_more_is_none() {
        for expression in [
            "(?i)death",
            "a+",
            "\\d",
            "[^a]",
            "a{2}",
            "a\\*.*",
            "(a",
            "a)",
            "a$b",
            "a^",
            "*a",
            "^$",
            "[0-9][0-9][0-9][0-9]",
            "[z-a]",
            "a**",
            "(a",
            "[a",
            "\\",
            "(?<n>a)",
            "^?",
        ] {
            assert_eq!(patterns(expression), None, "{expression}");
        }
        assert_eq!(patterns(&"(".repeat(100_000)), None);
        assert_eq!(patterns(&"(a|b)".repeat(40)), None);
    }
}

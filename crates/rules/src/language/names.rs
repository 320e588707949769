//! How names are written: bare, quoted, or kept for the language itself.

/// Words that mean something wherever a name could stand; a code of that name needs quotes.
pub(super) const KEYWORDS: [&str; 15] = [
    "rule", "let", "static", "and", "or", "not", "in", "any", "all", "none", "at", "exactly",
    "with", "true", "false",
];

/// Whether a bare word belongs to the language.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

/// Whether a character can stand in a bare name.
pub(super) fn is_bare(character: char) -> bool {
    !character.is_whitespace()
        && !matches!(character, '(' | ')' | ',' | '{' | '}' | '#' | '"' | '=' | '<' | '>')
}

/// Whether a word with these characters is a glob when written bare.
pub(super) fn is_glob(word: &str) -> bool {
    word.contains(['*', '?'])
}

/// Whether a name reads back as itself when written bare.
pub(super) fn can_be_bare(name: &str) -> bool {
    !name.is_empty() && !name.ends_with(':') && !is_keyword(name) && name.chars().all(is_bare)
}

/// Writes a name in quotes.
pub(super) fn quote(out: &mut String, name: &str) {
    out.push('"');
    for character in name.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            character => out.push(character),
        }
    }
    out.push('"');
}

/// Writes a name bare if it can be, else in quotes.
pub(super) fn write_name(out: &mut String, name: &str) {
    if can_be_bare(name) { out.push_str(name) } else { quote(out, name) }
}

/// Reads what stands between quotes; `None` for an escape the language does not have.
pub(super) fn unquote(inner: &str) -> Option<String> {
    let mut name = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        name.push(match character {
            '\\' => match characters.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                escaped @ ('"' | '\\') => escaped,
                _ => return None,
            },
            character => character,
        });
    }
    Some(name)
}

/// A name as messages show it: in backticks, on one line, not too long.
pub(super) fn show(name: &str) -> String {
    const SHOWN: usize = 60;
    let mut shown = String::from("`");
    for character in name.chars().take(SHOWN) {
        shown.push(if character.is_control() { '\u{fffd}' } else { character });
    }
    if name.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown.push('`');
    shown
}

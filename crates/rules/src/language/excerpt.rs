//! One line of a file around a span, cut to what fits a terminal.

/// Columns shown before the marked text, of the marked text, and of the line in all.
const BEFORE: usize = 50;
const MARKED: usize = 60;
const LINE: usize = 110;
const CUT: &str = "...";
const TAB: &str = "    ";

/// A line of source around a span: what to print, and where the carets go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The line, tabs spread to four spaces, control characters replaced, long ends cut.
    pub text: String,
    /// Columns before the first caret.
    pub indent: usize,
    /// How many carets.
    pub carets: usize,
}

impl Excerpt {
    /// Cuts the line `before + marked + after` around `marked`.
    pub(super) fn new(before: &str, marked: &str, after: &str) -> Self {
        let mut head = Vec::new();
        let mut columns = 0;
        let mut cut = false;
        for character in before.chars().rev() {
            columns += width(character);
            if columns > BEFORE || head.len() >= BEFORE {
                cut = true;
                break;
            }
            head.push(character);
        }
        let mut text = String::from(if cut { CUT } else { "" });
        let mut indent = text.len();
        for &character in head.iter().rev() {
            indent += push(&mut text, character);
        }
        let mut carets = 0;
        let whole = extend(&mut text, &mut carets, marked, MARKED);
        let mut tail = 0;
        let room = LINE.saturating_sub(indent + carets);
        if whole && extend(&mut text, &mut tail, after, room) {
            text.truncate(text.trim_end().len());
        } else {
            text.push_str(CUT);
        }
        Self { text, indent, carets: carets.max(1) }
    }
}

/// Appends as much of `part` as fits into `room` columns and as many characters; whether that was
/// all of it.
fn extend(text: &mut String, columns: &mut usize, part: &str, room: usize) -> bool {
    for (count, character) in part.chars().enumerate() {
        if *columns + width(character) > room || count >= room {
            return false;
        }
        *columns += push(text, character);
    }
    true
}

fn push(text: &mut String, character: char) -> usize {
    match character {
        '\t' => text.push_str(TAB),
        character if character.is_control() => text.push('\u{fffd}'),
        character => text.push(character),
    }
    width(character)
}

/// The columns a character takes: marks that combine take none, East Asian and pictorial ones two.
fn width(character: char) -> usize {
    match character as u32 {
        0x09 => TAB.len(),
        0x300..=0x36f | 0x200b..=0x200d => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_and_wide_characters_keep_carets_in_place() {
        let excerpt = Excerpt::new("\trule 糖: ", "A", " or B  ");
        assert_eq!(excerpt.text, "    rule 糖: A or B");
        assert_eq!((excerpt.indent, excerpt.carets), (4 + 5 + 2 + 2, 1));
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let long = "x".repeat(1_000_000);
        let excerpt = Excerpt::new(&long, &long, &long);
        assert!(excerpt.text.chars().count() < 120);
        assert!(excerpt.text.starts_with("...x") && excerpt.text.ends_with("x..."));
        assert_eq!((excerpt.indent, excerpt.carets), (53, 60));
        let short = Excerpt::new(&long, "y", "z");
        assert!(short.text.ends_with("xyz"));
    }

    #[test]
    fn an_empty_mark_still_has_a_caret() {
        let excerpt = Excerpt::new("rule a:", "", "");
        assert_eq!((excerpt.text.as_str(), excerpt.indent, excerpt.carets), ("rule a:", 7, 1));
    }
}

//! Markup in which data can only ever be text.
//!
//! The parts of a page that are ours are literals of this program; whatever comes from data goes
//! through [`Markup::text`] or [`Markup::attribute`], which escape it. There is no way to add a
//! string made at run time as markup.

use serde::Serialize;

/// A piece of a page.
#[derive(Default)]
pub(crate) struct Markup(String);

impl Markup {
    /// Markup written in this program.
    pub(crate) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text from anywhere.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(letter),
                _ if is_treacherous(letter) => self.0.push('\u{fffd}'),
                _ => self.0.push(letter),
            }
        }
        self
    }

    /// An attribute, with the space before it.
    pub(crate) fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.0.push(' ');
        self.raw(name).raw("=\"").text(value).raw("\"")
    }

    /// An attribute that is a coordinate or a length in a drawing.
    pub(crate) fn length(&mut self, name: &'static str, value: f64) -> &mut Self {
        self.0.push(' ');
        self.raw(name).raw("=\"").coordinate(value).raw("\"")
    }

    /// A coordinate in a drawing, to a tenth of a unit; what is not finite becomes 0.
    pub(crate) fn coordinate(&mut self, value: f64) -> &mut Self {
        let value = if value.is_finite() { value } else { 0.0 };
        let text = format!("{value:.1}");
        let text = text.strip_suffix(".0").unwrap_or(&text);
        self.0.push_str(if text == "-0" { "0" } else { text });
        self
    }

    /// Data for the page's script to show, in an element that browsers do not run.
    pub(crate) fn data(&mut self, id: &str, data: &impl Serialize) -> &mut Self {
        self.json(id, data, |text, _| text.push('\u{fffd}'))
    }

    /// Data that the script must have letter by letter; it takes care of what it shows.
    pub(crate) fn exact_data(&mut self, id: &str, data: &impl Serialize) -> &mut Self {
        self.json(id, data, |text, letter| {
            // Treacherous letters are all of the sixteen bits that an escape has room for.
            text.push_str(&format!("\\u{:04x}", u32::from(letter)));
        })
    }

    fn json(
        &mut self,
        id: &str,
        data: &impl Serialize,
        treacherous: impl Fn(&mut String, char),
    ) -> &mut Self {
        self.raw("<script type=\"application/json\"").attribute("id", id).raw(">");
        // Structs of strings and numbers always serialize.
        let json = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
        for letter in json.chars() {
            match letter {
                // No tag and no comment can then begin or end inside the element.
                '<' => self.0.push_str("\\u003c"),
                '>' => self.0.push_str("\\u003e"),
                '&' => self.0.push_str("\\u0026"),
                _ if is_treacherous(letter) => treacherous(&mut self.0, letter),
                _ => self.0.push(letter),
            }
        }
        self.raw("</script>\n")
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// Letters that browsers drop, or that turn the text after them around so that it reads as another.
fn is_treacherous(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        let mut markup = Markup::default();
        markup.text(text);
        markup.finish()
    }

    #[test]
    fn text_cannot_begin_a_tag_or_end_an_attribute() {
        assert_eq!(text("<b a='1' c=\"2\">&"), "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
        assert_eq!(text("größe//糖\u{0}\u{202e}"), "größe//糖\u{fffd}\u{fffd}");
    }

    #[test]
    fn data_cannot_end_its_element_and_reads_back() {
        let hostile =
            ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "\u{2028}&amp;"];
        let read_back = |markup: Markup| {
            let page = markup.finish();
            let inside = page
                .strip_prefix("<script type=\"application/json\" id=\"x\">")
                .and_then(|rest| rest.strip_suffix("</script>\n"))
                .unwrap();
            assert!(!inside.contains(['<', '>', '&', '\u{202e}', '\u{85}']));
            serde_json::from_str::<Vec<String>>(inside).unwrap()
        };
        let [mut shown, mut exact] = [Markup::default(), Markup::default()];
        shown.data("x", &hostile);
        assert_eq!(read_back(shown), hostile);
        let turned = ["\u{202e}\u{85}\u{0}\n</script>"];
        exact.exact_data("x", &turned);
        assert_eq!(read_back(exact), turned);
    }

    #[test]
    fn places_are_short_and_finite() {
        let written = |value| {
            let mut markup = Markup::default();
            markup.coordinate(value);
            markup.finish()
        };
        assert_eq!(written(12.0), "12");
        assert_eq!(written(12.345), "12.3");
        assert_eq!(written(-0.01), "0");
        assert_eq!(written(f64::NAN), "0");
        assert_eq!(written(f64::NEG_INFINITY), "0");
    }
}

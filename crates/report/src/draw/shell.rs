//! What every page has around it: what it lets a browser do, its style and script, the button for
//! light and dark, the title and the facts.

use sha2::{Digest, Sha256};

use super::markup::Markup;

/// What a kind of pages looks like and does.
pub(crate) struct Shell {
    /// Its style sheets, one after the other.
    pub style: &'static str,
    /// Its scripts, one after the other.
    pub script: &'static str,
    /// What a reader with a keyboard can skip to.
    pub skip: &'static str,
}

impl Shell {
    /// A whole page.
    pub(crate) fn page(&self, title: &str, body: impl FnOnce(&mut Markup)) -> String {
        let Self { style, script, skip } = *self;
        let mut markup = Markup::default();
        markup.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        // Nothing may be fetched, and nothing runs but the script below, whatever a name in the
        // data says.
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; \
             form-action 'none'",
            digest(style),
            digest(script),
        );
        markup.raw("<meta http-equiv=\"Content-Security-Policy\"").attribute("content", &policy);
        markup.raw(">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        markup.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
        markup.text(title).raw("</title>\n<style>").raw(style);
        markup.raw("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">").raw(skip);
        markup.raw("</a>\n<button type=\"button\" id=\"theme\" hidden>Dark</button>\n");
        body(&mut markup);
        markup.raw("<script>").raw(script).raw("</script>\n</body>\n</html>\n");
        markup.finish()
    }
}

/// The title, a sentence, and the facts.
pub(crate) fn head<'a>(
    markup: &mut Markup,
    title: &str,
    about: &str,
    facts: impl Iterator<Item = (&'a str, &'a String)>,
) {
    markup.raw("<header>\n<h1>").text(title).raw("</h1>\n");
    if !about.is_empty() {
        markup.raw("<p class=\"compared\">").text(about).raw("</p>\n");
    }
    markup.raw("<dl class=\"facts\">");
    for (name, value) in facts {
        markup.raw("<div><dt>").text(name).raw("</dt><dd>").text(value).raw("</dd></div>");
    }
    markup.raw("</dl>\n</header>\n");
}

/// The SHA-256 digest of a text as a content security policy writes it.
pub(crate) fn digest(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, index| {
            bits << 8 | u32::from(group.get(index).copied().unwrap_or(0))
        });
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index) & 63) as usize];
            text.push(if index <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{page, review};

    #[test]
    fn base64_as_in_its_standard() {
        let samples = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let coded = samples.map(|sample| base64(sample.as_bytes()));
        assert_eq!(coded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }

    #[test]
    fn scripts_and_styles_cannot_end_their_elements() {
        for Shell { style, script, .. } in [page::SHELL, review::SHELL] {
            assert!(!script.contains("</") && !script.contains("<!--"));
            assert!(!style.contains("</") && !style.contains("<!--"));
        }
    }
}

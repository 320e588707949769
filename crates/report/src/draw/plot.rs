//! What all plots share: the frame around panels, and the pieces of an SVG.

use super::axis::Axis;
use super::markup::Markup;

/// About how wide a letter of an axis is drawn, in units of the drawing.
const LETTER: f64 = 6.2;

/// Opens a figure with its title, its note and room for panels. Close it with [`close_figure`].
pub(crate) fn open_figure(markup: &mut Markup, title: &str, note: &str, class: &'static str) {
    markup.raw("<figure class=\"plot ").raw(class).raw("\">\n<figcaption>");
    if !title.is_empty() {
        markup.raw("<h3>").text(title).raw("</h3>");
    }
    if !note.is_empty() {
        markup.raw("<p class=\"note\">").text(note).raw("</p>");
    }
    markup.raw("</figcaption>\n");
}

pub(crate) fn close_figure(markup: &mut Markup) {
    markup.raw("</figure>\n");
}

/// Opens the room for so many panels, and says so where there are none.
pub(crate) fn open_panels(markup: &mut Markup, panels: usize) {
    markup.raw("<div class=\"panels\">\n");
    if panels == 0 {
        markup.raw("<p class=\"missing\">nothing to show</p>\n");
    }
}

/// Opens one panel: its title, a figure beside it, and the drawing. Close it with [`close_panel`].
pub(crate) fn open_panel(
    markup: &mut Markup,
    title: &str,
    figure: &str,
    label: &str,
    size: (f64, f64),
) {
    markup.raw("<div class=\"panel\">");
    if !title.is_empty() || !figure.is_empty() {
        markup.raw("<p class=\"panel-title\"><b>").text(title).raw("</b>");
        if !figure.is_empty() {
            markup.raw(" <span>").text(figure).raw("</span>");
        }
        markup.raw("</p>");
    }
    markup.raw("<svg viewBox=\"0 0 ").coordinate(size.0).raw(" ").coordinate(size.1);
    markup.raw("\" role=\"img\" tabindex=\"0\"").attribute("aria-label", label);
}

pub(crate) fn close_panel(markup: &mut Markup) {
    markup.raw("</svg></div>\n");
}

/// A straight line.
pub(crate) fn line(markup: &mut Markup, class: &'static str, from: (f64, f64), to: (f64, f64)) {
    markup.raw("<path class=\"").raw(class).raw("\" d=\"M").coordinate(from.0).raw(" ");
    markup.coordinate(from.1).raw("L").coordinate(to.0).raw(" ").coordinate(to.1).raw("\"/>");
}

/// Words at a position; the class says how they are aligned.
pub(crate) fn words(markup: &mut Markup, class: &'static str, at: (f64, f64), text: &str) {
    markup.raw("<text class=\"").raw(class).raw("\"").length("x", at.0).length("y", at.1);
    markup.raw(">").text(text).raw("</text>");
}

/// The area that an SVG draws in, between its axes.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn x(&self, axis: &Axis, figure: f64) -> Option<f64> {
        axis.fraction(figure).map(|part| self.left + part * (self.right - self.left))
    }

    pub(crate) fn y(&self, axis: &Axis, figure: f64) -> Option<f64> {
        axis.fraction(figure).map(|part| self.bottom - part * (self.bottom - self.top))
    }

    /// Writes names so far below the area, every so many of them so that no two touch.
    pub(crate) fn ticks_below(
        &self,
        markup: &mut Markup,
        axis: &Axis,
        below: f64,
        name: fn(f64) -> String,
    ) {
        let ticks: Vec<(f64, String)> = (axis.ticks(6).into_iter())
            .filter_map(|tick| Some((self.x(axis, tick)?, name(tick))))
            .collect();
        let half = |text: &str| text.chars().count() as f64 * LETTER / 2.0;
        // Where there is room for zero beside the axis, its name comes first.
        let free_from = if below > 0.0 { self.left } else { f64::NEG_INFINITY };
        let fit = |stride: usize| {
            let named = ticks.iter().rev().step_by(stride);
            let starts = named.clone().map(|(x, text)| x - half(text));
            let ends = named.skip(1).map(|(x, text)| x + half(text) + LETTER);
            starts.zip(ends.chain([free_from])).all(|(start, end)| start >= end)
        };
        let stride = (1..ticks.len()).find(|stride| fit(*stride)).unwrap_or(ticks.len().max(1));
        for (x, _) in &ticks {
            line(markup, "grid", (*x, self.top), (*x, self.bottom));
        }
        for (x, text) in ticks.iter().rev().step_by(stride) {
            words(markup, "tick middle", (*x, self.bottom + below + 15.0), text);
        }
    }

    /// Writes about so many names, so far left of the area.
    pub(crate) fn ticks_beside(
        &self,
        markup: &mut Markup,
        axis: &Axis,
        (about, beside): (usize, f64),
        name: fn(f64) -> String,
    ) {
        let mut free_below = f64::INFINITY;
        for tick in axis.ticks(about) {
            let Some(y) = self.y(axis, tick) else { continue };
            line(markup, "grid", (self.left, y), (self.right, y));
            if y + 6.0 <= free_below {
                words(markup, "tick end", (self.left - beside - 6.0, y + 4.0), &name(tick));
                free_below = y - 8.0;
            }
        }
    }
}

/// The room that names left of an area need.
pub(crate) fn room_beside(axis: &Axis, about: usize, name: fn(f64) -> String) -> f64 {
    let letters = axis.ticks(about).into_iter().map(|tick| name(tick).chars().count());
    12.0 + letters.max().unwrap_or(0).min(14) as f64 * LETTER
}

/// The start of a text, where the whole would not fit.
pub(crate) fn shortened(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(letters.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_between_letters() {
        assert_eq!(shortened("größe//糖", 20), "größe//糖");
        assert_eq!(shortened("größe//糖", 4), "grö…");
        assert_eq!(shortened("", 0), "");
    }
}

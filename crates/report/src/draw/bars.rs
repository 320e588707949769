//! Bars: a line of words above each bar, so that long names and small screens agree.

use super::axis::Axis;
use super::markup::Markup;
use super::number::{fixed, significant};
use super::plot::{
    Area, close_figure, close_panel, line, open_figure, open_panel, open_panels, shortened, words,
};
use crate::tree::{Bar, BarPanel, Bars, Measure, ScaleKind};

const WIDTH: f64 = 360.0;
/// Height of a bar with its words.
const ROW: f64 = 36.0;
/// Where the bar lies in its row, and how thick it is.
const BAR: (f64, f64) = (19.0, 9.0);

pub(crate) fn bars(markup: &mut Markup, plot: &Bars) {
    open_figure(markup, &plot.title, &plot.note, "bars");
    open_panels(markup, plot.panels.len());
    for panel in &plot.panels {
        draw_panel(markup, panel);
    }
    markup.raw("</div>\n");
    let mut references: Vec<&str> =
        plot.panels.iter().map(|panel| panel.reference.as_str()).collect();
    references.retain(|reference| !reference.is_empty());
    references.dedup();
    if !references.is_empty() {
        markup.raw("<p class=\"legend\">");
        for reference in references {
            markup.raw("<span><i class=\"key key-reference\"></i>").text(reference).raw("</span>");
        }
        markup.raw("</p>\n");
    }
    close_figure(markup);
}

fn draw_panel(markup: &mut Markup, panel: &BarPanel) {
    let figures = panel.bars.iter().flat_map(|bar| {
        let mean = bar.value.map(|measure| measure.mean);
        let end = bar.value.map(|measure| measure.mean + half_width(&measure));
        // A bar on a log axis starts below the smallest figure, so that the shortest can be seen.
        [mean.map(|mean| mean / 2.0), mean, end, bar.reference].into_iter().flatten()
    });
    let axis = Axis::over(panel.scale, true, figures);
    let height = ROW * panel.bars.len() as f64;
    let area = Area { left: 1.0, top: 2.0, right: WIDTH - 1.0, bottom: height + 6.0 };
    let words_of: Vec<String> = panel
        .bars
        .iter()
        .map(|bar| format!("{}: {}", bar.label, value(bar, panel.digits)))
        .collect();
    let label = format!("{}. {}", panel.title, words_of.join("; "));
    open_panel(markup, &panel.title, "", &label, (WIDTH, height + 28.0));
    markup.raw(" class=\"bars\">");
    area.ticks_at_ends(markup, &axis);
    for (number, bar) in panel.bars.iter().enumerate() {
        draw_bar(markup, panel, bar, &axis, &area, number as f64 * ROW);
    }
    close_panel(markup);
}

fn draw_bar(markup: &mut Markup, panel: &BarPanel, bar: &Bar, axis: &Axis, area: &Area, top: f64) {
    let mut tip = format!("{}\n{}: {}", bar.label, panel.title, value(bar, panel.digits));
    if let Some(reference) = bar.reference {
        tip.push_str(&format!("\n{}: {}", panel.reference, fixed(reference, panel.digits)));
    }
    markup.raw(if bar.ours { "<g class=\"mark ours\"" } else { "<g class=\"mark\"" });
    markup.attribute("data-tip", &tip).raw("><rect class=\"hit\" x=\"0\"").length("y", top);
    markup.length("width", WIDTH).length("height", ROW).raw("/>");
    words(markup, "label", (area.left, top + 14.0), &shortened(&bar.label, 34));
    words(markup, "label end", (area.right, top + 14.0), &value(bar, panel.digits));
    let middle = top + BAR.0 + BAR.1 / 2.0;
    // Bars begin at zero, or at the low end of a log axis.
    let start = area.x(axis, 0.0).unwrap_or(area.left);
    if let Some(measure) = bar.value
        && let Some(end) = area.x(axis, measure.mean)
    {
        markup.raw("<rect class=\"bar\"").length("x", start.min(end)).length("y", top + BAR.0);
        markup.length("width", (end - start).abs()).length("height", BAR.1).raw("/>");
        let half = half_width(&measure);
        let least = if axis.kind == ScaleKind::Linear { f64::NEG_INFINITY } else { axis.low };
        if half > 0.0
            && let Some(from) = area.x(axis, (measure.mean - half).max(least))
            && let Some(to) = area.x(axis, measure.mean + half)
        {
            line(markup, "whisker", (from, middle), (to, middle));
            line(markup, "whisker", (from, middle - 3.0), (from, middle + 3.0));
            line(markup, "whisker", (to, middle - 3.0), (to, middle + 3.0));
        }
    }
    line(markup, "base", (start, middle - 8.0), (start, middle + 8.0));
    if let Some(x) = bar.reference.and_then(|reference| area.x(axis, reference)) {
        markup.raw("<path class=\"reference\" d=\"M").coordinate(x).raw(" ");
        markup.coordinate(middle - 6.0).raw("l5 6l-5 6l-5 -6z\"/>");
    }
    markup.raw("</g>");
}

/// What a bar says in words.
fn value(bar: &Bar, digits: u8) -> String {
    match bar.value {
        Some(measure) if measure.mean.is_finite() => match measure.half_width {
            Some(half) if half.is_finite() => {
                format!("{} ± {}", fixed(measure.mean, digits), fixed(half, digits))
            }
            _ => fixed(measure.mean, digits),
        },
        _ => "not measured".to_owned(),
    }
}

fn half_width(measure: &Measure) -> f64 {
    measure.half_width.filter(|half| half.is_finite() && *half > 0.0).unwrap_or(0.0)
}

impl Area {
    /// Writes names below bars: the first and the last stay inside the drawing.
    fn ticks_at_ends(&self, markup: &mut Markup, axis: &Axis) {
        for tick in axis.ticks(4) {
            let Some(x) = self.x(axis, tick) else { continue };
            line(markup, "grid", (x, self.top), (x, self.bottom));
            let class = match (x - self.left < 16.0, self.right - x < 16.0) {
                (true, _) => "tick",
                (_, true) => "tick end",
                _ => "tick middle",
            };
            words(markup, class, (x, self.bottom + 15.0), &significant(tick));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(scale: ScaleKind, means: &[f64]) -> String {
        let bar = |mean: &f64| Bar {
            label: "<b>".to_owned(),
            value: Some(Measure { mean: *mean, half_width: Some(f64::NAN) }),
            reference: Some(*mean),
            ours: false,
        };
        let panel =
            BarPanel { bars: means.iter().map(bar).collect(), scale, ..BarPanel::default() };
        let mut markup = Markup::default();
        bars(&mut markup, &Bars { panels: vec![panel], ..Bars::default() });
        markup.finish()
    }

    #[test]
    fn a_bar_is_as_long_as_its_figure() {
        let page = drawn(ScaleKind::Linear, &[50.0, 100.0]);
        let widths: Vec<f64> = page
            .split("<rect class=\"bar\"")
            .skip(1)
            .map(|bar| bar.split("width=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|width| width.parse().unwrap())
            .collect();
        assert_eq!(widths, [179.0, 358.0]);
        assert!(!page.contains("<b>"));
    }

    #[test]
    fn nothing_and_nonsense_draw_no_bars() {
        for kind in [ScaleKind::Linear, ScaleKind::SquareRoot, ScaleKind::Log] {
            for means in [&[][..], &[f64::NAN], &[f64::INFINITY, f64::NEG_INFINITY]] {
                let page = drawn(kind, means);
                assert!(!page.contains("class=\"bar\"") && !page.contains("NaN"));
                assert!(!page.contains("inf"), "{page}");
            }
            assert!(!drawn(kind, &[0.0, 5.0]).contains("NaN"));
        }
    }
}

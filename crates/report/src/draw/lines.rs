//! Curves. A name keeps its colour and its dashes in all panels.

use super::axis::Axis;
use super::markup::Markup;
use super::number::significant;
use super::plot::{
    Area, close_figure, close_panel, line, open_figure, open_panel, open_panels, room_beside, words,
};
use crate::tree::{LinePanel, LineSeries, Lines, ScaleKind};

/// How curves are told apart; after the last the first comes again.
const LOOKS: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
/// A curve has marks that can be pointed at, up to about this many.
const MARKS: usize = 120;

pub(crate) fn lines(markup: &mut Markup, plot: &Lines) {
    let mut names: Vec<&str> = Vec::new();
    for series in plot.panels.iter().flat_map(|panel| &panel.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let one = plot.panels.len() == 1;
    open_figure(markup, &plot.title, &plot.note, if one { "lines single" } else { "lines" });
    if names.len() > 1 || (!one && !names.is_empty()) {
        markup.raw("<p class=\"legend\">");
        for (number, name) in names.iter().enumerate() {
            markup.raw("<span><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\">");
            line(markup, LOOKS[number % LOOKS.len()], (1.0, 5.0), (27.0, 5.0));
            markup.raw("</svg>").text(name).raw("</span>");
        }
        markup.raw("</p>\n");
    }
    let points =
        || plot.panels.iter().flat_map(|panel| &panel.series).flat_map(|each| &each.points);
    let axes = (
        Axis::over(plot.x_scale, false, points().map(|point| point.0)).tight(points().map(|p| p.0)),
        Axis::over(plot.y_scale, false, points().map(|point| point.1)),
    );
    open_panels(markup, plot.panels.len());
    for panel in &plot.panels {
        let size = if one { (460.0, 260.0) } else { (300.0, 210.0) };
        draw_panel(markup, plot, panel, &names, axes, size);
    }
    markup.raw("</div>\n");
    close_figure(markup);
}

fn draw_panel(
    markup: &mut Markup,
    plot: &Lines,
    panel: &LinePanel,
    names: &[&str],
    (x_axis, y_axis): (Axis, Axis),
    size: (f64, f64),
) {
    let area = Area {
        left: room_beside(&y_axis, 4, significant),
        top: 24.0,
        right: size.0 - 12.0,
        bottom: size.1 - 38.0,
    };
    let last = |series: &LineSeries| match series.points.last() {
        Some(point) => format!("{} ends at {}", series.name, significant(point.1)),
        None => format!("{} has no points", series.name),
    };
    let label = format!(
        "{} {} by {}: {}. Arrow keys go from point to point.",
        panel.title,
        plot.y_axis,
        plot.x_axis,
        panel.series.iter().map(last).collect::<Vec<_>>().join(", "),
    );
    open_panel(markup, &panel.title, "", &label, size);
    markup.raw(" class=\"lines\">");
    area.ticks_below(markup, &x_axis, 0.0, significant);
    area.ticks_beside(markup, &y_axis, (4, 0.0), significant);
    words(markup, "axis", (0.0, 11.0), &plot.y_axis);
    words(markup, "axis end", (area.right, size.1 - 5.0), &plot.x_axis);
    for series in &panel.series {
        let number = names.iter().position(|name| *name == series.name).unwrap_or(0);
        let points: Vec<(f64, f64, &(f64, f64))> = (series.points.iter())
            .filter_map(|point| Some((area.x(&x_axis, point.0)?, area.y(&y_axis, point.1)?, point)))
            .collect();
        if points.is_empty() {
            continue;
        }
        markup.raw("<path class=\"").raw(LOOKS[number % LOOKS.len()]).raw("\" d=\"");
        for (index, (x, y, _)) in points.iter().enumerate() {
            markup.raw(if index == 0 { "M" } else { "L" }).coordinate(*x).raw(" ").coordinate(*y);
        }
        markup.raw("\"/>");
        for (x, y, point) in points.iter().step_by(points.len().div_ceil(MARKS)) {
            let tip = format!(
                "{}\n{}: {}\n{}: {}",
                series.name,
                plot.x_axis,
                significant(point.0),
                plot.y_axis,
                significant(point.1),
            );
            markup.raw("<circle class=\"hit mark\" r=\"5\"").length("cx", *x).length("cy", *y);
            markup.attribute("data-tip", &tip).raw("/>");
        }
    }
    close_panel(markup);
}

impl Axis {
    /// A linear axis that ends where its figures end: curves should fill their width.
    fn tight(self, figures: impl Iterator<Item = f64>) -> Self {
        let finite = figures.filter(|figure| figure.is_finite() && figure.abs() < f64::MAX / 4.0);
        let ends = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), figure| {
            (low.min(figure), high.max(figure))
        });
        if self.kind == ScaleKind::Linear && ends.0 < ends.1 && (ends.1 - ends.0).is_normal() {
            return Self { low: ends.0, high: ends.1, ..self };
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(kind: ScaleKind, points: Vec<(f64, f64)>) -> String {
        let series = LineSeries { name: "tuning".to_owned(), points };
        let panel = LinePanel { title: String::new(), series: vec![series] };
        let plot = Lines { x_scale: kind, y_scale: kind, panels: vec![panel], ..Lines::default() };
        let mut markup = Markup::default();
        lines(&mut markup, &plot);
        markup.finish()
    }

    #[test]
    fn a_curve_goes_through_its_points() {
        let page = drawn(ScaleKind::Linear, vec![(0.0, 0.0), (5.0, 2.0), (10.0, 4.0)]);
        assert!(page.contains("d=\"M18.2 222L233.1 123L448 24\""), "{page}");
        assert_eq!(page.matches("class=\"hit mark\"").count(), 3);
    }

    #[test]
    fn long_curves_have_few_marks() {
        let page = drawn(ScaleKind::Log, (1..5000).map(|x| (f64::from(x), f64::from(x))).collect());
        assert!(page.matches("class=\"hit mark\"").count() <= MARKS);
    }

    #[test]
    fn nothing_and_nonsense_draw_no_curve() {
        for kind in [ScaleKind::Linear, ScaleKind::SquareRoot, ScaleKind::Log] {
            for points in [
                vec![],
                vec![(f64::NAN, 1.0), (1.0, f64::NEG_INFINITY)],
                vec![(f64::MAX, f64::MAX), (f64::MIN, f64::MIN)],
                vec![(3.0, 3.0)],
            ] {
                let page = drawn(kind, points);
                assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
            }
        }
    }
}

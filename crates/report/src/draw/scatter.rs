//! Scatter plots of probabilities, light enough for thousands of points in each of many panels.
//!
//! The points of a panel are a few paths of dots without length, and not an element each. The
//! script finds the point nearest to the pointer from the figures, which stand in the page once.

use serde::Serialize;

use super::axis::Axis;
use super::markup::Markup;
use super::number::{count, percent};
use super::plot::{
    Area, close_figure, close_panel, line, open_figure, open_panel, open_panels, room_beside, words,
};
use crate::tree::{ScaleKind, Scatter, ScatterPanel};

/// Room beside a log axis for what is zero.
const GUTTER: f64 = 22.0;
/// Points are dealt out to this many paths of faint dots, so that crowded areas are darker.
const LAYERS: usize = 4;

/// What the script needs to find and name a point.
#[derive(Serialize)]
struct Data<'a> {
    point: &'a str,
    names: &'a [String],
    real: Vec<Option<f64>>,
    panels: Vec<PanelData<'a>>,
    scale: ScaleKind,
    low: f64,
    high: f64,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    gutter: f64,
}

#[derive(Serialize)]
struct PanelData<'a> {
    title: &'a str,
    synthetic: Vec<Option<f64>>,
}

pub(crate) fn scatter(markup: &mut Markup, plot: &Scatter, id: &str) {
    let one = plot.panels.len() == 1;
    open_figure(markup, &plot.title, &plot.note, if one { "single" } else { "grid" });
    let shown = |figure: &f64| (figure.is_finite() && *figure >= 0.0).then_some(*figure);
    let all = plot.panels.iter().flat_map(|panel| &panel.synthetic).chain(&plot.real);
    let axis = Axis::over(plot.scale, true, all.copied());
    let size = if one { 460.0 } else { 300.0 };
    let gutter = if plot.scale == ScaleKind::Log { GUTTER } else { 0.0 };
    let area = Area {
        left: room_beside(&axis, 6, percent) + gutter,
        top: 22.0,
        right: size - 10.0,
        bottom: size - 36.0 - gutter,
    };
    let point = if plot.point.is_empty() { "point" } else { &plot.point };
    if !plot.panels.is_empty() {
        controls(markup, id, point);
    }
    open_panels(markup, plot.panels.len());
    for panel in &plot.panels {
        draw_panel(markup, plot, panel, &axis, &area, (size, gutter));
    }
    markup.raw("</div>\n");
    if !plot.panels.is_empty() {
        legend(markup, plot);
    }
    close_figure(markup);
    let rounded = |figures: &[f64]| {
        let length = plot.names.len();
        figures.iter().take(length).map(|figure| shown(figure).map(round)).collect::<Vec<_>>()
    };
    let panel = |panel: &'_ ScatterPanel| rounded(&panel.synthetic);
    let data = Data {
        point,
        names: &plot.names,
        real: rounded(&plot.real),
        panels: (plot.panels.iter())
            .map(|each| PanelData { title: &each.title, synthetic: panel(each) })
            .collect(),
        scale: plot.scale,
        low: axis.low,
        high: axis.high,
        left: area.left,
        top: area.top,
        right: area.right,
        bottom: area.bottom,
        gutter,
    };
    markup.data(&format!("{id}-data"), &data);
}

fn controls(markup: &mut Markup, id: &str, point: &str) {
    markup.raw("<p class=\"controls\"><label>Find a ").text(point).raw(" <input type=\"search\"");
    markup.attribute("data-scatter-search", id).raw(" autocomplete=\"off\" spellcheck=\"false\">");
    markup.raw("</label> <output aria-live=\"polite\"></output></p>\n");
}

/// Where a point of a panel stands, and which of three sorts it is.
fn position(
    axis: &Axis,
    area: &Area,
    gutter: f64,
    real: f64,
    synthetic: f64,
) -> Option<(f64, f64, Sort)> {
    let usable = |figure: f64| figure.is_finite() && figure >= 0.0;
    if !usable(real) || !usable(synthetic) {
        return None;
    }
    let sort = match (real > 0.0, synthetic > 0.0) {
        (true, true) => Sort::Both,
        (true, false) => Sort::RealOnly,
        (false, true) => Sort::SyntheticOnly,
        (false, false) => return None,
    };
    let x =
        if real == 0.0 && gutter > 0.0 { area.left - gutter / 2.0 } else { area.x(axis, real)? };
    let y = if synthetic == 0.0 && gutter > 0.0 {
        area.bottom + gutter / 2.0
    } else {
        area.y(axis, synthetic)?
    };
    Some((x, y, sort))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Both,
    RealOnly,
    SyntheticOnly,
}

fn draw_panel(
    markup: &mut Markup,
    plot: &Scatter,
    panel: &ScatterPanel,
    axis: &Axis,
    area: &Area,
    (size, gutter): (f64, f64),
) {
    let points: Vec<(f64, f64, Sort)> = (plot.real.iter().zip(&panel.synthetic))
        .take(plot.names.len())
        .filter_map(|(real, synthetic)| position(axis, area, gutter, *real, *synthetic))
        .collect();
    let number = |sort| points.iter().filter(|point| point.2 == sort).count() as u64;
    let label = format!(
        "{}: probability of each {} in the real cohort against the synthetic one. {} points, {} only in \
         the real cohort, {} only in the synthetic one. {} Arrow keys go from point to point.",
        panel.title,
        plot.point,
        count(points.len() as u64),
        count(number(Sort::RealOnly)),
        count(number(Sort::SyntheticOnly)),
        panel.figure,
    );
    open_panel(markup, &panel.title, &panel.figure, &label, (size, size));
    markup.raw(if panel.ours { " class=\"scatter ours\">" } else { " class=\"scatter\">" });
    area.ticks_below(markup, axis, gutter, percent);
    area.ticks_beside(markup, axis, (6, gutter), percent);
    if gutter > 0.0 {
        words(
            markup,
            "tick end",
            (area.left - gutter - 6.0, area.bottom + gutter / 2.0 + 4.0),
            "0",
        );
        words(markup, "tick middle", (area.left - gutter / 2.0, area.bottom + gutter + 15.0), "0");
    }
    line(markup, "base", (area.left, area.top), (area.left, area.bottom));
    line(markup, "base", (area.left, area.bottom), (area.right, area.bottom));
    line(markup, "diagonal", (area.left, area.bottom), (area.right, area.top));
    for layer in 0..LAYERS {
        let layer = points.iter().filter(|point| point.2 == Sort::Both).skip(layer).step_by(LAYERS);
        dots(markup, "dots", layer);
    }
    dots(markup, "dots lost", points.iter().filter(|point| point.2 == Sort::RealOnly));
    dots(markup, "dots invented", points.iter().filter(|point| point.2 == Sort::SyntheticOnly));
    words(markup, "axis end", (area.right, size - 6.0), "real");
    words(markup, "axis", (0.0, 10.0), "synthetic");
    markup.raw("<circle class=\"ring\" r=\"6\" visibility=\"hidden\"/>");
    close_panel(markup);
}

fn dots<'a>(
    markup: &mut Markup,
    class: &'static str,
    points: impl Iterator<Item = &'a (f64, f64, Sort)>,
) {
    let mut points = points.peekable();
    if points.peek().is_none() {
        return;
    }
    markup.raw("<path class=\"").raw(class).raw("\" d=\"");
    for (x, y, _) in points {
        markup.raw("M").coordinate(*x).raw(" ").coordinate(*y).raw("h0");
    }
    markup.raw("\"/>");
}

fn legend(markup: &mut Markup, plot: &Scatter) {
    let is_zero = |figure: &f64| *figure == 0.0;
    let lost = plot.panels.iter().any(|panel| panel.synthetic.iter().any(is_zero));
    let invented = plot.real.iter().any(is_zero);
    markup.raw("<p class=\"legend\"><span><i class=\"key key-line\"></i>same in both</span>");
    if lost {
        markup.raw("<span><i class=\"key key-lost\"></i>only in the real cohort</span>");
    }
    if invented {
        markup.raw("<span><i class=\"key key-invented\"></i>only in the synthetic cohort</span>");
    }
    if !plot.share.is_empty() {
        markup.raw("<span>probabilities are shares ").text(&plot.share).raw("</span>");
    }
    markup.raw("</p>\n");
}

/// Four significant digits are more than a reader is shown.
fn round(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().unwrap_or(figure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(plot: &Scatter) -> String {
        let mut markup = Markup::default();
        scatter(&mut markup, plot, "x");
        markup.finish()
    }

    fn plot(scale: ScaleKind, real: Vec<f64>, synthetic: Vec<f64>) -> Scatter {
        let names = (0..real.len()).map(|number| format!("code {number}")).collect();
        let panel = ScatterPanel { title: "M".to_owned(), synthetic, ..ScatterPanel::default() };
        Scatter { names, real, panels: vec![panel], scale, ..Scatter::default() }
    }

    #[test]
    fn equal_probabilities_stand_on_the_diagonal() {
        for kind in [ScaleKind::Linear, ScaleKind::SquareRoot, ScaleKind::Log] {
            let axis = Axis::over(kind, true, [0.001, 0.3].into_iter());
            let area = Area { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
            let (x, y, _) = position(&axis, &area, 0.0, 0.02, 0.02).unwrap();
            assert!((x - (100.0 - y)).abs() < 1e-9);
        }
    }

    #[test]
    fn zeros_stand_beside_a_log_axis_and_are_counted() {
        let page = drawn(&plot(ScaleKind::Log, vec![0.1, 0.2, 0.0, 0.0], vec![0.1, 0.0, 0.3, 0.0]));
        assert!(page.contains("3 points, 1 only in the real cohort, 1 only in the synthetic one"));
        assert!(page.contains("dots lost") && page.contains("dots invented"));
    }

    #[test]
    fn nothing_and_nonsense_draw_no_points() {
        let nonsense = vec![f64::NAN, f64::INFINITY, -1.0];
        for kind in [ScaleKind::Linear, ScaleKind::SquareRoot, ScaleKind::Log] {
            for page in [
                drawn(&plot(kind, vec![], vec![])),
                drawn(&plot(kind, nonsense.clone(), vec![0.5])),
                drawn(&plot(kind, vec![0.5; 3], nonsense.clone())),
                drawn(&Scatter { scale: kind, ..Scatter::default() }),
            ] {
                assert!(!page.contains("h0") && !page.contains("NaN") && !page.contains("inf"));
            }
        }
    }

    #[test]
    fn a_point_costs_a_few_letters() {
        let figures: Vec<f64> = (1..=2000).map(|number| f64::from(number) / 2000.0).collect();
        let mut large = plot(ScaleKind::SquareRoot, figures.clone(), figures);
        let one = drawn(&large).len();
        large.panels.push(large.panels[0].clone());
        let panel = drawn(&large).len() - one;
        assert!(panel < 2000 * 30, "{panel} letters for 2,000 points");
    }
}

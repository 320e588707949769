//! Distributions of lengths: real ones as bars, synthetic ones as a line of steps over them.

use super::axis::Axis;
use super::markup::Markup;
use super::number::percent;
use super::plot::{
    Area, close_figure, close_panel, open_figure, open_panel, open_panels, room_beside, words,
};
use crate::tree::{Histogram, Histograms, ScaleKind};

const SIZE: (f64, f64) = (360.0, 210.0);

pub(crate) fn histograms(markup: &mut Markup, plot: &Histograms) {
    open_figure(markup, &plot.title, &plot.note, "histograms");
    // One cohort alone needs no legend.
    if plot.panels.iter().any(|panel| !panel.synthetic.is_empty()) {
        markup.raw("<p class=\"legend\"><span><i class=\"key key-real\"></i>real</span>");
        markup.raw("<span><i class=\"key key-synthetic\"></i>synthetic</span></p>\n");
    }
    open_panels(markup, plot.panels.len());
    for panel in &plot.panels {
        draw_panel(markup, panel);
    }
    markup.raw("</div>\n");
    close_figure(markup);
}

fn draw_panel(markup: &mut Markup, panel: &Histogram) {
    let share = |shares: &[f64], bin: usize| {
        shares.get(bin).copied().filter(|share| share.is_finite() && *share >= 0.0)
    };
    let shares = panel.real.iter().chain(&panel.synthetic).copied().filter(|share| *share >= 0.0);
    let axis = Axis::over(ScaleKind::Linear, true, shares);
    let area = Area {
        left: room_beside(&axis, 4, percent),
        top: 12.0,
        right: SIZE.0 - 4.0,
        bottom: SIZE.1 - 38.0,
    };
    let bins = panel.bins.len();
    let alone = panel.synthetic.is_empty();
    let width = (area.right - area.left) / bins.max(1) as f64;
    let label = format!(
        "{}: {}{}, {bins} bins. Arrow keys go from bin to bin.",
        panel.title,
        panel.axis,
        if alone { "" } else { " in the real and the synthetic cohort" },
    );
    open_panel(markup, &panel.title, "", &label, SIZE);
    markup.raw(" class=\"histogram\">");
    area.ticks_beside(markup, &axis, (4, 0.0), percent);
    let gap = if width > 6.0 { 1.5 } else { 0.0 };
    let left = |bin: usize| area.left + bin as f64 * width;
    for bin in 0..bins {
        if let Some(y) = share(&panel.real, bin).and_then(|share| area.y(&axis, share)) {
            markup.raw("<rect class=\"real\"").length("x", left(bin) + gap).length("y", y);
            markup.length("width", width - 2.0 * gap).length("height", area.bottom - y).raw("/>");
        }
    }
    if !panel.synthetic.is_empty() && bins > 0 {
        markup.raw("<path class=\"synthetic\" d=\"M").coordinate(area.left).raw(" ");
        markup.coordinate(area.bottom);
        for bin in 0..bins {
            let y = area.y(&axis, share(&panel.synthetic, bin).unwrap_or(0.0));
            markup.raw("V").coordinate(y.unwrap_or(area.bottom)).raw("H").coordinate(left(bin + 1));
        }
        markup.raw("V").coordinate(area.bottom).raw("\"/>");
    }
    let mut free_from = f64::NEG_INFINITY;
    for (bin, name) in panel.bins.iter().enumerate() {
        let said = |shares| share(shares, bin).map_or("n/a".to_owned(), percent);
        let tip = match alone {
            true => format!("{}: {name}\n{}", panel.axis, said(&panel.real)),
            false => format!(
                "{}: {name}\nreal: {}\nsynthetic: {}",
                panel.axis,
                said(&panel.real),
                said(&panel.synthetic),
            ),
        };
        markup.raw("<rect class=\"hit mark\"").attribute("data-tip", &tip).length("x", left(bin));
        markup.length("y", area.top).length("width", width);
        markup.length("height", area.bottom - area.top).raw("/>");
        let (middle, half) = (left(bin) + width / 2.0, name.chars().count() as f64 * 3.1 + 4.0);
        if middle - half >= free_from && middle + half <= SIZE.0 {
            words(markup, "tick middle", (middle, area.bottom + 15.0), name);
            free_from = middle + half;
        }
    }
    words(markup, "axis end", (area.right, SIZE.1 - 5.0), &panel.axis);
    close_panel(markup);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(bins: usize, real: Vec<f64>, synthetic: Vec<f64>) -> String {
        let bins = (0..bins).map(|bin| bin.to_string()).collect();
        let panel = Histogram { bins, real, synthetic, ..Histogram::default() };
        let mut markup = Markup::default();
        histograms(&mut markup, &Histograms { panels: vec![panel], ..Histograms::default() });
        markup.finish()
    }

    #[test]
    fn every_bin_says_both_shares() {
        let page = drawn(2, vec![0.75, 0.25], vec![0.5, 0.5]);
        assert!(page.contains("0\nreal: 75%\nsynthetic: 50%"));
        assert_eq!(page.matches("class=\"real\"").count(), 2);
    }

    #[test]
    fn one_cohort_alone_is_not_called_real() {
        let page = drawn(2, vec![0.75, 0.25], vec![]);
        assert!(page.contains("0\n75%") && !page.contains("real:") && !page.contains("key-real"));
    }

    #[test]
    fn nothing_and_nonsense_do_not_break_the_drawing() {
        for page in [
            drawn(0, vec![], vec![]),
            drawn(3, vec![], vec![]),
            drawn(1, vec![0.5; 9], vec![f64::NAN]),
            drawn(2, vec![f64::INFINITY, -1.0], vec![0.0]),
            drawn(0, vec![0.5], vec![0.5]),
        ] {
            assert!(!page.contains("NaN") && !page.contains("inf") && !page.contains("=\"-"));
        }
    }
}

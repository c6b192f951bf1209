//! Draws one plot: points and lines over two axes, linear or logarithmic, as an SVG picture.
//!
//! Enters series of points; leaves text that any browser shows, in light or dark surroundings.

use std::fmt::Write;

/// What a plot shows.
#[derive(Debug)]
pub struct Plot {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

/// One direction.
#[derive(Debug)]
pub struct Axis {
    pub label: &'static str,
    pub logarithmic: bool,
}

/// Points that belong together.
#[derive(Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
    /// Whether a line joins them, in their order.
    pub joined: bool,
}

/// A point with a word beside it.
#[derive(Debug, Clone)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub label: String,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 55.0;

/// Colours that differ for colour-blind eyes, too (after Okabe and Ito).
const COLOURS: &[&str] = &[
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
];

/// Maps values of an axis to pixels.
struct Scale {
    logarithmic: bool,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn new(axis: &Axis, values: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            (low, high) = (low.min(value), high.max(value));
        }
        if axis.logarithmic {
            (low, high) = (low.max(1e-9).ln(), high.max(1e-9).ln());
        } else {
            low = 0.0;
        }
        let room = if high > low { (high - low) * 0.05 } else { 1.0 };
        if axis.logarithmic {
            low -= room;
        }
        Self {
            logarithmic: axis.logarithmic,
            low,
            high: high + room,
            start,
            end,
        }
    }

    fn pixel(&self, value: f64) -> f64 {
        let value = if self.logarithmic {
            value.max(1e-9).ln()
        } else {
            value
        };
        self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)
    }

    /// Picks round values, some four to nine of them.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let (low, high) = (self.low.exp(), self.high.exp());
            let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
            let inside = |steps: &[f64]| -> Vec<f64> {
                decades
                    .clone()
                    .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
                    .filter(|tick| (low..=high).contains(tick))
                    .collect()
            };
            let steps: [&[f64]; 3] = [
                &[1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
                &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
                &[1.0, 2.0, 5.0],
            ];
            let mut choices = steps.into_iter().map(inside);
            return choices
                .find(|ticks| ticks.len() <= 9)
                .unwrap_or_else(|| inside(&[1.0]));
        }
        let rough = (self.high - self.low) / 7.0;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|step| step * decade)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }
}

impl Plot {
    /// Draws it; nothing without points.
    pub fn draw(&self) -> Option<String> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        points().next()?;
        let x = Scale::new(&self.x, points().map(|p| p.x), LEFT, WIDTH - RIGHT);
        let y = Scale::new(&self.y, points().map(|p| p.y), HEIGHT - BOTTOM, TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
        );
        text(&mut svg, LEFT, 22.0, "start", "#000000", &self.title, 15);
        self.axes(&mut svg, &x, &y);
        for (index, series) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            draw_series(&mut svg, series, colour, &x, &y);
            let at = TOP + 16.0 * index as f64 + 8.0;
            dot(&mut svg, WIDTH - RIGHT + 18.0, at - 4.0, colour);
            text(
                &mut svg,
                WIDTH - RIGHT + 28.0,
                at,
                "start",
                "#000000",
                &series.name,
                12,
            );
        }
        svg += "</svg>\n";
        Some(svg)
    }

    fn axes(&self, svg: &mut String, x: &Scale, y: &Scale) {
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for tick in x.ticks() {
            let at = x.pixel(tick);
            line(svg, [at, TOP, at, bottom], "#e0e0e0");
            text(
                svg,
                at,
                bottom + 16.0,
                "middle",
                "#404040",
                &number(tick),
                11,
            );
        }
        for tick in y.ticks() {
            let at = y.pixel(tick);
            line(svg, [LEFT, at, right, at], "#e0e0e0");
            text(
                svg,
                LEFT - 6.0,
                at + 4.0,
                "end",
                "#404040",
                &number(tick),
                11,
            );
        }
        line(svg, [LEFT, bottom, right, bottom], "#404040");
        line(svg, [LEFT, TOP, LEFT, bottom], "#404040");
        let middle = f64::midpoint(LEFT, right);
        text(
            svg,
            middle,
            HEIGHT - 14.0,
            "middle",
            "#000000",
            self.x.label,
            12,
        );
        let middle = f64::midpoint(TOP, bottom);
        let _ = writeln!(
            svg,
            "<text transform=\"translate(18 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(self.y.label)
        );
    }
}

fn draw_series(svg: &mut String, series: &Series, colour: &str, x: &Scale, y: &Scale) {
    let pixels: Vec<(f64, f64)> = series
        .points
        .iter()
        .map(|point| (x.pixel(point.x), y.pixel(point.y)))
        .collect();
    if series.joined && pixels.len() > 1 {
        let path: Vec<String> = pixels
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
            path.join(" ")
        );
    }
    for ((at_x, at_y), point) in pixels.iter().zip(&series.points) {
        dot(svg, *at_x, *at_y, colour);
        if !point.label.is_empty() {
            text(
                svg,
                at_x + 6.0,
                at_y - 5.0,
                "start",
                colour,
                &point.label,
                11,
            );
        }
    }
}

fn dot(svg: &mut String, x: f64, y: f64, colour: &str) {
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"
    );
}

fn line(svg: &mut String, [x1, y1, x2, y2]: [f64; 4], colour: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, colour: &str, text: &str, size: u32) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\" font-size=\"{size}\">{}</text>",
        escaped(text)
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Shows a tick's value without the noise of its last bits.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(logarithmic: bool) -> Axis {
        Axis {
            label: "a < b",
            logarithmic,
        }
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let ticks = |logarithmic, values: &[f64]| {
            Scale::new(&axis(logarithmic), values.iter().copied(), 0.0, 100.0).ticks()
        };
        assert_eq!(ticks(false, &[3.0, 10.0]), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(
            ticks(true, &[1.1, 300.0]),
            [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]
        );
        assert_eq!(ticks(true, &[41.0, 68.0]), [40.0, 50.0, 60.0]);
        assert_eq!(ticks(true, &[0.5, 40_000.0]).len(), 5);
        // a single value, and zero on a logarithmic axis, are no trap
        assert!(ticks(true, &[0.0]).len() < 12);
        assert!(!ticks(false, &[5.0]).is_empty());
    }

    #[test]
    fn a_scale_maps_its_ends() {
        let scale = Scale::new(&axis(true), [1.0, 100.0].into_iter(), 0.0, 110.0);
        assert!((scale.pixel(10.0) - 55.0).abs() < 1e-6);
        assert!(scale.pixel(1.0) > 0.0 && scale.pixel(100.0) < 110.0);
        // upside down, as y is
        let scale = Scale::new(&axis(false), [10.0].into_iter(), 100.0, 0.0);
        assert_eq!(scale.pixel(0.0), 100.0);
        assert!(scale.pixel(10.0) < 10.0);
    }

    #[test]
    fn a_plot_has_all_points_and_escapes_words() {
        let point = |x, y| Point {
            x,
            y,
            label: "l<7>".into(),
        };
        let plot = Plot {
            title: "size & time".into(),
            x: axis(true),
            y: axis(false),
            series: vec![
                Series {
                    name: "ours".into(),
                    points: vec![point(1.0, 30.0), point(20.0, 25.0)],
                    joined: true,
                },
                Series {
                    name: "theirs".into(),
                    points: vec![point(5.0, 40.0)],
                    joined: false,
                },
            ],
        };
        let svg = plot.draw().unwrap();
        // three points and two in the legend
        assert_eq!(svg.matches("<circle").count(), 5);
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert_eq!(svg.matches("l&lt;7&gt;").count(), 3);
        assert!(svg.contains("size &amp; time") && svg.contains("a &lt; b"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let empty = Plot {
            series: Vec::new(),
            ..plot
        };
        assert!(empty.draw().is_none());
    }
}

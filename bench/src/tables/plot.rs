//! Draws one plot as SVG: points and lines over two axes, both linear or both logarithmic.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;

/// What a plot shows.
#[derive(Debug)]
pub struct Plot {
    pub title: String,
    pub x_label: &'static str,
    pub y_label: &'static str,
    pub logarithmic: bool,
    pub series: Vec<Series>,
}

/// Points that belong together.
#[derive(Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
    /// Whether a line joins them, in their order.
    pub joined: bool,
}

/// A point with a label beside it.
#[derive(Debug, Clone)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub label: String,
}

const SIZE: (u32, u32) = (760, 460);

/// Colours that differ for colour-blind eyes, too (after Okabe and Ito).
const COLOURS: &[RGBColor] = &[
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x00, 0x00, 0x00),
];

impl Plot {
    /// Returns the picture, or nothing if no series has two points.
    pub fn draw(&self) -> Option<String> {
        let mut svg = String::new();
        let drawn = {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            self.draw_on(&area)
        };
        // the backend fails only where files do
        drawn?.ok().map(|()| svg)
    }

    fn draw_on(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Option<Drawn> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        if points().count() < 2 {
            return None;
        }
        let start = if self.logarithmic { None } else { Some(0.0) };
        let x = range(points().map(|point| point.x), start)?;
        let y = range(points().map(|point| point.y), start)?;
        let mut builder = ChartBuilder::on(area);
        builder
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(45)
            .y_label_area_size(60);
        let draw = || {
            area.fill(&WHITE)?;
            if self.logarithmic {
                let chart = builder.build_cartesian_2d(x.log_scale(), y.log_scale())?;
                self.draw_series(chart)
            } else {
                self.draw_series(builder.build_cartesian_2d(x, y)?)
            }
        };
        Some(draw())
    }

    fn draw_series<'a, X, Y>(
        &self,
        mut chart: ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    ) -> Drawn
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        chart
            .configure_mesh()
            .x_desc(self.x_label)
            .y_desc(self.y_label)
            .light_line_style(TRANSPARENT)
            .draw()?;
        for (series, colour) in self.series.iter().zip(COLOURS.iter().cycle()) {
            let place = |point: &Point| (point.x, point.y);
            let width = if series.joined { 2 } else { 0 };
            let line = LineSeries::new(series.points.iter().map(place), colour.stroke_width(width));
            let colour = *colour;
            chart
                .draw_series(line)?
                .label(&series.name)
                .legend(move |(x, y)| Circle::new((x + 8, y), 4, colour.filled()));
            chart.draw_series(series.points.iter().map(|point| {
                let label = Text::new(point.label.clone(), (7, -14), ("sans-serif", 12));
                EmptyElement::at(place(point)) + Circle::new((0, 0), 4, colour.filled()) + label
            }))?;
        }
        chart
            .configure_series_labels()
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
    }
}

type Drawn = Result<(), DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>>;

/// Returns a range around values with room at its ends, from `start` if that is given.
fn range(values: impl Iterator<Item = f64>, start: Option<f64>) -> Option<std::ops::Range<f64>> {
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(low, high), value| {
        (f64::min(low, value), f64::max(high, value))
    });
    (low.is_finite() && high > 0.0).then(|| start.unwrap_or(low / 1.25)..high * 1.25)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(logarithmic: bool, count: usize) -> Plot {
        let point = |n: usize| Point {
            x: (n + 1) as f64,
            y: 10.0 / (n + 1) as f64,
            label: "<7>".into(),
        };
        Plot {
            title: "size & time".into(),
            x_label: "CPU seconds",
            y_label: "size in MB",
            logarithmic,
            series: vec![Series {
                name: "sinter".into(),
                joined: true,
                points: (0..count).map(point).collect(),
            }],
        }
    }

    #[test]
    fn a_plot_has_all_points_and_escapes_text() {
        for logarithmic in [true, false] {
            let svg = plot(logarithmic, 3).draw().unwrap();
            assert!(
                svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
                "{svg}"
            );
            // one of the legend
            assert_eq!(svg.matches("<circle").count(), 4);
            assert!(svg.contains("size &amp; time") && svg.contains("&lt;7&gt;"));
        }
    }

    #[test]
    fn one_point_makes_no_plot() {
        assert!(plot(true, 1).draw().is_none());
    }
}

//! The results of this case: what their names and figures say.

use crate::results::Cell;

/// The name of the case: claims about growth read its results.
pub const NAME: &str = "scale";

/// Returns the builder of an image's name, without the size of the part.
pub fn builder(cell: &Cell) -> &str {
    let image = &cell.subject.image;
    image.split_once(" at ").map_or(image, |(name, _)| name)
}

/// Returns the bytes of the input.
pub fn bytes(cell: &Cell) -> f64 {
    cell.last().map_or(0.0, |run| run.bytes as f64)
}

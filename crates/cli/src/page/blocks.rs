//! The map of blocks: the image from its first block to its last, drawn as one strip.

use sinterfs::ops::Usage;

use super::html::{Html, percent};
use crate::size::human;
use crate::text;

/// Distinct colours; later entries share the last one.
const COLOURS: usize = 8;

/// Shows the blocks in the order of the image.
pub fn map(html: &mut Html, usage: &Usage) {
    html.heading("Block map");
    if usage.map.is_empty() {
        html.paragraph("No stored block of this image is known.");
        return;
    }
    html.paragraph(&format!(
        "{} blocks in the order of the image: as wide as their stored bytes, as high as these are of the content \
         that refers to them, coloured by codec.",
        usage.blocks
    ));
    let colour = |name: &[u8]| {
        let at = usage.codecs.iter().position(|codec| codec.name == name);
        at.unwrap_or(COLOURS).min(COLOURS - 1)
    };
    html.raw(
        "<svg class=\"blocks\" viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" role=\"img\">",
    );
    html.raw("<title>Block map</title><desc>Blocks from the beginning of the image to its end, with their codecs.</desc>\n");
    let mut before = 0_u64;
    for cell in &usage.map {
        let sum = &cell.sum;
        let (left, width) = (
            percent(before, usage.block_bytes),
            percent(sum.stored, usage.block_bytes),
        );
        let height = if sum.content == 0 {
            100.0
        } else {
            percent(sum.stored, sum.content).clamp(2.0, 100.0)
        };
        before = before.saturating_add(sum.stored);
        html.raw(&format!(
            "<rect class=\"c{}\" x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{height:.1}\"><title>",
            colour(&sum.name),
            left * 10.0,
            100.0 - height,
            width * 10.0,
        ));
        let category = if cell.category.is_empty() {
            String::new()
        } else {
            format!(", {}", text::name(cell.category.as_bytes()))
        };
        let (many, first) = (sum.count, cell.first);
        let what = if many == 1 {
            format!("block {first}")
        } else {
            format!("{many} blocks from {first} on")
        };
        html.text(&format!(
            "{what}: {}{category}, {} for {}",
            text::name(&sum.name),
            human(sum.stored),
            human(sum.content)
        ));
        html.raw("</title></rect>\n");
    }
    html.raw("</svg>\n<ul class=\"key\">");
    for codec in usage.codecs.iter().take(COLOURS) {
        html.raw(&format!("<li><i class=\"c{}\"></i>", colour(&codec.name)));
        html.name(&text::name(&codec.name));
        html.raw("</li>");
    }
    html.raw("</ul>\n");
}

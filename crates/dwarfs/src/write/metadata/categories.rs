//! The categories of blocks in the metadata.
//!
//! In: the category of each block. Out: names and numbers, and sample formats in upstream's form.
//! **Invariant:** empty if all blocks are of the default category.

#![expect(
    clippy::cast_possible_truncation,
    reason = "there are at most as many as blocks, whose number has 32 bits"
)]

use std::collections::BTreeSet;

use sinterfs_model::{ByteOrder, Category, Padding, RawImage, Waveform};

/// The categories of an image's blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BlockCategories {
    /// The names of the categories.
    pub(crate) names: Vec<String>,
    /// The category of each block; empty if no block has one.
    pub(crate) numbers: Vec<u32>,
    /// Sample formats as JSON.
    pub(crate) json: Vec<String>,
    /// The blocks with a sample format, ascending, and the index of each block's JSON.
    pub(crate) json_of_blocks: (Vec<u32>, Vec<u32>),
}

impl BlockCategories {
    /// Collects the categories of blocks.
    pub(super) fn from_blocks(categories: &[Category]) -> Self {
        let names: BTreeSet<&str> = categories.iter().map(|category| category.name()).collect();
        if names.iter().all(|name| *name == Category::Default.name()) {
            return Self::default();
        }
        let known: BTreeSet<Category> = categories.iter().copied().collect();
        let mut names: Vec<&str> = known.iter().map(|category| category.name()).collect();
        // categories that differ in their sample format only have the same name
        names.dedup();
        let number = |category: &Category| {
            let name = category.name();
            names.iter().position(|known| *known == name).unwrap_or(0) as u32
        };
        let (mut json, mut json_of_blocks) = (Vec::new(), (Vec::new(), Vec::new()));
        for (block, category) in (0..).zip(categories) {
            let Some(description) = sample_json(*category) else {
                continue;
            };
            let known = json.iter().position(|known| *known == description);
            let number = known.unwrap_or(json.len());
            if known.is_none() {
                json.push(description);
            }
            json_of_blocks.0.push(block);
            json_of_blocks.1.push(number as u32);
        }
        Self {
            numbers: categories.iter().map(number).collect(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            json,
            json_of_blocks,
        }
    }
}

/// Returns the sample format of a category as JSON with sorted keys.
fn sample_json(category: Category) -> Option<String> {
    match category {
        Category::Waveform(waveform) => Some(waveform_json(waveform)),
        Category::Fits(image) => Some(image_json(image)),
        _ => None,
    }
}

fn waveform_json(waveform: Waveform) -> String {
    let Waveform {
        channels,
        bits,
        bytes,
        order,
        signed,
        padding,
    } = waveform;
    let (order, signed) = (
        order_name(order),
        if signed { "signed" } else { "unsigned" },
    );
    let padding = match padding {
        Padding::Low => "lsb",
        Padding::High => "msb",
    };
    format!(
        r#"{{"bits_per_sample":{bits},"bytes_per_sample":{bytes},"endianness":"{order}","number_of_channels":{channels},"padding":"{padding}","signedness":"{signed}"}}"#
    )
}

fn image_json(image: RawImage) -> String {
    let RawImage {
        components,
        unused_lsb,
        order,
    } = image;
    let order = order_name(order);
    format!(
        r#"{{"bytes_per_sample":2,"component_count":{components},"endianness":"{order}","unused_lsb_count":{unused_lsb}}}"#
    )
}

fn order_name(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_metadata_matches_upstream() {
        let mono = Waveform {
            channels: 1,
            bits: 24,
            bytes: 3,
            order: ByteOrder::Little,
            signed: true,
            padding: Padding::Low,
        };
        let eight = Waveform {
            channels: 2,
            bits: 12,
            bytes: 2,
            order: ByteOrder::Big,
            signed: false,
            padding: Padding::High,
        };
        let image = |unused_lsb| {
            Category::Fits(RawImage {
                components: 2,
                unused_lsb,
                order: ByteOrder::Big,
            })
        };
        let found = BlockCategories::from_blocks(&[
            Category::Waveform(mono),
            Category::Default,
            Category::Waveform(eight),
            Category::Waveform(mono),
            image(0),
            image(4),
        ]);
        assert_eq!(
            found.names,
            ["<default>", "pcmaudio/waveform", "fits/image"]
        );
        assert_eq!(found.numbers, [1, 0, 1, 1, 2, 2]);
        assert_eq!(
            found.json,
            [
                r#"{"bits_per_sample":24,"bytes_per_sample":3,"endianness":"little","number_of_channels":1,"padding":"lsb","signedness":"signed"}"#,
                r#"{"bits_per_sample":12,"bytes_per_sample":2,"endianness":"big","number_of_channels":2,"padding":"msb","signedness":"unsigned"}"#,
                r#"{"bytes_per_sample":2,"component_count":2,"endianness":"big","unused_lsb_count":0}"#,
                r#"{"bytes_per_sample":2,"component_count":2,"endianness":"big","unused_lsb_count":4}"#,
            ]
        );
        assert_eq!(
            found.json_of_blocks,
            (vec![0, 2, 3, 4, 5], vec![0, 1, 0, 2, 3])
        );
    }
}

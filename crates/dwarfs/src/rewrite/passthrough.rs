//! The categories of an image's blocks, to pass on to the image written from it.
//!
//! In: an opened image. Out: names, numbers and sample formats. **Invariant:** all numbers refer to
//! existing items.

use sinterfs_model::{Error, Result};

use crate::layout::metadata::{pair, root};
use crate::read::Dwarfs;
use crate::write::BlockCategories;

/// Reads the categories of an image's blocks; `None` if it records none.
pub(super) fn categories(image: &Dwarfs) -> Result<Option<BlockCategories>> {
    read(image).map_err(|error| error.within("METADATA_V2"))
}

fn read(image: &Dwarfs) -> Result<Option<BlockCategories>> {
    let Some((names, numbers)) = image.block_categories()? else {
        return Ok(None);
    };
    if let Some(wrong) = numbers
        .iter()
        .find(|&&number| number as usize >= names.len())
    {
        return Err(Error::corrupt(format!(
            "category {wrong} of a block, but there are {}",
            names.len()
        )));
    }
    let root = image.metadata.root();
    let json = match root.field(root::CATEGORY_METADATA_JSON)?.optional()? {
        Some(json) => json.list()?.texts()?,
        None => Vec::new(),
    };
    let json_of_blocks = match root.field(root::BLOCK_CATEGORY_METADATA)?.optional()? {
        Some(map) if !json.is_empty() => {
            let (list, data) = (map.list()?, &image.metadata.data);
            let column = |id| -> Result<Vec<u32>> {
                let column = list.column(id, 32)?;
                let number = |number| u32::try_from(number).unwrap_or(u32::MAX);
                Ok(column.iter(data).map(number).collect())
            };
            (column(pair::FIRST)?, column(pair::SECOND)?)
        }
        _ => (Vec::new(), Vec::new()),
    };
    if let Some(wrong) = json_of_blocks.1.iter().find(|&&n| n as usize >= json.len()) {
        return Err(Error::corrupt(format!(
            "category metadata {wrong} of a block, but there are {}",
            json.len()
        )));
    }
    Ok(Some(BlockCategories {
        names,
        numbers,
        json,
        json_of_blocks,
    }))
}

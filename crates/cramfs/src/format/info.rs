//! Information about a CRAMFS image as rows.

use sinterfs_format::{InfoRows, InfoValue};
use sinterfs_model::Image;

use crate::layout::Flags;
use crate::read::Cramfs;

pub(super) fn details(image: &Cramfs) -> InfoRows {
    let (info, head) = (image.info(), image.head());
    let mut details: InfoRows = vec![
        ("format".to_owned(), InfoValue::from("CRAMFS")),
        ("version".to_owned(), info.version.as_str().into()),
        ("offset in file".to_owned(), image.offset().into()),
        ("image bytes".to_owned(), info.totals.stored.into()),
        ("inodes".to_owned(), info.totals.inodes.into()),
        ("block size".to_owned(), info.totals.block_size.into()),
        ("compression".to_owned(), "zlib".into()),
        ("byte order".to_owned(), head.order.name().into()),
        ("padding".to_owned(), head.at.into()),
    ];
    let mut add = |name: &str, value: InfoValue| details.push((name.to_owned(), value));
    let label = head.label();
    if !label.is_empty() {
        add("label", String::from_utf8_lossy(label).into_owned().into());
    }
    if head.version() > 1 {
        add("edition", u64::from(head.edition).into());
        add("blocks", u64::from(head.blocks).into());
        add("checksum", format!("{:#010x}", head.checksum).into());
    }
    let flags = [
        (Flags::SORTED, "sorted directories"),
        (Flags::HOLES, "holes"),
        (Flags::SHIFTED_ROOT, "shifted root"),
        (Flags::POINTER_FLAGS, "extended block pointers"),
    ];
    let set = flags.iter().filter(|(flag, _)| head.flags.has(*flag));
    let set: Vec<_> = set.map(|(_, what)| InfoValue::from(*what)).collect();
    if !set.is_empty() {
        add("flags", InfoValue::List(set));
    }
    details
}

//! Sizes of images by codec and size of clusters.

use crate::cases::recipe::{self, Recipe};
use crate::cases::setting::Setting;
use crate::harness::sets::Set;
use crate::report::table::{megabytes, ratio, table as lay_out};

/// How one codec is asked for, of ours and of mkfs.erofs.
const CODECS: [(&str, [&str; 2]); 2] = [
    ("lz4", ["lz4", "lz4"]),
    ("lz4hc 12", ["lz4hc:level=12", "lz4hc,12"]),
];

/// Sizes of clusters in KiB.
const CLUSTERS: [u32; 4] = [4, 16, 64, 128];

/// Who makes an image, with places for codec and size.
const MAKERS: [(&str, &str); 5] = [
    (
        "sinter, for 6.1",
        "sinter build -q --force -f erofs -C {ours} -b {kib}k --target-kernel 6.1 {dir} -o {image}",
    ),
    (
        "sinter, for 6.15",
        "sinter build -q --force -f erofs -C {ours} -b {kib}k {dir} -o {image}",
    ),
    (
        "mkfs.erofs -Efragments",
        "mkfs.erofs --quiet -z{theirs} -C{bytes} -Efragments {image} {dir}",
    ),
    (
        "sinter -E dedupe, for 6.1",
        "sinter build -q --force -f erofs -C {ours} -b {kib}k -E dedupe --target-kernel 6.1 {dir} -o {image}",
    ),
    (
        "mkfs.erofs -Efragments,dedupe",
        "mkfs.erofs --quiet -z{theirs} -C{bytes} -Efragments,dedupe {image} {dir}",
    ),
];

/// Makes all images of a set and tells their sizes.
pub fn table(setting: &Setting, set: &Set) -> Result<String, String> {
    let mut rows = Vec::new();
    for (codec, [ours, theirs]) in CODECS {
        for kib in CLUSTERS {
            let mut row = vec![codec.to_owned(), format!("{kib}K")];
            let mut sizes = Vec::new();
            for (name, command) in MAKERS {
                let size = kib.to_string();
                let bytes = (kib << 10).to_string();
                let command = command
                    .replace("{ours}", ours)
                    .replace("{theirs}", theirs)
                    .replace("{kib}", &size)
                    .replace("{bytes}", &bytes);
                let recipe = Recipe {
                    name,
                    driver: "erofs",
                    command: &command,
                };
                let image = recipe.make(setting, set, "image")?;
                sizes.push(image.map(|image| recipe::len(&image)).transpose()?);
            }
            row.extend(sizes.iter().map(|size| megabytes(*size)));
            let of = |index: usize| sizes.get(index).copied().flatten();
            row.push(ratio(of(0), of(2)));
            row.push(ratio(of(3), of(4)));
            rows.push(row);
        }
    }
    let mut header = vec!["codec", "cluster"];
    header.extend(MAKERS.map(|(name, _)| name));
    header.extend(["6.1 / mkfs.erofs", "both dedupe"]);
    let title = format!("\n## {}: sizes in MB\n\n", set.name);
    Ok(title + &lay_out(&header, &rows))
}

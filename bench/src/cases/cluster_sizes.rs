//! Sizes of EROFS images by codec and size of clusters, ours and those of mkfs.erofs.

use crate::bench::{Bench, Label, length};
use crate::case::Case;
use crate::harness::sets::Set;
use crate::options::BenchOptions;
use crate::recipe::Recipe;
use crate::runner::{Measurement, Outcome};
use crate::tables::cells::SetCells;
use crate::tables::table::{megabytes, ratio, table};
use crate::tools::ours::SINTER;

/// The case `sizes`.
pub struct ClusterSizes;

const NAME: &str = "sizes";

/// The codecs: a name, the option of ours, the option of mkfs.erofs.
const CODECS: [(&str, [&str; 2]); 2] = [
    ("lz4", ["lz4", "lz4"]),
    ("lz4hc 12", ["lz4hc:level=12", "lz4hc,12"]),
];

/// Sizes of clusters in KiB.
const CLUSTERS: [u32; 4] = [4, 16, 64, 128];

/// Names, tools and commands with places for codec and size.
const MAKERS: [(&str, &str, &str); 5] = [
    (
        "sinter, for 6.1",
        SINTER,
        "sinter build -q --force -f erofs -C {ours} -b {kib}k --target-kernel 6.1 \
         {dir} -o {image}",
    ),
    (
        "sinter, for 6.15",
        SINTER,
        "sinter build -q --force -f erofs -C {ours} -b {kib}k {dir} -o {image}",
    ),
    (
        "mkfs.erofs -Efragments",
        "erofs",
        "mkfs.erofs --quiet -z{theirs} -C{bytes} -Efragments {image} {dir}",
    ),
    (
        "sinter -E dedupe, for 6.1",
        SINTER,
        "sinter build -q --force -f erofs -C {ours} -b {kib}k -E dedupe --target-kernel 6.1 \
         {dir} -o {image}",
    ),
    (
        "mkfs.erofs -Efragments,dedupe",
        "erofs",
        "mkfs.erofs --quiet -z{theirs} -C{bytes} -Efragments,dedupe {image} {dir}",
    ),
];

/// Pairs of `MAKERS` whose sizes are divided, with the heading.
const RATIOS: [(usize, usize, &str); 2] = [(0, 2, "6.1 / mkfs.erofs"), (3, 4, "both dedupe")];

impl Case for ClusterSizes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Sizes of EROFS images in MB"
    }

    fn usual_sets(&self) -> &'static [&'static str] {
        &["debian-rootfs"]
    }

    /// Sizes are the same each time.
    fn rounds(&self, _options: &BenchOptions) -> usize {
        1
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let mut all = Vec::new();
        for (codec, options) in CODECS {
            for kib in CLUSTERS {
                for maker in MAKERS {
                    if bench.installed.can_run(maker.2) {
                        all.push(measurement(bench, set, (codec, options), kib, maker));
                    }
                }
            }
        }
        Ok(all)
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        let mut rows = Vec::new();
        for (codec, _) in CODECS {
            for kib in CLUSTERS {
                let image = image(codec, kib);
                let size = |(maker, ..): (&str, &str, &str)| {
                    cells.find(NAME, maker, &image)?.median("size")
                };
                let sizes = MAKERS.map(size);
                if sizes.iter().all(Option::is_none) {
                    continue;
                }
                let mut row = vec![codec.to_owned(), format!("{kib}K")];
                row.extend(sizes.map(megabytes));
                row.extend(RATIOS.map(|(part, whole, _)| ratio(sizes[part], sizes[whole])));
                rows.push(row);
            }
        }
        let mut header = vec!["codec", "cluster"];
        header.extend(MAKERS.map(|(name, ..)| name));
        header.extend(RATIOS.map(|(.., name)| name));
        (!rows.is_empty()).then(|| table(&header, &rows))
    }
}

fn image(codec: &str, kib: u32) -> String {
    format!("{codec} {kib}K")
}

fn measurement<'a>(
    bench: &'a Bench<'a>,
    set: &'a Set,
    (codec, [ours, theirs]): (&str, [&str; 2]),
    kib: u32,
    (name, tool, template): (&'static str, &'static str, &'static str),
) -> Measurement<'a> {
    let command = template
        .replace("{ours}", ours)
        .replace("{theirs}", theirs)
        .replace("{kib}", &kib.to_string())
        .replace("{bytes}", &(kib << 10).to_string());
    let label = Label {
        part: NAME,
        tool: name,
        image: image(codec, kib),
        command: &command,
        args: "",
        made_by: &[],
        version_of: tool,
    };
    Measurement {
        record: bench.record(set, label),
        run: Box::new(move |_| {
            let recipe = Recipe {
                name,
                driver: "erofs",
                tool,
                command: &command,
            };
            let made = recipe.make(bench, set, "image")?;
            let made = made.ok_or("it was not made")?;
            Ok(Outcome::of(&[("size", length(&made)?)]))
        }),
    }
}

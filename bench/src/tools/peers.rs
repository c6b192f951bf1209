//! What is compared: each tool as a few command lines.
//!
//! In a command line, `{dir}` stands for the directory that is packed, `{image}` for the image,
//! `{out}` for the directory that is extracted to, `{at}` for the one that is mounted on, `{args}`
//! for the variant's arguments and `{jobs}` for a number of threads. What stands in `[...]` is
//! there only if a number of threads was asked for. Mounts stay in the foreground.
//! A tool is more here and nothing elsewhere: a row.

use crate::options::Options;

/// One tool, or several programs that make one.
#[derive(Debug)]
pub struct Peer {
    /// What results call it.
    pub name: &'static str,
    /// What it writes and reads: whoever has the same format reads its images, too; so do we.
    pub format: &'static str,
    /// The command lines; empty for what it cannot do.
    pub build: &'static str,
    pub extract: &'static str,
    pub mount: &'static str,
    /// Says its version somewhere.
    pub version: &'static str,
    pub variants: &'static [Variant],
}

/// One way to build with a tool.
#[derive(Debug)]
pub struct Variant {
    pub label: &'static str,
    pub args: &'static str,
    /// The level, for `--levels`.
    pub level: Option<u8>,
    /// Sets that it is for; all if empty.
    pub sets: &'static [&'static str],
}

const fn level(level: u8, label: &'static str, args: &'static str) -> Variant {
    Variant {
        label,
        args,
        level: Some(level),
        sets: &[],
    }
}

const fn variant(label: &'static str, args: &'static str) -> Variant {
    Variant {
        label,
        args,
        level: None,
        sets: &[],
    }
}

/// The first of `PEERS`: ours.
pub const OURS: &str = "sinter";

/// What our SquashFS images are called; `OURS` reads them.
pub const OURS_SQUASHFS: &str = "sinter-squashfs";

/// Our default level, our strongest; and theirs.
pub const DEFAULT_LEVEL: &str = "7";
pub const STRONGEST_LEVEL: &str = "9";

/// All that can be compared, ours first.
pub const PEERS: &[Peer] = &[
    Peer {
        name: OURS,
        format: "dwarfs",
        build: "sinter build --quiet --force [-j {jobs}] {args} {dir} -o {image}",
        extract: "sinter extract --quiet [-j {jobs}] {image} -o {out}",
        mount: "sinter mount --foreground [-j {jobs}] {image} {at}",
        version: "sinter --version",
        variants: &[
            level(0, "0", "-l0"),
            level(1, "1", "-l1"),
            level(2, "2", "-l2"),
            level(3, "3", "-l3"),
            level(4, "4", "-l4"),
            level(5, "5", "-l5"),
            level(6, "6", "-l6"),
            level(7, "7", "-l7"),
            level(8, "8", "-l8"),
            level(9, "9", "-l9"),
        ],
    },
    Peer {
        name: "mkdwarfs",
        format: "dwarfs",
        build: "mkdwarfs --log-level=error --no-progress --force --with-devices --with-specials \
                [-N {jobs}] {args} -i {dir} -o {image}",
        extract: "mkdir {out} && dwarfsextract --log-level=error [-n {jobs}] -i {image} -o {out}",
        mount: "dwarfs {image} {at} -f [-o workers={jobs}]",
        version: "mkdwarfs --help",
        variants: &[
            level(1, "1", "-l1"),
            level(2, "2", "-l2"),
            level(3, "3", "-l3"),
            level(4, "4", "-l4"),
            level(5, "5", "-l5"),
            level(6, "6", "-l6"),
            level(7, "7", "-l7"),
            level(8, "8", "-l8"),
            level(9, "9", "-l9"),
            Variant {
                sets: &["media-mix"],
                ..level(7, "7 categorize", "-l7 --categorize")
            },
        ],
    },
    Peer {
        name: OURS_SQUASHFS,
        format: "squashfs",
        build: "sinter build -f squashfs --quiet --force [-j {jobs}] {args} {dir} -o {image}",
        extract: "",
        mount: "",
        version: "sinter --version",
        variants: &[
            variant("zstd", "-C zstd:level=15 -b 128k"),
            variant("xz", "-C xz -b 1m"),
        ],
    },
    Peer {
        name: "squashfs",
        format: "squashfs",
        build: "mksquashfs {dir} {image} -noappend -quiet -no-progress [-processors {jobs}] {args}",
        extract: "unsquashfs -quiet -no-progress [-processors {jobs}] -d {out} {image}",
        mount: "",
        version: "mksquashfs -version",
        variants: &[
            variant("zstd", "-comp zstd"),
            variant("xz", "-comp xz -b 1M"),
        ],
    },
    Peer {
        name: "squashfuse",
        format: "squashfs",
        build: "",
        extract: "",
        mount: "squashfuse_ll -f {image} {at}",
        version: "squashfuse_ll --help",
        variants: &[],
    },
    Peer {
        name: "squashfs-kernel",
        format: "squashfs",
        build: "",
        extract: "",
        // only root may; stays until it is unmounted, as the others do
        mount: "sh -ec \"mount -t squashfs -o loop,ro {image} {at}; \
                while mountpoint -q {at}; do sleep 0.05; done\"",
        version: "uname -r",
        variants: &[],
    },
    Peer {
        name: "erofs",
        format: "erofs",
        build: "mkfs.erofs --quiet [--workers={jobs}] {args} {image} {dir}",
        extract: "fsck.erofs --extract={out} {image}",
        mount: "erofsfuse -f {image} {at}",
        version: "mkfs.erofs -V",
        variants: &[
            variant("lz4hc", "-zlz4hc,12"),
            variant("zstd", "-zzstd,15 -C131072 -Efragments"),
            variant("lzma", "-zlzma,6 -C1048576 -Efragments"),
        ],
    },
    Peer {
        name: "tar+zstd",
        format: "tar.zst",
        build: "tar -C {dir} --sort=name -c . | zstd -q -f --long=27 -T{jobs} {args} -o {image}",
        extract: "mkdir {out} && zstd -q -d --long=27 -c {image} | tar -C {out} -xp",
        mount: "",
        version: "zstd --version",
        variants: &[variant("3", "-3"), variant("19", "-19")],
    },
    Peer {
        name: "tar+xz",
        format: "tar.xz",
        build: "tar -C {dir} --sort=name -c . | xz -T{jobs} {args} -c > {image}",
        extract: "mkdir {out} && xz -T{jobs} -d -c {image} | tar -C {out} -xp",
        mount: "",
        version: "xz --version",
        variants: &[variant("6", "-6")],
    },
];

/// Returns where an image's builder stands in the rows: the peer, its variant.
pub fn rank(image: &str) -> (usize, usize) {
    let (name, label) = image.split_once(' ').unwrap_or((image, ""));
    let peer = PEERS.iter().position(|peer| peer.name == name);
    let variants = peer
        .and_then(|peer| PEERS.get(peer))
        .map(|peer| peer.variants);
    let variant = variants.and_then(|all| all.iter().position(|variant| variant.label == label));
    (peer.unwrap_or(usize::MAX), variant.unwrap_or(usize::MAX))
}

/// Finds a peer by name.
pub fn named(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

impl Peer {
    /// Returns whether it is ours.
    pub fn is_ours(&self) -> bool {
        self.name == OURS
    }

    /// Returns whether it reads the images of another.
    pub fn reads(&self, builder: &Self) -> bool {
        self.format == builder.format || (self.is_ours() && builder.format == "squashfs")
    }

    /// Lists the variants that the options ask for on a set; readers are compared on fewer of ours.
    pub fn chosen(&self, options: &Options, set: &str, all_of_ours: bool) -> Vec<&'static Variant> {
        let chosen = |variant: &&Variant| {
            let for_set = variant.sets.is_empty() || variant.sets.contains(&set);
            for_set
                && match (&options.levels, variant.level) {
                    (_, None) => true,
                    (Some(levels), Some(level)) => levels.contains(&level),
                    (None, Some(level)) => level % 2 == 1 || (self.is_ours() && all_of_ours),
                }
        };
        self.variants.iter().filter(chosen).collect()
    }
}

/// Lists the programs that a command line runs.
pub fn programs(command: &str) -> Vec<&str> {
    command
        .split("&&")
        .flat_map(|part| part.split('|'))
        .filter_map(|part| part.split_whitespace().next())
        .collect()
}

/// Fills in a command line; `None` for the jobs leaves out what stands in brackets.
pub fn fill(command: &str, places: &[(&str, &str)], jobs: Option<usize>) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, after)) = rest.split_once('[') {
        let (inside, after) = after.split_once(']').unwrap_or((after, ""));
        text += before;
        if jobs.is_some() {
            text += inside;
        }
        rest = after;
    }
    text += rest;
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    text = text.replace("{jobs}", &jobs.unwrap_or_else(processors).to_string());
    text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (place, value) in places {
        text = text.replace(&format!("{{{place}}}"), value);
    }
    text
}

/// Quotes a path for the shell.
pub fn quoted(path: &std::path::Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Finds the first version number in what a program says of itself.
pub fn version(said: &str) -> Option<&str> {
    said.split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_ascii_digit()))
        .find(|word| {
            word.contains('.')
                && word
                    .split('.')
                    .all(|part| part.starts_with(|c: char| c.is_ascii_digit()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_filled_in() {
        let line = "a [-j {jobs}] {args} {dir} [x]";
        let places = [("args", "-l7 --b"), ("dir", "'/d  [e]'")];
        assert_eq!(fill(line, &places, None), "a -l7 --b '/d  [e]'");
        assert_eq!(fill(line, &places, Some(3)), "a -j 3 -l7 --b '/d  [e]' x");
        assert_eq!(fill("z -T{jobs}", &[], Some(2)), "z -T2");
        assert_eq!(quoted("/a b'c".as_ref()), r"'/a b'\''c'");
    }

    #[test]
    fn programs_of_command_lines() {
        assert_eq!(
            programs("mkdir {out} && xz -d | tar -x"),
            ["mkdir", "xz", "tar"]
        );
        assert!(programs("").is_empty());
    }

    #[test]
    fn rows_use_known_places_only() {
        for peer in PEERS {
            let places = [
                ("dir", "1"),
                ("image", "2"),
                ("out", "3"),
                ("at", "4"),
                ("args", "5"),
            ];
            for line in [peer.build, peer.extract, peer.mount] {
                let filled = fill(line, &places, None);
                assert!(!filled.contains(['{', '}', '[', ']']), "{filled}");
            }
            let builds = peer.build.contains("{dir}") && peer.build.contains("{image}");
            assert_eq!(builds, !peer.build.is_empty());
            assert_eq!(builds, !peer.variants.is_empty());
            assert!(builds || peer.mount.contains("{at}"));
        }
        assert_eq!(PEERS[0].name, OURS);
        for level in [DEFAULT_LEVEL, STRONGEST_LEVEL] {
            assert!(PEERS[0].variants.iter().any(|v| v.label == level));
        }
    }

    #[test]
    fn variants_by_level_and_set() {
        let labels = |name: &str, options: &Options, set: &str, all: bool| -> Vec<&str> {
            let variants = named(name).unwrap().chosen(options, set, all);
            variants.iter().map(|variant| variant.label).collect()
        };
        let mut options = Options::default();
        assert_eq!(labels("sinter", &options, "a", true).len(), 10);
        assert_eq!(
            labels("sinter", &options, "a", false),
            ["1", "3", "5", "7", "9"]
        );
        assert_eq!(
            labels("mkdwarfs", &options, "a", true),
            ["1", "3", "5", "7", "9"]
        );
        options.levels = Some(vec![7]);
        assert_eq!(labels("mkdwarfs", &options, "a", true), ["7"]);
        assert_eq!(
            labels("mkdwarfs", &options, "media-mix", true),
            ["7", "7 categorize"]
        );
        assert_eq!(labels("squashfs", &options, "a", true), ["zstd", "xz"]);
    }

    #[test]
    fn images_stand_as_the_rows_do() {
        let ordered = [
            "sinter 0",
            "sinter 9",
            "mkdwarfs 1",
            "tar+zstd 3",
            "tar+zstd 19",
            "x 1",
        ];
        assert!(ordered.is_sorted_by_key(|image| rank(image)));
    }

    #[test]
    fn versions_in_what_programs_say() {
        for (said, found) in [
            ("mkdwarfs (v0.15.3)\nusing x 1.2", Some("0.15.3")),
            ("*** Zstandard CLI (64-bit) v1.5.5, by Y", Some("1.5.5")),
            ("mksquashfs version 4.7.5 (2026/03/01)", Some("4.7.5")),
            ("sinter 0.1.0", Some("0.1.0")),
            ("no number here...", None),
        ] {
            assert_eq!(version(said), found);
        }
    }
}

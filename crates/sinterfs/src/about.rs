//! What people are shown about a format.

/// A format, described for people.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FormatInfo {
    /// The name by which the format is asked for.
    pub name: &'static str,
    /// The name in running text.
    pub title: &'static str,
    /// The extensions of image files, without the dot.
    pub extensions: &'static [&'static str],
    /// The codecs of the levels from 0 to 9, as in `0 none; 1 lz4; 2 to 9 zstd`; empty if all
    /// levels are the same.
    pub levels: String,
    /// The codecs, each as the compression of a request spells it: a name, and its options in
    /// brackets; what else to know of it is in round ones.
    pub codecs: &'static [&'static str],
    /// What else to know before an image is built.
    pub notes: &'static str,
}

/// Describes the compression of levels from 0 on: runs of levels with the same codec.
pub(crate) fn levels(compressions: impl Iterator<Item = &'static str>) -> String {
    let mut runs: Vec<(usize, usize, &str)> = Vec::new();
    for (level, compression) in compressions.enumerate() {
        // level 0 compresses nothing, whatever codec the image names
        let codec = match level {
            0 => "none",
            _ => compression.split(':').next().unwrap_or(compression),
        };
        match runs.last_mut() {
            Some((_, last, of)) if *of == codec => *last = level,
            _ => runs.push((level, level, codec)),
        }
    }
    let run = |(first, last, codec): (usize, usize, &str)| {
        if first == last {
            format!("{first} {codec}")
        } else {
            format!("{first} to {last} {codec}")
        }
    };
    runs.into_iter().map(run).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_with_one_codec_are_a_run() {
        let compressions = ["zstd", "lz4", "zstd:level=1", "zstd:level=22", "xz"];
        assert_eq!(
            levels(compressions.into_iter()),
            "0 none; 1 lz4; 2 to 3 zstd; 4 xz"
        );
        assert_eq!(levels([].into_iter()), "");
    }
}

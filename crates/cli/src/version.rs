//! The version of this program, as `--version` prints it: what a report of a bug needs.

use std::sync::LazyLock;

/// The text.
pub static LONG: LazyLock<String> = LazyLock::new(long);

/// Returns the version, the commit if the build knows it, the formats and their codecs.
fn long() -> String {
    let mut text = env!("CARGO_PKG_VERSION").to_owned();
    if let Some(commit) = option_env!("SINTER_COMMIT") {
        text += &format!(" ({commit})");
    }
    text += &format!(
        "\ntarget: {}-{}\n",
        std::env::consts::ARCH,
        std::env::consts::OS
    );
    let written = sinterfs::build::formats();
    let names: Vec<&str> = written.iter().map(|format| format.name).collect();
    text += &format!("formats written: {}\n", names.join(", "));
    text += &format!("formats read: {}\n", sinterfs::formats_read().join(", "));
    for format in written.iter().filter(|format| !format.codecs.is_empty()) {
        text += &format!("codecs of {}: {}\n", format.name, codecs(format.codecs));
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns the names of codecs, each once, without their options and remarks.
fn codecs(described: &[&'static str]) -> String {
    let name = |codec: &&'static str| codec.split([':', '[', ' ']).next().unwrap_or_default();
    let mut names: Vec<&str> = described.iter().map(name).collect();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_have_names() {
        let text = long();
        let dwarfs = "codecs of dwarfs: none, zstd, lzma, lzma2, lz4, lz4hc, brotli, flac, ricepp";
        assert!(text.lines().any(|line| line == dwarfs), "{text}");
        let squashfs = "codecs of squashfs: gzip, lzo, lz4, lz4hc, xz, zstd, lzma";
        assert!(text.lines().any(|line| line == squashfs), "{text}");
    }
}

//! The version of this program, as `--version` prints it: what a report of a bug needs.

use std::sync::LazyLock;

/// The text.
pub static LONG: LazyLock<String> = LazyLock::new(long);

/// Returns the version, the commit if the build was told, the formats and their codecs.
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

/// Returns the names of codecs without their options and remarks, which are in brackets.
fn codecs(described: &str) -> String {
    let (mut names, mut depth) = (String::new(), 0_usize);
    for c in described.chars() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => names.push(c),
            _ => {}
        }
    }
    let names = names.split(',').map(|name| {
        let end = name.trim().find([' ', ':', ';', '.']);
        let name = name.trim();
        name.get(..end.unwrap_or(name.len())).unwrap_or_default()
    });
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_have_names() {
        let described = "none, lz4hc[:level=1..12], xz[:bcj=x86,arm], lzma[:dict=SIZE] (no kernel)";
        assert_eq!(codecs(described), "none, lz4hc, xz, lzma");
    }
}

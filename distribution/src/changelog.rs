//! CHANGELOG.md in the format of Debian's changelogs, deb-changelog(5).

use std::process::Command;

use super::release::Release;
use xtask::run;

/// Columns of a line.
const WIDTH: usize = 78;

/// Converts the changelog; the unreleased section becomes the version that is packaged.
pub fn changelog(text: &str, release: &Release) -> Result<String, String> {
    let mut made = String::new();
    for section in text.split("\n## [").skip(1) {
        let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
        let (version, date) = match heading.split_once("] - ") {
            Some((version, date)) => (version, date.trim().to_owned()),
            None => (release.version.as_str(), format!("@{}", release.epoch)),
        };
        let mut date_of = Command::new("date");
        date_of.args(["-u", "-R", "-d", &date]).env("LC_ALL", "C");
        made += &format!(
            "sinterfs ({version}) unstable; urgency=medium\n\n{}\n -- {}  {}\n\n",
            entries(body),
            release.maintainer,
            run::output(&mut date_of)?.trim_end(),
        );
    }
    if made.is_empty() {
        return Err("CHANGELOG.md has no sections".to_owned());
    }
    Ok(made)
}

/// Converts list items to `* entry` and headings to `[ Heading ]`.
fn entries(body: &str) -> String {
    let (mut made, mut entry) = (String::new(), String::new());
    for line in body.lines().map(str::trim) {
        let begins = line.starts_with("- ") || line.starts_with("### ");
        if begins {
            made += &wrapped(&entry);
            entry.clear();
        }
        match line.strip_prefix("### ") {
            Some(heading) => made += &format!("  [ {heading} ]\n"),
            None => entry += &format!(" {}", line.strip_prefix("- ").unwrap_or(line)),
        }
    }
    made + &wrapped(&entry)
}

/// Wraps an entry: a star before the first line, the others indented to its text.
fn wrapped(entry: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in entry.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                *line += " ";
                *line += word;
            }
            Some(_) => lines.push(format!("    {word}")),
            None => lines.push(format!("  * {word}")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_become_entries() {
        let release = Release {
            binary: "sinter".into(),
            version: "0.2.0".to_owned(),
            epoch: 86_400,
            output: ".".into(),
            maintainer: "A B <a@b.org>".to_owned(),
            fast: false,
        };
        let text = "# Changelog\n\nWords.\n\n## [Unreleased]\n\n\
                    ### Added\n\n- One\n  two.\n- Three.\n\n\
                    ## [0.1.0] - 2000-01-01\n\n- First.\n";
        let expected = "\
sinterfs (0.2.0) unstable; urgency=medium

  [ Added ]
  * One two.
  * Three.

 -- A B <a@b.org>  Fri, 02 Jan 1970 00:00:00 +0000

sinterfs (0.1.0) unstable; urgency=medium

  * First.

 -- A B <a@b.org>  Sat, 01 Jan 2000 00:00:00 +0000

";
        assert_eq!(changelog(text, &release).unwrap(), expected);
        assert!(changelog("nothing", &release).is_err());
        let long = wrapped(&"word ".repeat(100));
        assert!(long.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(long.matches("word").count(), 100);
    }
}

//! Names of files that a build or an extraction leaves behind if it is killed.
//!
//! In: a name of a directory. Out: whether this program writes such files until they are complete.
//! **Invariant:** the patterns are those of the writers: `.NAME.PID.tmp` beside an output (an
//! image), and `.sinter-PID-N` and `.sinter-scratch-PID-N` in a directory; of directories,
//! `.sinter-PID-N.d`.

/// Returns the process that writes, or wrote, an unfinished directory of this name.
pub(super) fn writer_of_dir(name: &[u8]) -> Option<u32> {
    let name = name.strip_suffix(b".d")?;
    let is_of_file = name.starts_with(b".sinter-") && !name.starts_with(b".sinter-scratch-");
    writer(name).filter(|_| is_of_file)
}

/// Returns the process that writes, or wrote, an unfinished file of this name.
pub(super) fn writer(name: &[u8]) -> Option<u32> {
    let hidden = name.strip_prefix(b".")?;
    if let Some(rest) = hidden.strip_prefix(b"sinter-") {
        let rest = rest.strip_prefix(b"scratch-").unwrap_or(rest);
        let dash = rest.iter().position(|&byte| byte == b'-')?;
        let (process, number) = rest.split_at(dash);
        number_of(number.get(1..)?)?;
        return number_of(process);
    }
    let hidden = hidden.strip_suffix(b".tmp")?;
    let dot = hidden.iter().rposition(|&byte| byte == b'.')?;
    let (output, process) = hidden.split_at(dot);
    let process = number_of(process.get(1..)?)?;
    (!output.is_empty()).then_some(process)
}

fn number_of(digits: &[u8]) -> Option<u32> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_writers_are_unfinished_files() {
        let names = [
            ".o.dwarfs.12.tmp",
            ".sinter-12-0",
            ".sinter-scratch-12-3",
            ".a.b.12.tmp",
        ];
        assert!(names.iter().all(|name| writer(name.as_bytes()) == Some(12)));
        for name in [
            "o.12.tmp",
            ".o.tmp",
            ".12.tmp",
            "..12.tmp",
            ".o.x.tmp",
            ".o..tmp",
            ".o.12.tmp2",
            ".sinter-x-0",
            ".sinter-12",
            ".sinter-12-",
            ".sinter-12-x",
            ".sinter",
            ".tmp",
            ".",
            ".o.99999999999.tmp",
            ".sinter-12-0.d",
        ] {
            assert_eq!(writer(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn only_hidden_names_of_directories_are_unfinished_directories() {
        assert_eq!(writer_of_dir(b".sinter-12-0.d"), Some(12));
        for name in [
            ".sinter-12-0",
            ".sinter-12-0.d.d",
            ".sinter-x-0.d",
            ".sinter-12-.d",
            ".sinter-scratch-12-0.d",
            ".o.12.tmp.d",
            ".d",
            "x.d",
        ] {
            assert_eq!(writer_of_dir(name.as_bytes()), None, "{name}");
        }
    }
}

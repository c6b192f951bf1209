//! The names of other tools by which sinter takes their options, and where those tools are.
//!
//! **Invariant:** packaging/names.txt is the only list; a test of the program compares it with the
//! tools that it knows.

/// Paths of the tools, a line each, and comments.
const LIST: &str = include_str!("../../packaging/names.txt");

/// Returns the paths of the tools.
pub fn paths() -> impl Iterator<Item = &'static str> {
    LIST.lines().filter(|line| line.starts_with('/'))
}

/// Returns the names of the tools.
pub fn names() -> impl Iterator<Item = &'static str> {
    paths().filter_map(|path| path.rsplit('/').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_occur_once() {
        let all: Vec<&str> = paths().collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
        assert!(names().count() > 25);
    }
}

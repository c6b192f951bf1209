//! Words of a command line that other users must not see: `ps` shows arguments to everybody.
//!
//! In: the words of a command that continues in the background. Out: the same words, with URLs that
//! have no query, and a variable for the environment of the new process with the whole URLs, from
//! which that one restores its words. **Invariant:** restored words are those that were hidden.

use std::ffi::OsString;
use std::path::Path;

use sinterfs::platform::names;

/// The variable with the URLs, a line each. Only its user can read a process's environment.
pub const VARIABLE: &str = "SINTER_HIDDEN_WORDS";

/// The replacement of a query.
const MARK: &[u8] = b"?hidden";

/// Returns the words without queries, and the value of the variable.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only a mount starts the program again")
)]
pub fn hide(words: &[OsString]) -> (Vec<OsString>, OsString) {
    let mut hidden = Vec::new();
    let hide = |word: &OsString| {
        let bytes = word.as_encoded_bytes();
        let is_secret = sinterfs::is_url(Path::new(word)) && bytes.contains(&b'?');
        if !is_secret || bytes.contains(&b'\n') {
            return word.clone();
        }
        if !hidden.is_empty() {
            hidden.push(b'\n');
        }
        hidden.extend_from_slice(bytes);
        let mut shown = sinterfs::shown(Path::new(word)).into_os_string();
        shown.push(names::os_str(MARK));
        shown
    };
    let words = words.iter().map(hide).collect();
    (words, names::os_string(hidden))
}

/// Returns the words that were hidden, from the value of the variable.
pub fn restore(words: Vec<OsString>, hidden: Option<OsString>) -> Vec<OsString> {
    let Some(hidden) = hidden else {
        return words;
    };
    let hidden = names::into_bytes(hidden);
    let mut hidden = hidden.split(|byte| *byte == b'\n');
    let restore = |word: OsString| {
        let is_marked =
            sinterfs::is_url(Path::new(&word)) && word.as_encoded_bytes().ends_with(MARK);
        match is_marked.then(|| hidden.next()).flatten() {
            Some(whole) => names::os_string(whole.to_vec()),
            None => word,
        }
    };
    words.into_iter().map(restore).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_words_are_restored() {
        let words = [
            "sinter",
            "mount",
            "https://h/a?X-Amz-Signature=SECRET&b=%0A",
            "s3://bucket/key",
            "http://h:1/b?SECRET#part",
            "a?SECRET",
            "/mnt",
        ];
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let (shown, hidden) = hide(&words);
        let expected = [
            "sinter",
            "mount",
            "https://h/a?hidden",
            "s3://bucket/key",
            "http://h:1/b?hidden",
            "a?SECRET",
            "/mnt",
        ];
        assert_eq!(shown, expected.map(OsString::from));
        assert_eq!(restore(shown.clone(), Some(hidden)), words);
        assert_eq!(restore(shown.clone(), None), shown);
    }
}

//! What an image is packed for, in the command line that it records as its history.
//!
//! **Invariant:** the word is in the bytes of images: a change of it changes every DwarFS image.

/// The beginning of the word.
pub const PURPOSE: &str = "--for=";

/// Returns what the image of a recorded command line is packed for, if that says so.
pub fn purpose(words: &[String]) -> Option<&str> {
    words.iter().find_map(|word| word.strip_prefix(PURPOSE))
}

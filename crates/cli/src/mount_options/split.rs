//! The single options in the value of `-o`, as mount(8) separates them: commas in quotes belong to
//! an option, as in `context="system_u:object_r:usr_t:s0:c1,c2"`, and empty options are left out.

/// Splits options at commas outside of quotes, as mount(8) does.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only mounts have options")
)]
pub fn split(options: &str) -> impl Iterator<Item = &str> {
    // never fails: what is between two ASCII characters of UTF-8 is UTF-8
    split_bytes(options.as_bytes()).filter_map(|option| std::str::from_utf8(option).ok())
}

/// Does the same for options that need not be UTF-8.
pub fn split_bytes(options: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let options = options.split(move |&byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    });
    options.filter(|option| !option.is_empty())
}
